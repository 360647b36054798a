package org.mmapqueue.meta;

import java.io.Closeable;
import java.io.IOException;

/**
 * The open meta page of a queue, which includes the default consumer's cursors. Reading is safe from any thread; only
 * the writing process moves the writing position and the recovery point.
 *
 * <p>The default methods are those of version 1, which does not store their values: one process has the queue open, with
 * one consumer, and retains nothing.
 */
public interface MetaPage extends ConsumerCursors, Closeable {
    /** The file's name in the queue directory. */
    String FILE_NAME = "meta.dat";

    /** The facts as they are stored now. */
    MetaFields fields();

    /** Replaces the stored facts atomically (same version, capacity, segment size and UUID), and fsyncs them. */
    default void fields(MetaFields next) throws IOException {
        throw new UnsupportedOperationException("version 1 stores no facts that could change");
    }

    /** The log end: the end of the last published record. */
    long writing();

    /** Moves the writing position, with release semantics. */
    void writing(long position);

    /** The recovery point: everything before this position is durable. */
    long watermark();

    void watermark(long position);

    /** The writer may overwrite everything before this position at any time. */
    long reclaimed();

    void reclaimed(long position);

    /**
     * The next reclaimed position, which the writer may still revert; equals the reclaimed position when none is
     * announced.
     */
    default long reclaiming() {
        return reclaimed();
    }

    /** Announces the next reclaimed position. A full fence. */
    default void reclaiming(long position) {}

    /**
     * Everything between this position and the recovery point is durable. Records before it may be partly lost, so they
     * do not count as retained.
     */
    default long intact() {
        return 0;
    }

    /** Moves the position from which everything is durable. */
    default void intact(long position) {}

    /** Number of times that a consumer was created, deleted or moved back, by any process. */
    long consumerChanges();

    /** Counts a consumer that was created, deleted or moved back. A full fence. */
    void countConsumerChange();

    /**
     * Log start while no consumer exists: the committed position of the last deleted consumer. Not used while a
     * consumer exists.
     */
    default long heldFrom() {
        return 0;
    }

    /** Sets the log start for the time without a consumer. */
    default void heldFrom(long position) {
        throw new UnsupportedOperationException("version 1 always has a consumer");
    }

    default boolean hasDefault() {
        return true;
    }

    default void hasDefault(boolean exists) {
        throw new UnsupportedOperationException("version 1 has the default consumer alone");
    }

    /** Age up to which acked records are retained, in ms; 0 for no limit by age. */
    default long retainMillis() {
        return 0;
    }

    /** Bytes before the log end that are retained even when acked; 0 for no limit by size. */
    default long retainBytes() {
        return 0;
    }

    /** Whether acked records are retained at all. */
    default boolean isRetaining() {
        return retainMillis() > 0 || retainBytes() > 0;
    }

    default void retain(long millis, long bytes) {}

    /** The offset after the last record that a repair gave up; 0 if the log has no gap. */
    default long gapsEnd() {
        return 0;
    }

    /** Refreshes the readable table from the live cursors. */
    default void mirror() {}

    /** Whether the readable table agrees with the live writing position and recovery point. */
    default boolean isMirrored() {
        return true;
    }

    /**
     * The offset of the next record, stored by the writer at its close; -1 when none is stored for this writing
     * position.
     */
    default long closedAt() {
        return -1;
    }

    /** Stores the offset of the next record; called when the queue is about to be closed. */
    default void closedAt(long nextOffset) {}

    /** Whether the last writer closed the queue. */
    boolean clean();

    /** Stores and fsyncs whether the queue is closed (true) or about to be written (false). */
    void clean(boolean closed) throws IOException;
}
