package org.mmapqueue.meta;

import java.io.Closeable;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.MetaImage.Word;

/**
 * The open meta page of a queue. Reading is safe from any thread; only the writing process moves the writing position
 * and the recovery point. {@link Word} says what the words are.
 */
public interface MetaPage extends Closeable {
    /** The file's name in the queue directory. */
    String FILE_NAME = "meta.dat";

    /** The facts as they are stored now. */
    MetaFields fields();

    /** Replaces the stored facts atomically (same version, capacity, segment size and UUID), and fsyncs them. */
    void fields(MetaFields next) throws IOException;

    /** Loads a word, with acquire semantics. */
    long get(Word word);

    /** Stores a word, with release semantics. */
    void set(Word word, long value);

    /** The cursors of the consumer that this page contains; null in version 2, where each consumer has its own page. */
    default @Nullable ConsumerCursors consumer() {
        return null;
    }

    /** The log end: the end of the last published record. */
    default long writing() {
        return get(Word.WRITING);
    }

    default void writing(long position) {
        set(Word.WRITING, position);
    }

    /** The recovery point: everything before this position is durable. */
    default long watermark() {
        return get(Word.WATERMARK);
    }

    default void watermark(long position) {
        set(Word.WATERMARK, position);
    }

    /** The writer may overwrite everything before this position at any time. */
    default long reclaimed() {
        return get(Word.RECLAIMED);
    }

    default void reclaimed(long position) {
        set(Word.RECLAIMED, position);
    }

    /**
     * The next reclaimed position, which the writer may still revert; equals the reclaimed position when none is
     * announced.
     */
    default long reclaiming() {
        return get(Word.RECLAIMING);
    }

    /** Announces the next reclaimed position. A full fence. */
    void reclaiming(long position);

    /**
     * Everything between this position and the recovery point is durable. Records before it may be partly lost, so they
     * do not count as retained.
     */
    default long intact() {
        return get(Word.INTACT);
    }

    /** Moves the position from which everything is durable. */
    default void intact(long position) {
        set(Word.INTACT, position);
    }

    /** Number of times that a consumer was created, deleted or moved back, by any process. */
    default long consumerChanges() {
        return get(Word.CONSUMER_CHANGES);
    }

    /** Counts a consumer that was created, deleted or moved back. A full fence. */
    void countConsumerChange();

    /**
     * Log start while no consumer exists: the committed position of the last deleted consumer. Not used while a
     * consumer exists.
     */
    default long heldFrom() {
        return get(Word.HELD_FROM);
    }

    /** Sets the log start for the time without a consumer. */
    default void heldFrom(long position) {
        set(Word.HELD_FROM, position);
    }

    /** Age up to which acked records are retained, in ms; 0 for no limit by age. */
    default long retainMillis() {
        return get(Word.RETAIN_MILLIS);
    }

    /** Bytes before the log end that are retained even when acked; 0 for no limit by size. */
    default long retainBytes() {
        return get(Word.RETAIN_BYTES);
    }

    /** Whether acked records are retained at all. */
    default boolean isRetaining() {
        return retainMillis() > 0 || retainBytes() > 0;
    }

    default void retain(long millis, long bytes) {
        set(Word.RETAIN_MILLIS, millis);
        set(Word.RETAIN_BYTES, bytes);
    }

    /** The offset after the last record that a repair gave up; 0 if the log has no gap. */
    default long gapsEnd() {
        return get(Word.GAPS_END);
    }

    /** The boot of the machine on which the last writer opened the queue; {@link Storage#UNKNOWN_BOOT} if unknown. */
    default long boot() {
        return get(Word.BOOT);
    }

    default void boot(long id) {
        set(Word.BOOT, id);
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

    /** The newest timestamp before that offset, in µs since 1970. */
    default long closedTime() {
        return 0;
    }

    /** Stores both; called when the queue is about to be closed. */
    default void closedAt(long nextOffset, long newest) {}

    /** Whether the last writer closed the queue. */
    boolean clean();

    /** Stores and fsyncs whether the queue is closed (true) or about to be written (false). */
    void clean(boolean closed) throws IOException;

    /** Fsyncs the page. */
    void force() throws IOException;
}
