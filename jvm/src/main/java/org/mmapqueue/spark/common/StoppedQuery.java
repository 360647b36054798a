package org.mmapqueue.spark.common;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.util.function.Supplier;

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

    /**
     * Runs a call that may read files of an archive, as those of a queue that overflows do, in the thread of a query.
     * File systems of Hadoop throw when they are interrupted, and the queue explains that by an exception of its own.
     *
     * @param call reads a queue
     * @param <T> the type of the result
     * @return the result of the call
     * @throws UncheckedIOException if an interrupt has ended a read
     */
    public static <T> T during(Supplier<T> call) {
        try {
            return call.get();
        } catch (RuntimeException e) {
            for (Throwable cause = e.getCause(); cause != null; cause = cause.getCause()) {
                if (cause instanceof InterruptedIOException || cause instanceof ClosedByInterruptException) {
                    UncheckedIOException stopped = new UncheckedIOException(e.getMessage(), (IOException) cause);
                    stopped.addSuppressed(e);
                    throw stopped;
                }
            }
            throw e;
        }
    }
}
