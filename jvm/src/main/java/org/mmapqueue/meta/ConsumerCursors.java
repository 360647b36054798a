package org.mmapqueue.meta;

import java.io.IOException;

/**
 * The stored positions of one consumer. Each is one 64-bit word, read and written atomically by any thread and process.
 * The owner moves committed and reading. The writer drops records, and the owner acknowledges the drop.
 */
public interface ConsumerCursors {

    /** Everything before this position is acked. */
    long committed();

    void committed(long position);

    /** Everything before this position has been popped. */
    long reading();

    void reading(long position);

    /** Everything before this position was dropped because the consumer lagged too far; 0 for none. */
    default long dropped() {
        return 0;
    }

    /** The offset of the first dropped record. */
    default long droppedFirst() {
        return 0;
    }

    /** Drops everything before a position; {@code first} is the offset of the first dropped record. */
    default void drop(long position, long first) {
        throw new UnsupportedOperationException("this consumer drops nothing");
    }

    /**
     * Leaves everything before a position to the archive, for a consumer that is moved there. Only the owner calls this.
     *
     * @param offset the record to which the consumer is moved
     */
    default void leaveBefore(long position, long offset) {
        throw new UnsupportedOperationException("this consumer drops nothing");
    }

    /** Drops more, after a drop that is not acknowledged. */
    default void dropMore(long position) {
        throw new UnsupportedOperationException("this consumer drops nothing");
    }

    /**
     * The offset of the first record that is not acked, which the committed position cannot say while the ring has given up
     * that record: as the owner has stored it, else that of the first dropped record.
     */
    default long unackedOffset() {
        return droppedFirst();
    }

    /**
     * Stores {@link #unackedOffset}. Only the owner calls this, before it stores the committed position.
     *
     * @param offset -1 if it is not known
     */
    default void unackedOffset(long offset) {}

    /** Acknowledges a drop; returns false when another drop has followed, which is not acknowledged yet. */
    default boolean noteDrop(long position) {
        throw new UnsupportedOperationException("this consumer drops nothing");
    }

    /** The consumer needs no record before this position; Long.MAX_VALUE once it is deleted. */
    default long needed() {
        return Math.max(committed(), dropped());
    }

    /** The label; empty for none. */
    default String label() {
        return "";
    }

    /** Sets the label. Only the owner calls this. */
    default void label(String text) {
        throw new UnsupportedOperationException("this consumer has no page for a label");
    }

    /**
     * Writes a part of the page again, unchanged, so that {@link #force} leaves nothing out: after a failed fsync of an
     * earlier process the kernel may count the page as written.
     */
    default void rewrite() throws IOException {}

    /** Fsyncs all positions. */
    void force() throws IOException;
}
