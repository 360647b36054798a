package org.mmapqueue.spark.write.sink;

import java.time.Duration;

/**
 * Settings of a push of staged rows.
 *
 * @param timeout the maximum wait for room
 * @param sync whether rows are durable when the push returns
 * @param failOnDataLoss whether a repeated epoch with other rows is an error; if false, its rows are dropped
 * @param figures receives counts and waits
 */
public record Push(Duration timeout, boolean sync, boolean failOnDataLoss, PushFigures figures) {

    /** Settings without figures. */
    Push(Duration timeout, boolean sync, boolean failOnDataLoss) {
        this(timeout, sync, failOnDataLoss, new PushFigures(() -> null, figures -> {}));
    }

    /** A copy that returns when the rows are durable. */
    Push withSync() {
        return new Push(timeout, true, failOnDataLoss, figures);
    }

    /** A copy with other figures. */
    Push counting(PushFigures others) {
        return new Push(timeout, sync, failOnDataLoss, others);
    }
}
