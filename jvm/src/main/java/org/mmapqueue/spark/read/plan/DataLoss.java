package org.mmapqueue.spark.read.plan;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reports requested records that are lost: by an exception or in the log. */
public final class DataLoss {
    private static final Logger LOG = LoggerFactory.getLogger(DataLoss.class);

    private DataLoss() {}

    /**
     * Reports a loss.
     *
     * @param fail true to throw, false to log a warning
     * @param partition the number of the partition
     * @param path the queue's path
     * @param from the first lost offset
     * @param to the offset after the last lost one
     * @param why the reason of the loss
     * @throws IllegalStateException if {@code fail} is true
     */
    public static void found(boolean fail, int partition, String path, long from, long to, String why) {
        String what = "partition " + partition + " of the queue in " + path + ": the records" + " with offsets " + from
                + ".." + (to - 1) + " were requested, but " + why;
        if (fail) {
            throw new IllegalStateException(what + "; with the option " + ReadOptions.FAIL_ON_DATA_LOSS
                    + " = false reading continues without them");
        }
        LOG.warn("{}; reading continues without them", what);
    }
}
