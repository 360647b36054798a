package org.mmapqueue.spark.write.sink;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.mmapqueue.BatchDigest;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.spark.write.staging.Manifest;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An epoch whose number the queue knows already: whether it is the same one, done again, whose rows are there, or
 * another one under that number. Spark does not fsync its checkpoint to the disk; one that has lost what was noted of an
 * epoch plans another epoch in its place, and its rows are nowhere.
 */
final class RepeatedEpoch {
    private static final Logger LOG = LoggerFactory.getLogger(RepeatedEpoch.class);

    private final Path root;
    private final List<MmapQueue> partitions;
    private final String query;
    private final Manifest now;

    /**
     * An epoch that some partition knows.
     *
     * @param root the queue's directory
     * @param partitions of the queue
     * @param query its id
     * @param now what it holds this time
     */
    RepeatedEpoch(Path root, List<MmapQueue> partitions, String query, Manifest now) {
        this.root = root;
        this.partitions = partitions;
        this.query = query;
        this.now = now;
    }

    /**
     * Compares what it holds with what it held when it was pushed.
     *
     * @param failOnDataLoss whether a difference is an error; else a line in the log
     * @throws IllegalStateException when there is one, or when the queue does not remember what the epoch held
     */
    void check(boolean failOnDataLoss) {
        Optional<BatchDigest> then = partitions.stream()
                .flatMap(each -> each.digest(now.producer(), now.sequence()).stream())
                .findFirst();
        if (then.isPresent() && then.get().equals(now.digest())) {
            LOG.info("epoch {} of query {} is in {} already", now.sequence(), query, root);
        } else if (then.isPresent()) {
            differs(failOnDataLoss, "it held " + text(then.get()) + " when it was pushed");
        } else if (last() > now.sequence()) {
            differs(
                    failOnDataLoss,
                    "the queue has epoch " + last() + " since, and does not remember what this one" + " held");
        } else {
            LOG.warn(
                    "epoch {} of query {} is in {} already; a version of mmapqueue that kept no checksum of its rows"
                            + " has pushed it, so whether it is the same one is not known",
                    now.sequence(),
                    query,
                    root);
        }
    }

    private long last() {
        return partitions.stream()
                .map(each -> each.lastSequence(now.producer()))
                .filter(OptionalLong::isPresent)
                .mapToLong(OptionalLong::getAsLong)
                .max()
                .orElse(-1);
    }

    private void differs(boolean failOnDataLoss, String how) {
        String what = "epoch " + now.sequence() + " of query " + query + " has been pushed to " + root
                + " before and comes again with other rows: it holds " + text(now.digest()) + " now; " + how
                + ". The checkpoint has lost what Spark noted of it, as after a loss of power, or its rows come out"
                + " otherwise when they are computed again";
        if (failOnDataLoss) {
            throw new IllegalStateException(what + ". Its rows were not pushed. Restore the checkpoint's offsets/"
                    + now.sequence() + "; or forget producer " + now.producer() + " of the queue, to push them besides"
                    + " those of the first time; or drop them, with option " + WriteOptions.FAIL_ON_DATA_LOSS
                    + " = false");
        }
        LOG.warn("{}. Its rows are dropped, as {} is false", what, WriteOptions.FAIL_ON_DATA_LOSS);
    }

    private static String text(BatchDigest digest) {
        return String.format("%d rows with the checksum %016x", digest.count(), digest.checksum());
    }
}
