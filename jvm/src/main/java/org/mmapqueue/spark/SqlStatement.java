package org.mmapqueue.spark;

import java.util.function.Supplier;
import org.mmapqueue.errors.MmapQueueException;

/**
 * Runs statements of SQL. PySpark makes its own exceptions of few classes of Java; errors of all others reach a user as the
 * stack trace of a call.
 */
final class SqlStatement {
    private SqlStatement() {}

    /**
     * Runs a statement.
     *
     * @param name the statement, for messages
     * @param work what it does
     * @param <T> the type of the result
     * @return the result
     * @throws IllegalArgumentException if the queue, or who uses it, does not allow the statement
     */
    static <T> T run(String name, Supplier<T> work) {
        try {
            return work.get();
        } catch (MmapQueueException | IllegalStateException e) {
            throw new IllegalArgumentException(name + ": " + e.getMessage(), e);
        }
    }
}
