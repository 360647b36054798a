package org.mmapqueue.append;

import java.io.IOException;
import org.mmapqueue.BatchDigest;
import org.mmapqueue.meta.ProducerPage;

/**
 * A batch of an idempotent producer.
 *
 * @param page the producer's page
 * @param sequence the batch's sequence
 * @param digest digest of the batch, stored with the sequence; null for none
 * @param sync whether the slot is fsynced before the batch is published
 */
public record IdempotentAppend(ProducerPage page, long sequence, BatchDigest digest, boolean sync) {

    /**
     * Whether the batch or a later one was already appended, so that nothing is to be stored. Needs the appender's
     * lock.
     */
    boolean isDuplicate() {
        return page.isRetired() || page.newest() >= sequence;
    }

    /** The result of append for a duplicate. */
    long duplicateResult() {
        return page.isRetired() ? Appender.RETIRED : Appender.DONE;
    }

    /** Stores the producer's slot. */
    void store(long end, long position) throws IOException {
        page.store(sequence, end, position, digest == null ? null : new long[] {digest.count(), digest.checksum()});
        if (sync) {
            page.force();
        }
    }

    /** Empties the producer's slot, and fsyncs the page. */
    void rollBack() throws IOException {
        page.rollBack();
        page.force();
    }
}
