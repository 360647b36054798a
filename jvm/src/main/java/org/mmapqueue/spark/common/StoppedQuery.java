package org.mmapqueue.spark.common;

import java.io.InterruptedIOException;
import java.io.UncheckedIOException;

/** How an interrupted wait becomes the regular end of a query. Thread-safe. */
public final class StoppedQuery {
    private StoppedQuery() {}

    /**
     * The error for a thread that was interrupted while it waited. Spark stops a query by interrupting its thread, and
     * looks for an interruption among the causes of I/O errors alone: any other exception would be the query's failure.
     * The thread is interrupted again.
     *
     * @param action what was interrupted, for the message
     * @param cause the interruption
     * @return the exception to throw
     */
    public static UncheckedIOException interrupted(String action, InterruptedException cause) {
        Thread.currentThread().interrupt();
        InterruptedIOException error = new InterruptedIOException("interrupted while " + action);
        error.initCause(cause);
        return new UncheckedIOException(error);
    }
}
