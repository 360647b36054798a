package org.mmapqueue.log;

import java.nio.file.Path;
import java.util.function.LongSupplier;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.meta.MetaImage.Word;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.Geometry;

/**
 * The log end of version 2 as meta.dat has it, checked against the reclaimed position: the ring holds no more than its
 * capacity between the two. So no reader walks to a position that no writer has written. Safe for any number of threads.
 *
 * @param directory the directory of the queue
 */
public record PublishedEnd(Path directory, MetaPage meta, Geometry geometry) implements LongSupplier {
    /**
     * The position after the last published record.
     *
     * @throws CorruptException if the ring cannot hold what is between the reclaimed position and that one
     */
    @Override
    public long getAsLong() {
        long writing = meta.writing();
        long reclaimed = meta.reclaimed(); // loaded second: the writer moves it first
        if (isSound(writing, reclaimed)) {
            return writing;
        }
        long later = meta.writing(); // both may have moved on between the loads
        if (writing >= 0 && isSound(later, reclaimed)) {
            return writing;
        }
        boolean isAhead = writing < 0 || later - reclaimed > ring() && reclaimed >= 0;
        throw new CorruptException(
                directory.resolve(MetaPage.FILE_NAME).toString(),
                (isAhead ? Word.WRITING : Word.RECLAIMED).at(),
                "writing is " + writing + " and reclaimed is " + reclaimed
                        + ", expected 0 <= reclaimed <= writing, and at most the " + ring()
                        + " bytes of the ring in between");
    }

    /** The last position that the ring can hold. */
    public long most() {
        return meta.reclaimed() + ring();
    }

    private long ring() {
        return (long) geometry.capacity() * geometry.segmentSize();
    }

    // Reclaimed may be ahead by records that are published, but that the stored writing position has not passed yet.
    private boolean isSound(long writing, long reclaimed) {
        return writing >= 0
                && reclaimed >= 0
                && reclaimed - geometry.segmentSize() <= writing
                && writing - reclaimed <= ring();
    }
}
