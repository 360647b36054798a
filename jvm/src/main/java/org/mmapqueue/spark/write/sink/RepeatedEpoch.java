package org.mmapqueue.spark.write.sink;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.mmapqueue.BatchDigest;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.spark.write.staging.Manifest;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An epoch with a number that the queue has already stored. Either Spark repeats the same epoch, so that its rows are
 * already pushed; or it is another epoch with that number. The latter happens because Spark does not fsync its
 * checkpoint: after a loss of power the checkpoint may have lost an epoch, and Spark plans another epoch with the same
 * number.
 */
final class RepeatedEpoch {
    private static final Logger LOG = LoggerFactory.getLogger(RepeatedEpoch.class);

    private final Path root;
    private final List<MmapQueue> partitions;
    private final String query;
    private final Manifest now;
    private final long last;

    /**
     * Makes an epoch that at least one partition has stored.
     *
     * @param root the queue's directory
     * @param partitions the queue's partitions
     * @param query the query's id
     * @param now the epoch as it is now
     * @param last the last epoch of the query that a partition has stored
     */
    RepeatedEpoch(Path root, List<MmapQueue> partitions, String query, Manifest now, long last) {
        this.root = root;
        this.partitions = partitions;
        this.query = query;
        this.now = now;
        this.last = last;
    }

    /**
     * Compares the epoch's rows with those that were pushed.
     *
     * @param failOnDataLoss whether a difference is an error; if false, it is logged
     * @throws IllegalStateException if the rows differ, or the queue has no digest of the pushed rows
     */
    void check(boolean failOnDataLoss) {
        Optional<BatchDigest> then = partitions.stream()
                .flatMap(each -> each.digest(now.producer(), now.sequence()).stream())
                .findFirst();
        if (then.isPresent() && then.get().equals(now.digest())) {
            LOG.info("epoch {} of query {} is already in {}", now.sequence(), query, root);
        } else if (then.isPresent()) {
            differs(failOnDataLoss, "it held " + text(then.get()) + " when it was pushed");
        } else if (last > now.sequence()) {
            differs(
                    failOnDataLoss,
                    "the last epoch of the queue is " + last + ", and the queue has no checksum of this one");
        } else {
            LOG.warn(
                    "epoch {} of query {} is already in {}, without a checksum of its rows: an earlier version of"
                            + " mmapqueue has pushed it, so it cannot be compared",
                    now.sequence(),
                    query,
                    root);
        }
    }

    private void differs(boolean failOnDataLoss, String how) {
        String what = "epoch " + now.sequence() + " of query " + query + " has been pushed to " + root
                + " before and is repeated with other rows: it holds " + text(now.digest()) + " now; " + how
                + ". Either the checkpoint has lost the epoch's offsets, as after a loss of power, or the query is"
                + " not deterministic";
        if (failOnDataLoss) {
            throw new IllegalStateException(what + ". Its rows were not pushed. Restore the checkpoint's offsets/"
                    + now.sequence() + "; or forget producer " + now.producer()
                    + " of the queue, and start once with option "
                    + WriteOptions.FAIL_ON_DATA_LOSS
                    + " = false, to push them in addition to the first ones; or drop them, with option "
                    + WriteOptions.FAIL_ON_DATA_LOSS
                    + " = false");
        }
        LOG.warn("{}. Its rows are dropped, as {} is false", what, WriteOptions.FAIL_ON_DATA_LOSS);
    }

    private static String text(BatchDigest digest) {
        return String.format("%d rows with the checksum %016x", digest.count(), digest.checksum());
    }
}
