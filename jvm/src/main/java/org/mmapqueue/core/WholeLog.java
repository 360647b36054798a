package org.mmapqueue.core;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.mmapqueue.Message;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.StartAt;
import org.mmapqueue.archive.ArchivePartition;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.CauseText;
import org.mmapqueue.lookup.Log;

/**
 * The records of a queue by their offsets: those of the ring, and those that the ring has given up for the archive, or has
 * lost. Calls on the latter two wait for the archive's file system. Safe for any number of threads.
 */
public final class WholeLog {
    private final Log log;
    private final OlderArchive archive;

    WholeLog(Log log, OlderArchive archive) {
        this.log = log;
        this.archive = archive;
    }

    /** Whether the archive has what the ring has given up. */
    public boolean overflows() {
        return archive.isThere();
    }

    /** As {@code RandomAccess.get}. */
    public Message get(long offset) {
        return getMany(offset, 1).get(0);
    }

    /** As {@code RandomAccess.getMany}. */
    public List<Message> getMany(long offset, int count) {
        try {
            return log.randomAccess().get(offset, count, Long.MAX_VALUE);
        } catch (OutOfRangeException e) {
            List<Message> found = new ArrayList<>();
            readOlder(
                    e,
                    offset,
                    count,
                    Long.MAX_VALUE,
                    true,
                    (number, timestamp, data, start, length, attempts) ->
                            found.add(new Message(number, timestamp, data, attempts)));
            return found;
        }
    }

    /** As {@link #getMany(long, int)}, by a handler. */
    public int getMany(long offset, int count, long maxBytes, MessageHandler handler) {
        try {
            return log.randomAccess().get(offset, count, maxBytes, handler);
        } catch (OutOfRangeException e) {
            return readOlder(e, offset, count, maxBytes, false, handler);
        }
    }

    /**
     * Finds a record by its timestamp.
     *
     * @param time a time; records have timestamps in whole µs
     * @return the offset of the first record pushed at that time or later; empty if no such record exists
     */
    public OptionalLong find(Instant time) {
        StartAt start = StartAt.timestamp(time);
        OptionalLong inRing = log.randomAccess().find(start.value());
        OptionalLong older = archive.isThere() ? archive.findBeforeRing(start, log) : OptionalLong.empty();
        return older.isPresent() ? older : inRing;
    }

    // Reads what the ring has given up, or lost.
    private int readOlder(
            OutOfRangeException inRing, long offset, int count, long maxBytes, boolean own, MessageHandler handler) {
        if (archive.mayHave(inRing, log)) {
            try (RangeOfLog range = reader(offset, Math.addExact(offset, count), false, () -> false)) {
                return range.read(count, maxBytes, own, startingAt(offset, handler));
            }
        }
        boolean isLost = inRing.requested() == offset && inRing.first() <= offset && offset <= inRing.last();
        if (!isLost || !archive.isThere()) {
            throw inRing;
        }
        return readLost(inRing, offset, count, maxBytes, own, handler);
    }

    // The archive has a record that was shipped before it was damaged in the ring.
    private int readLost(
            OutOfRangeException lost, long offset, int count, long maxBytes, boolean own, MessageHandler handler) {
        boolean[] isThere = {false};
        try (OlderReader reader = archive.reader(false)) {
            reader.seek(offset);
            int read = reader.read(
                    Math.addExact(offset, count),
                    count,
                    maxBytes,
                    own,
                    (number, timestamp, data, start, length, attempts) -> {
                        isThere[0] |= number == offset;
                        if (!isThere[0]) {
                            throw lost;
                        }
                        handler.onMessage(number, timestamp, data, start, length, attempts);
                    });
            if (read > 0) {
                return read;
            }
        } catch (OutOfRangeException | ArchiveException e) {
            boolean isMissing = e instanceof OutOfRangeException || ((ArchiveException) e).missingTo() >= 0;
            if (isThere[0] || !isMissing) {
                throw e;
            }
        } catch (MmapQueueException e) {
            if (isThere[0] || !(e.getCause() instanceof IOException || e.getCause() instanceof UncheckedIOException)) {
                throw e;
            }
            throw new MmapQueueException(
                    lost.getMessage() + "; the archive of the queue may have it, and could not be read: "
                            + CauseText.of(e.getCause()),
                    e.getCause());
        }
        throw lost;
    }

    // A run may have a gap at the offset: records that were lost before they were shipped.
    private MessageHandler startingAt(long offset, MessageHandler handler) {
        boolean[] isFirst = {true};
        return (number, timestamp, data, start, length, attempts) -> {
            if (isFirst[0] && number != offset) {
                throw new OutOfRangeException(
                        "a record that was lost before it was shipped", offset, number, log.endOffset() - 1);
            }
            isFirst[0] = false;
            handler.onMessage(number, timestamp, data, start, length, attempts);
        };
    }

    /** A reader of a range; {@code gone} returns true once the handle that returned the reader is closed. */
    public RangeOfLog reader(long from, long to, boolean skipsDamage, BooleanSupplier gone) {
        return new RangeOfLog(log, archive, from, to, skipsDamage, gone);
    }

    /** As {@code RandomAccess.bytes}. */
    public long bytes(long from, long to) {
        return orOlder(
                () -> log.randomAccess().bytes(from, to),
                () -> archive.inPartition(partition -> {
                    long ring = ringFrom(partition, to);
                    return partition.bytes(from, ring) + (ring == to ? 0 : bytes(ring, to));
                }));
    }

    /** As {@code RandomAccess.split}. */
    public long[] split(long from, long to, long bytes) {
        return orOlder(
                () -> log.randomAccess().split(from, to, bytes),
                () -> archive.inPartition(partition -> {
                    long ring = ringFrom(partition, to);
                    LongStream older = LongStream.of(partition.split(from, ring, bytes));
                    return ring == to
                            ? older.toArray()
                            : LongStream.concat(
                                            older,
                                            LongStream.of(split(ring, to, bytes))
                                                    .skip(1))
                                    .toArray();
                }));
    }

    // Where the archive hands over to the ring.
    private long ringFrom(ArchivePartition partition, long to) {
        return Math.min(to, Math.min(partition.endOffset(), log.firstKnownOffset()));
    }

    private <T> T orOlder(Supplier<T> ring, Supplier<T> older) {
        try {
            return ring.get();
        } catch (OutOfRangeException e) {
            if (!archive.mayHave(e, log)) {
                throw e;
            }
            return older.get();
        }
    }
}
