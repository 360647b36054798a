package org.mmapqueue.core;

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
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.lookup.Log;

/**
 * The records of a queue by their offsets: those of the ring, and those that the ring has given up for the archive. Calls
 * on the latter wait for the archive's file system. Safe for any number of threads.
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
        return orOlder(() -> log.randomAccess().get(offset, count, Long.MAX_VALUE), () -> {
            List<Message> found = new ArrayList<>();
            readOlder(
                    offset,
                    count,
                    Long.MAX_VALUE,
                    true,
                    (number, timestamp, data, start, length, attempts) ->
                            found.add(new Message(number, timestamp, data, attempts)));
            return found;
        });
    }

    /** As {@link #getMany(long, int)}, by a handler. */
    public int getMany(long offset, int count, long maxBytes, MessageHandler handler) {
        return orOlder(
                () -> log.randomAccess().get(offset, count, maxBytes, handler),
                () -> readOlder(offset, count, maxBytes, false, handler));
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

    private int readOlder(long offset, int count, long maxBytes, boolean own, MessageHandler handler) {
        try (RangeOfLog range = reader(offset, Math.addExact(offset, count), false, () -> false)) {
            return range.read(count, maxBytes, own, startingAt(offset, handler));
        }
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
