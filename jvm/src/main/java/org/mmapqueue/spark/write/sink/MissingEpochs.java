package org.mmapqueue.spark.write.sink;

import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Compares the number of an epoch with the last one that the queue has stored. Spark runs the epochs of a checkpoint
 * consecutively, and the sink stores each, also those without rows. So a gap means that the queue has lost epochs that
 * the checkpoint counts as written.
 */
final class MissingEpochs {
    private static final Logger LOG = LoggerFactory.getLogger(MissingEpochs.class);

    private final Path root;
    private final String query;
    private final long epoch;
    private final String producer;

    /**
     * Makes the comparison.
     *
     * @param root the queue's directory
     * @param query the query's id
     * @param epoch the number of the epoch
     * @param producer the producer that stores the numbers
     */
    MissingEpochs(Path root, String query, long epoch, String producer) {
        this.root = root;
        this.query = query;
        this.epoch = epoch;
        this.producer = producer;
    }

    /**
     * Checks that no epoch is missing.
     *
     * @param stored the last epoch that the queue has stored for the query; -1 for none
     * @param failOnDataLoss whether a gap is an error; if false, it is logged
     * @throws IllegalStateException if epochs are missing
     */
    void check(long stored, boolean failOnDataLoss) {
        if (epoch <= stored + 1) {
            return;
        }
        String what = "epoch " + epoch + " of query " + query + " cannot follow in " + root + ": "
                + (stored < 0 ? "the queue has stored no epoch of this query" : "the last epoch there is " + stored)
                + ", so epoch " + (stored + 1) + " was expected. Epochs " + (stored + 1) + ".." + (epoch - 1)
                + " are in the checkpoint and not in the queue: it was deleted, replaced, restored from an"
                + " older backup, lost them in a loss of power, or has forgotten producer " + producer;
        if (failOnDataLoss) {
            throw new IllegalStateException(what
                    + ". Nothing was pushed. Put the right queue there; or start with a new"
                    + " checkpoint; or continue without these epochs, with option " + WriteOptions.FAIL_ON_DATA_LOSS
                    + " = false");
        }
        LOG.warn("{}. The query continues without them, as {} is false", what, WriteOptions.FAIL_ON_DATA_LOSS);
    }
}
