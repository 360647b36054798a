package org.mmapqueue.meta;

import java.io.Closeable;
import java.io.IOException;

/**
 * The open meta page of a queue, with the default consumer's cursors. Reading is safe from any thread; the writing
 * process moves the writing position and the recovery point.
 */
public interface MetaPage extends ConsumerCursors, Closeable {
    /** The file's name in the queue directory. */
    String FILE_NAME = "meta.dat";

    /** The facts as they are stored now. */
    MetaFields fields();

    /** Replaces the stored facts atomically (same version, capacity, segment size and UUID), and fsyncs them. */
    void fields(MetaFields next) throws IOException;

    /** The end of the last published record. */
    long writing();

    /** Moves the writing position, with release semantics. */
    void writing(long position);

    /** The recovery point: everything before this position is durable. */
    long watermark();

    /** Moves the recovery point. */
    void watermark(long position);

    /** The writer may reuse everything before this position at any time. */
    long reclaimed();

    /** Moves the reclaimed position. */
    void reclaimed(long position);

    /** The next reclaimed position, which the writer may still revert; else the reclaimed position. */
    long reclaiming();

    /** Announces the next reclaimed position. A full fence. */
    void reclaiming(long position);

    /**
     * Everything between this position and the recovery point is durable. Records before it may be lost in part: they
     * do not count as retained.
     */
    long intact();

    /** Moves the position from which on everything is durable. */
    void intact(long position);

    /** Counts consumers that were made, deleted or moved back, by any process. */
    long consumerChanges();

    /** Counts a consumer that was made, deleted or moved back. A full fence. */
    void countConsumerChange();

    /**
     * Without a consumer everything from this position on is kept: the committed position of the last deleted consumer.
     * Not used while a consumer exists.
     */
    long heldFrom();

    /** Moves the position from which on everything is kept without a consumer. */
    void heldFrom(long position);

    /** Whether the default consumer exists. */
    boolean hasDefault();

    /** Sets whether the default consumer exists. */
    void hasDefault(boolean exists);

    /** Age up to which acked records are retained, in ms; 0 when age does not count. */
    long retainMillis();

    /** Bytes of the log, up to its end, that are retained though acked; 0 when size does not count. */
    long retainBytes();

    /** Whether acked records are retained at all. */
    default boolean isRetaining() {
        return retainMillis() > 0 || retainBytes() > 0;
    }

    /** Sets the retention. */
    void retain(long millis, long bytes);

    /** Refreshes the readable table from the live cursors. */
    void mirror();

    /** Whether the readable table has the writing position and the recovery point of the live cursors. */
    boolean isMirrored();

    /**
     * The offset of the next record that the writer stored at its close; -1 when none is stored for this writing
     * position. Version 1 does not store it.
     */
    default long closedAt() {
        return -1;
    }

    /** Stores the offset of the next record; for a queue that is about to be closed. */
    default void closedAt(long nextOffset) {}

    /** Whether the last writer closed the queue. */
    boolean clean();

    /** Stores, and fsyncs, whether the queue is closed (true) or about to be written (false). */
    void clean(boolean closed) throws IOException;
}
