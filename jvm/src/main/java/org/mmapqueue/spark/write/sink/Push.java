package org.mmapqueue.spark.write.sink;

import java.time.Duration;

/**
 * How staged rows are pushed.
 *
 * @param timeout the longest to wait for room
 * @param sync whether what has been pushed is on the disk when it is told
 * @param failOnDataLoss whether an epoch that comes again with other rows is an error; else these are dropped
 * @param figures count what is done and waited for
 */
public record Push(Duration timeout, boolean sync, boolean failOnDataLoss, PushFigures figures) {

    /** A push that is counted for nobody. */
    Push(Duration timeout, boolean sync, boolean failOnDataLoss) {
        this(timeout, sync, failOnDataLoss, new PushFigures(figures -> {}));
    }

    /** The same, with other figures. */
    Push counting(PushFigures others) {
        return new Push(timeout, sync, failOnDataLoss, others);
    }
}
