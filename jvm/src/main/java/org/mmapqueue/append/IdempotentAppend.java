package org.mmapqueue.append;

import java.io.IOException;
import org.mmapqueue.BatchDigest;
import org.mmapqueue.meta.ProducerPage;

/**
 * A batch that a producer pushes once.
 *
 * @param page what the producer has pushed
 * @param sequence the batch's number
 * @param digest what is remembered of the batch; null for nothing
 * @param sync whether its slot is fsynced before the batch is published
 */
public record IdempotentAppend(ProducerPage page, long sequence, BatchDigest digest, boolean sync) {

    /** Inside the claim: whether there is nothing to push. */
    boolean isRefused() {
        return page.isRetired() || page.newest() >= sequence;
    }

    /** What append returns then. */
    long refusal() {
        return page.isRetired() ? Appender.RETIRED : Appender.DONE;
    }

    /** Stores the slot. */
    void store(long end, long position) throws IOException {
        page.store(sequence, end, position, digest == null ? null : new long[] {digest.count(), digest.checksum()});
        if (sync) {
            page.force();
        }
    }

    /** Empties the slot, on the disk, too. */
    void takeBack() throws IOException {
        page.takeBack();
        page.force();
    }
}
