package org.mmapqueue.spark.read.plan;

import org.mmapqueue.spark.common.PartitionDirectory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What becomes of records that were asked for and are not there any more. */
public final class DataLoss {
    private static final Logger LOG = LoggerFactory.getLogger(DataLoss.class);

    private DataLoss() {}

    /**
     * Records were lost.
     *
     * @param fail whether that is an error; if not, it is logged
     * @param directory their partition
     * @param from the first one's offset
     * @param to the offset behind the last one
     * @param why what became of them
     * @throws IllegalStateException when it is an error
     */
    public static void found(boolean fail, PartitionDirectory directory, long from, long to, String why) {
        String what = "partition " + directory.id() + " of the queue in " + directory.path() + ": the records with"
                + " offsets " + from + ".." + (to - 1) + " were asked for, but " + why;
        if (fail) {
            throw new IllegalStateException(what + "; with the option " + ReadOptions.FAIL_ON_DATA_LOSS
                    + " = false reading goes on without them");
        }
        LOG.warn("{}; reading goes on without them", what);
    }
}
