package org.mmapqueue.consume;

import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.DamagedRange;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.log.FoundRecord;

/**
 * Finds the records that only the archive has, in what is loaded. Not thread-safe: the consumer's lock guards it.
 */
final class OlderCursor implements FoundRecord {
    private final Supplier<ReadAhead> open;
    private @Nullable ReadAhead ahead;
    private @Nullable OlderChunk chunk;
    private int index;
    /** The offset of the first record that the ring has; 0 before it has given up one that the consumer needs. */
    private long ringFrom;

    /** @param open starts to read ahead */
    OlderCursor(Supplier<ReadAhead> open) {
        this.open = open;
    }

    /** The offset of the first record that the ring has for the consumer. */
    long ringFrom() {
        return ringFrom;
    }

    /** Whether only the archive has a record. */
    boolean has(long offset) {
        return offset < ringFrom;
    }

    /** Whether the chunk that was used last has an offset. */
    boolean isIn(long offset) {
        return chunk != null && chunk.contains(offset);
    }

    /** Notes that the ring begins with a record from now on. */
    void ringBegins(long offset, long next) {
        ringFrom = offset;
        if (ahead != null) {
            ahead.range(next, offset);
        }
    }

    /** The loader; started with the next record that the consumer reads. */
    ReadAhead ahead(long next) {
        if (ahead == null) {
            ahead = open.get();
            ahead.range(next, ringFrom);
        }
        return ahead;
    }

    /**
     * Finds the first record from an offset on.
     *
     * @param next the offset that the consumer reads next
     * @return its offset; where a chunk ends without one, the offset after the chunk, which has no record yet
     * @throws NotLoadedException if it is not in memory yet
     */
    long find(long offset, long next) throws NotLoadedException {
        OlderChunk holds = chunk;
        if (holds == null || !holds.contains(offset)) {
            holds = ahead(next).chunk(offset);
            chunk = holds;
            if (offset == next) {
                ahead(next).passed(next);
            }
        } else if (index + 1 < holds.count() && holds.offset(index + 1) == offset) {
            index++;
            return offset;
        }
        index = holds.indexFrom(offset);
        return index < holds.count() ? holds.offset(index) : holds.end();
    }

    /** Whether {@link #find} would find a record that is in memory. */
    boolean isLoaded(long offset, long next) {
        return chunk != null && chunk.contains(offset) || ahead(next).isLoaded(offset);
    }

    /** Why a record that was popped is not in the chunk that was used last. */
    CorruptException missing(long offset) {
        for (DamagedRange each : chunk.skipped()) {
            if (each.firstOffset() <= offset && offset <= each.lastOffset()) {
                return new CorruptException(each.file(), each.position(), each.detail());
            }
        }
        return new CorruptException("the archive", 0, "record " + offset + ", which has been popped, is missing");
    }

    /** Tells of the ranges without records, from an offset up to another, of the chunk that was used last. */
    void skipped(long from, long to, Consumer<DamagedRange> sink) {
        for (DamagedRange each : chunk.skipped()) {
            long first = Math.max(from, each.firstOffset());
            long last = Math.min(to - 1, each.lastOffset());
            if (first <= last) {
                sink.accept(new DamagedRange(first, last, each.file(), each.position(), each.detail()));
            }
        }
    }

    @Override
    public int length() {
        return chunk.length(index);
    }

    @Override
    public long timestamp() {
        return chunk.timestamp(index);
    }

    @Override
    public void read(byte[] target, int start) {
        chunk.copy(index, target, start);
    }

    /** Forgets what is loaded; the ring has all that the consumer needs. */
    void leave() {
        ReadAhead old = ahead;
        ahead = null;
        chunk = null;
        if (old != null) {
            old.end();
        }
    }

    /** As {@link #leave}, and nothing is in the archive alone any more. */
    void reset() {
        ringFrom = 0;
        leave();
    }
}
