package org.mmapqueue.append;

import java.io.IOException;
import org.mmapqueue.BatchDigest;
import org.mmapqueue.meta.ProducerPage;

/**
 * A batch of an idempotent producer.
 *
 * @param page the producer's page
 * @param sequence of the batch
 * @param digest stored with the sequence; null for none
 * @param sync whether its slot is fsynced before the batch is published
 */
public record IdempotentAppend(ProducerPage page, long sequence, BatchDigest digest, boolean sync) {

    /** With the appender's lock: whether nothing is to be pushed. */
    boolean isDuplicate() {
        return page.isRetired() || page.newest() >= sequence;
    }

    /** The result of append then. */
    long duplicateResult() {
        return page.isRetired() ? Appender.RETIRED : Appender.DONE;
    }

    /** Stores the slot. */
    void store(long end, long position) throws IOException {
        page.store(sequence, end, position, digest == null ? null : new long[] {digest.count(), digest.checksum()});
        if (sync) {
            page.force();
        }
    }

    /** Empties the slot, and fsyncs the page. */
    void rollBack() throws IOException {
        page.rollBack();
        page.force();
    }
}
