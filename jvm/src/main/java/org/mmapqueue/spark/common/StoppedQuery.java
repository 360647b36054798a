package org.mmapqueue.spark.common;

import java.io.InterruptedIOException;
import java.io.UncheckedIOException;

/** Converts an interrupted wait into the regular end of a query. Thread-safe. */
public final class StoppedQuery {
    private StoppedQuery() {}

    /**
     * Makes the error for a thread that was interrupted while it waited, and interrupts the thread again. Spark stops a
     * query by interrupting the query's thread, and accepts an interruption only as the cause of an I/O error: any
     * other exception would count as the query's failure.
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
