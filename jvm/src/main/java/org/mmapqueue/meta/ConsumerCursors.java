package org.mmapqueue.meta;

import java.io.IOException;

/**
 * The stored positions of one consumer. Each is one 64-bit word, read and written atomically by any thread and process.
 * Committed and reading are the owner's to move; the writer drops, and the owner takes note of it.
 */
public interface ConsumerCursors {

    /** Everything before this position is acked. */
    long committed();

    /** Moves the committed position. */
    void committed(long position);

    /** Everything before this position has been popped. */
    long reading();

    /** Moves the reading position. */
    void reading(long position);

    /** Everything before this position was taken from the consumer because it was too far behind; 0 for nothing. */
    long dropped();

    /** The offset of the first record that {@link #dropped} has taken from it. */
    long droppedFirst();

    /** Takes everything before a position from the consumer; {@code first} is the first record that it loses so. */
    void drop(long position, long first);

    /** The owner has taken note of a drop; false when there has been another one since, which it must take note of. */
    boolean noteDrop(long position);

    /** Everything before this position is of no use to the consumer any more; Long.MAX_VALUE once it is deleted. */
    default long needed() {
        return Math.max(committed(), dropped());
    }

    /** What the consumer is for, as its owner has said; empty when it has said nothing. */
    default String label() {
        return "";
    }

    /** Says what the consumer is for. For its owner. */
    default void label(String text) {
        throw new UnsupportedOperationException("this consumer has no page for a label");
    }

    /** Fsyncs all of them to the disk. */
    void force() throws IOException;
}
