package org.mmapqueue.meta;

import java.io.Closeable;
import java.io.IOException;

/**
 * The open meta page of a queue. The default consumer's cursors are part of it. Reading is safe from any thread;
 * the writing position and the watermark are moved by the process that writes the queue.
 */
public interface MetaPage extends ConsumerCursors, Closeable {
    /** The file's name in the queue directory. */
    String FILE_NAME = "meta.dat";

    /** The facts as they are stored now. */
    MetaFields fields();

    /** Replaces the stored facts (same version, capacity, segment size and UUID); a crash leaves the old or the new. */
    void fields(MetaFields next) throws IOException;

    /** The end of the last published record. */
    long writing();

    /** Moves the writing position; everything stored before the call is visible to whoever reads it. */
    void writing(long position);

    /** Everything before this position has been fsynced to the disk. */
    long watermark();

    /** Moves the watermark. */
    void watermark(long position);

    /** The writer may use everything before this position again, at any time. */
    long reclaimed();

    /** Moves the reclaimed position. */
    void reclaimed(long position);

    /** What the writer is about to take for reclaimed, or will not; else the reclaimed position. */
    long reclaiming();

    /** Says what is about to be reclaimed. A full fence. */
    void reclaiming(long position);

    /**
     * Between this position and the watermark everything is on the disk. What is before it may be lost in part: it does
     * not count as retained.
     */
    long intact();

    /** Moves the position from which on everything is on the disk. */
    void intact(long position);

    /** How often a consumer was made, deleted or moved back, by any process. */
    long consumerChanges();

    /** Says, to all processes, that a consumer has been made, deleted or moved back. A full fence. */
    void countConsumerChange();

    /**
     * Without a consumer everything from this position on is kept: the low watermark of the last consumer that was
     * deleted. It says nothing while there is a consumer.
     */
    long heldFrom();

    /** Moves the position from which on everything is kept without a consumer. */
    void heldFrom(long position);

    /** Whether there is the default consumer, whose cursors these are. */
    boolean hasDefault();

    /** Says whether there is the default consumer. */
    void hasDefault(boolean there);

    /** Up to what age acked records are retained, in ms; 0 when age does not count. */
    long retainMillis();

    /** How much of the log is retained though it is acked, in bytes; 0 when size does not count. */
    long retainBytes();

    /** Whether acked records are retained at all. */
    default boolean isRetaining() {
        return retainMillis() > 0 || retainBytes() > 0;
    }

    /** Says what is retained. */
    void retain(long millis, long bytes);

    /** Refreshes the readable table from the live cursors. */
    void mirror();

    /** Whether the readable table has the writing position and the watermark that the live cursors have. */
    boolean isMirrored();

    /**
     * The number that the next record gets, as the writer that has closed the queue knew it; -1 when none has said so
     * for the writing position as it is. Version 1 has no place for it.
     */
    default long closedAt() {
        return -1;
    }

    /** Says which number the record behind the writing position gets; for a queue that is about to be closed. */
    default void closedAt(long nextOffset) {}

    /** Whether the last writer closed the queue. */
    boolean clean();

    /** Says, and fsyncs, whether the queue is closed (true) or about to be written (false). */
    void clean(boolean closed) throws IOException;
}
