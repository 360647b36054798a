package org.mmapqueue.archive;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.NoSuchFileException;
import java.time.Instant;
import java.util.List;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.stream.LongStream;
import org.mmapqueue.StartAt;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.RecordCursor;
import org.mmapqueue.archive.run.RunFile;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;

/**
 * A reader's view of a partition: access to runs by offset and time, as to a queue, as of the last {@link #refresh}.
 * All methods but {@link #find}, {@link #timestampMicros} and those of readers use names of runs alone. Not
 * thread-safe; readers are independent of it.
 *
 * <p>All methods throw {@link org.mmapqueue.errors.ArchiveException} if the runs overlap without nesting, {@link MmapQueueException} if the file system fails, and {@link UncheckedIOException} if a call of
 * the file system is interrupted or times out.
 */
public final class ArchivePartition {
    private final ArchiveFiles files;
    private final int id;
    private final UUID queue;
    private final RunList list;

    ArchivePartition(ArchiveFiles files, int id, UUID queue) {
        this.files = files;
        this.id = id;
        this.queue = queue;
        this.list = new RunList(files, id);
    }

    /** The partition's number in the archive. */
    public int id() {
        return id;
    }

    /** The queue's UUID. */
    public UUID queueId() {
        return queue;
    }

    private interface Work<T> {
        T run() throws IOException;
    }

    private <T> T listed(Work<T> work) {
        try {
            return work.run();
        } catch (InterruptedIOException | ClosedByInterruptException e) {
            throw new UncheckedIOException(unreadable(e), e);
        } catch (IOException e) {
            throw new MmapQueueException(unreadable(e), e);
        }
    }

    private String unreadable(IOException cause) {
        return "partition " + id + " of " + files.uri() + " could not be read: " + cause;
    }

    /** Lists new runs; mostly one listing. */
    public void refresh() {
        listed(() -> {
            list.refresh();
            return null;
        });
    }

    /** The offset of the oldest record; {@link #endOffset} if no record exists. */
    public long firstOffset() {
        return list.firstOffset();
    }

    /** The offset after the last record. */
    public long endOffset() {
        return list.endOffset();
    }

    /**
     * Returns the runs that hold a range, in order; runs nested in a longer one are left out.
     *
     * @param from the first record's offset
     * @param to the offset after the last record
     */
    public List<RunName> runs(long from, long to) {
        return listed(() -> list.cover(from, to));
    }

    /**
     * Returns the records of a range that no run has, in order.
     *
     * @param from the first record's offset
     * @param to the offset after the last record
     * @return the gaps, cut to the range
     */
    public List<Gap> gaps(long from, long to) {
        return listed(() -> list.gaps(from, to));
    }

    /**
     * Splits a range at the buckets of the archive, for callers that may need a part of it: each other method lists the
     * buckets of the range that it is given, and this one lists none.
     *
     * @param from the first record's offset
     * @param to the offset after the last record, at least {@code from}
     * @return the bounds of the parts, ascending, from and to included
     */
    public long[] bounds(long from, long to) {
        return list.bounds(from, to);
    }

    /**
     * Frees the memory of the runs before an offset, as far as they have buckets of their own. They can still be read:
     * then they are listed again.
     *
     * @param before the offset of a record that will be read next
     */
    public void forget(long before) {
        list.forget(before);
    }

    /**
     * Estimates the bytes of a range, uncompressed; within a run all records are assumed to have the same size.
     *
     * @param from the first record's offset
     * @param to the offset after the last record
     */
    public long bytes(long from, long to) {
        long sum = 0;
        for (RunName run : runs(from, to)) {
            sum += bytes(run, from, to);
        }
        return sum;
    }

    /**
     * Estimates the bytes of a range by its first and its last bucket alone: records between them are assumed to have
     * the mean size of theirs.
     *
     * @param from the first record's offset
     * @param to the offset after the last record
     */
    public long estimatedBytes(long from, long to) {
        long low = Math.max(from, firstOffset());
        long high = Math.min(to, endOffset());
        if (low >= high) {
            return 0;
        }
        long[] bounds = bounds(low, high);
        long firstEnd = bounds[1];
        long lastStart = bounds[bounds.length - 2];
        if (lastStart <= firstEnd) {
            return bytes(low, high);
        }
        long known = bytes(low, firstEnd) + bytes(lastStart, high);
        double records = (double) firstEnd - low + high - lastStart;
        return known + (long) (known / records * (lastStart - firstEnd));
    }

    /**
     * Finds the part of a range that has at most a number of bytes, as {@link #bytes} counts them. Lists no bucket after
     * that part.
     *
     * @param from the first record's offset
     * @param to the offset after the last record, more than {@code from}
     * @param most the number of bytes
     * @return the offset after the part's last record, more than {@code from}
     */
    public long endWithin(long from, long to, long most) {
        long[] bounds = bounds(from, to);
        long left = most;
        for (int i = 1; i < bounds.length; i++) {
            for (RunName run : runs(bounds[i - 1], bounds[i])) {
                long start = Math.max(bounds[i - 1], run.first());
                long size = bytes(run, bounds[i - 1], bounds[i]);
                if (size > left) {
                    return Math.max(from + 1, start + (long) ((double) left * run.count() / run.bytes()));
                }
                left -= size;
            }
        }
        return to;
    }

    private static long bytes(RunName run, long from, long to) {
        long records = Math.min(to, run.end()) - Math.max(from, run.first());
        return records == run.count() ? run.bytes() : (long) ((double) run.bytes() / run.count() * records);
    }

    /**
     * Splits a range into parts of about the same size. Parts begin with a run, except within a run that is larger than
     * a part.
     *
     * @param from the first record's offset
     * @param to the offset after the last record
     * @param bytes the size of a part in bytes, at least 1
     * @return the offsets of the parts' first records, ascending, then {@code to}
     */
    public long[] split(long from, long to, long bytes) {
        if (bytes < 1 || to < from) {
            throw new IllegalArgumentException(
                    "from = " + from + ", to = " + to + ", bytes = " + bytes + "; expected from <= to and bytes >= 1");
        }
        LongStream.Builder starts = LongStream.builder().add(from);
        long last = from;
        long filled = 0;
        for (RunName run : runs(from, to)) {
            long start = Math.max(from, run.first());
            long end = Math.min(to, run.end());
            long size = bytes(run, from, to);
            if (filled > 0 && filled + size > bytes && start > last) {
                starts.add(start);
                last = start;
                filled = 0;
            }
            long parts = Math.min(end - start, (size + bytes - 1) / bytes);
            for (long part = 1; part < parts; part++) {
                last = start + (long) ((double) (end - start) / parts * part);
                starts.add(last);
            }
            filled += parts > 1 ? size / parts : size;
        }
        return to == from
                ? new long[] {from, to}
                : starts.add(to).build().distinct().toArray();
    }

    /**
     * Finds a record by its timestamp. Opens at most one run.
     *
     * @param time a time; records have timestamps in whole µs
     * @return the offset of the first record pushed at that time or later; empty if no such record exists, or no record
     *     has a timestamp
     */
    public OptionalLong find(Instant time) {
        long micros = Math.max(1, StartAt.timestamp(time).value());
        return listed(() -> {
            OptionalLong first = list.firstRunAtOrAfter(micros);
            return first.isEmpty() ? first : find(first.getAsLong(), micros);
        });
    }

    private OptionalLong find(long start, long micros) throws IOException {
        try (RunFile run = open(start)) {
            for (int block = run.blockAtOrAfter(micros); block < run.blocks(); block++) {
                RecordCursor record = run.read(block, 0);
                while (record.next()) {
                    if (record.timestampMicros() >= micros) {
                        return OptionalLong.of(record.offset());
                    }
                }
            }
        }
        throw new MmapQueueException("no record from offset " + start + " on is as new as its run says: " + micros);
    }

    /**
     * Returns a record's timestamp in µs since 1970; 0 for none.
     *
     * @throws OutOfRangeException if no record has this offset
     */
    public long timestampMicros(long offset) {
        if (offset < firstOffset() || offset >= endOffset()) {
            throw new OutOfRangeException("a record of an archive", offset, firstOffset(), endOffset() - 1);
        }
        return listed(() -> {
            try (RunFile run = open(offset)) {
                RecordCursor record = run.read(run.blockOf(offset), 0);
                record.moveTo(offset);
                record.check();
                return record.timestampMicros();
            }
        });
    }

    // Opens the run of a record. Retries once, as the run may have been replaced since it was listed.
    private RunFile open(long offset) throws IOException {
        try {
            return RunFile.open(files, id, runOf(offset), queue);
        } catch (NoSuchFileException e) {
            list.relist();
            return RunFile.open(files, id, runOf(offset), queue);
        }
    }

    private RunName runOf(long offset) throws IOException {
        List<RunName> runs = list.cover(offset, offset + 1);
        if (!runs.isEmpty()) {
            return runs.get(0);
        }
        for (Gap gap : list.gaps(offset, offset + 1)) {
            throw gap.exception(files.uri(), id);
        }
        throw new OutOfRangeException("a record of an archive", offset, firstOffset(), endOffset() - 1);
    }

    /** The hosts that hold the largest run of a range, most bytes first; empty for no preference. */
    public List<String> hosts(long from, long to) {
        RunName largest = null;
        for (RunName run : runs(from, to)) {
            if (largest == null || bytes(run, from, to) > bytes(largest, from, to)) {
                largest = run;
            }
        }
        if (largest == null) {
            return List.of();
        }
        String file = largest.file(id);
        return listed(() -> {
            try {
                return files.hosts(file, 0, Long.MAX_VALUE);
            } catch (NoSuchFileException e) {
                return List.of(); // the run was replaced since it was listed
            }
        });
    }

    /**
     * Returns a reader of a range that throws at a gap. It also reads records of the range that are shipped later.
     *
     * @param from the first record's offset, up to {@link #endOffset}
     * @param to the offset after the last record; {@code Long.MAX_VALUE} for a range without end
     * @param skipsDamage whether to continue after damaged records instead of throwing CorruptException
     * @return the reader, which the caller closes
     */
    public ArchiveReader reader(long from, long to, boolean skipsDamage) {
        return reader(from, to, skipsDamage, false);
    }

    /**
     * Returns a reader of a range. It also reads records of the range that are shipped later.
     *
     * @param from the first record's offset, up to {@link #endOffset}
     * @param to the offset after the last record; {@code Long.MAX_VALUE} for a range without end
     * @param skipsDamage whether to continue after damaged records instead of throwing CorruptException
     * @param skipsGaps whether to continue after records that no run has instead of throwing ArchiveException
     * @return the reader, which the caller closes
     */
    public ArchiveReader reader(long from, long to, boolean skipsDamage, boolean skipsGaps) {
        return ArchiveReader.of(files, id, queue, runs(from, to), from, to, skipsDamage, skipsGaps);
    }
}
