package org.mmapqueue.archive;

import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.DamagedRange;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.RecordSink;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.BlockArrays;
import org.mmapqueue.archive.run.RecordCursor;
import org.mmapqueue.archive.run.RunFile;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.GuardedLog;
import org.mmapqueue.log.SkippedDamage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the records of a range of one partition in order, as a queue's {@code RecordReader} does. A run that was
 * replaced is not an error: the reader lists again, and continues with the run that holds the records now. Not
 * thread-safe.
 */
public final class ArchiveReader implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ArchiveReader.class);

    private final ArchiveFiles files;
    private final int partition;
    private final UUID queue;
    private final boolean skipsDamage;
    private final boolean skipsGaps;
    private final BlockArrays arrays;
    private final GuardedLog untold = new GuardedLog();
    private final SkippedDamage skipped = new SkippedDamage("a reader of an archive", untold);
    private final long to;
    private List<RunName> runs;
    private @Nullable RunList list;
    private long offset;
    private long count;
    private long missing;
    private boolean closed;

    /** The open run, the present block, and whether the cursor is on the record of the offset, checked. */
    private @Nullable RunFile file;

    private @Nullable RecordCursor cursor;
    private long blockEnd;
    private boolean onRecord;

    private ArchiveReader(
            ArchiveFiles files,
            int partition,
            UUID queue,
            List<RunName> runs,
            long from,
            long to,
            boolean skipsDamage,
            boolean skipsGaps,
            BlockArrays arrays) {
        if (from < 0 || to < from) {
            throw new IllegalArgumentException("from = " + from + ", to = " + to + "; expected 0 <= from <= to");
        }
        this.files = files;
        this.partition = partition;
        this.queue = queue;
        this.runs = runs;
        this.offset = from;
        this.to = to;
        this.skipsDamage = skipsDamage;
        this.skipsGaps = skipsGaps;
        this.arrays = arrays;
    }

    /**
     * Returns a reader of runs that were listed elsewhere, for a task. It lists only when one of the runs does not
     * exist any more.
     *
     * @param files the archive's files; the caller closes them after the reader
     * @param partition the partition's number
     * @param queue the queue's UUID
     * @param runs the runs that hold the range, as {@link ArchivePartition#runs} has returned them; empty to list them
     *     here
     * @param from the first record's offset
     * @param to the offset after the last record; {@code Long.MAX_VALUE} for a range without end
     * @param skipsDamage whether to continue after damage, which {@link #damagedRanges} lists, instead of throwing
     *     CorruptException
     * @param skipsGaps whether to continue after records that no run has, which {@link #missing} counts, instead of
     *     throwing ArchiveException
     */
    public static ArchiveReader of(
            ArchiveFiles files,
            int partition,
            UUID queue,
            List<RunName> runs,
            long from,
            long to,
            boolean skipsDamage,
            boolean skipsGaps) {
        return new ArchiveReader(
                files, partition, queue, List.copyOf(runs), from, to, skipsDamage, skipsGaps, BlockArrays.REUSED);
    }

    /**
     * As {@link #of}, for {@link #readTogether}: the records are read into arrays of the caller, and it lists the runs
     * itself.
     */
    public static ArchiveReader into(
            BlockArrays arrays,
            ArchiveFiles files,
            int partition,
            UUID queue,
            long from,
            long to,
            boolean skipsDamage,
            boolean skipsGaps) {
        return new ArchiveReader(files, partition, queue, List.of(), from, to, skipsDamage, skipsGaps, arrays);
    }

    /** The offset of the next record to read; the range's end after the last one. */
    public long offset() {
        return offset;
    }

    /** Whether the range has no further record. */
    public boolean isAtEnd() {
        return offset >= to;
    }

    /** The number of records that were skipped because of damage. */
    public long lost() {
        return skipped.records();
    }

    /** The damaged ranges that were skipped, the latest thousand; empty unless this reader skips damage. */
    public List<DamagedRange> damagedRanges() {
        return skipped.ranges();
    }

    /** The number of records that were skipped because no run has them. */
    public long missing() {
        return missing;
    }

    /** The number of runs opened so far. */
    public long runs() {
        return count;
    }

    /**
     * Reads records, each into an array of its own.
     *
     * @param maxRecords the maximum number of records, at least 1
     * @param maxBytes the maximum number of payload bytes, at least 1; a larger first record is read nevertheless
     * @param sink called with each record, in order
     * @return the number of records; 0 at the end of the range, or if the next one is not in the archive yet
     * @throws OutOfRangeException if retention has deleted the next record
     * @throws CorruptException if the next record is damaged
     * @throws ArchiveException if the archive's runs overlap without nesting, or none has the next record, but one has a
     *     later one; {@link ArchiveException#missingTo} is where the next run begins
     * @throws MmapQueueException if the file system fails
     * @throws ClosedException if this reader is closed
     */
    public int read(int maxRecords, long maxBytes, RecordSink sink) {
        return read(
                maxRecords,
                maxBytes,
                (number, timestamp, data, start, length, attempts) ->
                        sink.take(number, timestamp, Arrays.copyOfRange(data, start, start + length)));
    }

    /**
     * Reads records without an allocation for each; see {@link #read(int, long, RecordSink)}.
     *
     * @param maxRecords the maximum number of records, at least 1
     * @param maxBytes the maximum number of payload bytes, at least 1; a larger first record is read nevertheless
     * @param handler called with each record, in order, with attempts of 0; if it throws, this record and those after
     *     it count as not read
     * @return the number of records; 0 at the end of the range, or if the next one is not in the archive yet
     */
    public int read(int maxRecords, long maxBytes, MessageHandler handler) {
        if (maxRecords < 1 || maxBytes < 1) {
            throw new IllegalArgumentException(
                    "maxRecords = " + maxRecords + ", maxBytes = " + maxBytes + "; both must be at least 1");
        }
        return read(maxRecords, maxBytes, false, handler);
    }

    /**
     * Reads the next records that are in the same array; see {@link #read(int, long, MessageHandler)}. It is the one
     * that {@link BlockArrays} gave for them, so that nothing is copied.
     */
    public int readTogether(MessageHandler handler) {
        return read(Integer.MAX_VALUE, Long.MAX_VALUE, true, handler);
    }

    private int read(int maxRecords, long maxBytes, boolean isTogether, MessageHandler handler) {
        if (closed) {
            throw new ClosedException("the reader is closed");
        }
        int done = 0;
        long bytesLeft = maxBytes;
        byte[] array = null;
        while (done < maxRecords && !closed && advanced(done == 0)) {
            RecordCursor record = cursor;
            if (done > 0 && (record.length() > bytesLeft || isTogether && record.array() != array)) {
                break;
            }
            array = record.array();
            handler.onMessage(offset, record.timestampMicros(), record.array(), record.from(), record.length(), 0);
            bytesLeft -= record.length();
            done++;
            offset++;
            onRecord = false;
        }
        return done;
    }

    // Moves to the record of the offset. Only the first move of a call throws; a later error is left to the next call.
    private boolean advanced(boolean first) {
        if (onRecord) {
            return true;
        }
        try {
            return advance();
        } catch (RuntimeException e) {
            if (first) {
                throw e;
            }
            return false;
        } catch (IOException e) {
            closeFile();
            if (first) {
                throw new MmapQueueException("record " + offset + " could not be read: " + e, e);
            }
            return false;
        }
    }

    private boolean advance() throws IOException {
        while (offset < to) {
            try {
                if (cursor == null && !openBlock()) {
                    return false;
                }
                if (offset >= blockEnd) {
                    cursor = null;
                    continue;
                }
                cursor.moveTo(offset);
                cursor.check();
                if (!cursor.isGap()) {
                    onRecord = true;
                    return true;
                }
                offset = Math.min(cursor.end(), to);
            } catch (CorruptException e) {
                skip(e);
            }
        }
        return false;
    }

    // Skips damage: a record that fails its check is lost alone; a damaged block or run is lost as a whole.
    private void skip(CorruptException damage) {
        long next;
        if (cursor != null && cursor.offset() == offset && !cursor.isGap()) {
            next = offset + 1;
        } else {
            next = file == null ? runAt(offset).end() : file.endOf(file.blockOf(offset));
            cursor = null;
        }
        if (!skipsDamage) {
            cursor = null;
            throw damage;
        }
        next = Math.min(next, to);
        skipped.add(damage, offset, next);
        offset = next;
        untold.tell();
    }

    private boolean openBlock() throws IOException {
        RunFile run = openRun();
        if (run == null) {
            return false;
        }
        int block = run.blockOf(offset);
        try {
            cursor = run.read(block, to);
        } catch (IOException e) {
            // A file that was deleted while it was open: the records are in a longer run now, or not retained.
            RunName before = run.name();
            closeFile();
            listAgain();
            if (before.equals(runAt(offset))) {
                throw e;
            }
            return openBlock();
        }
        blockEnd = run.endOf(block);
        return true;
    }

    // Opens the run that holds the record of the offset; null if the record is not in the archive yet.
    private @Nullable RunFile openRun() throws IOException {
        if (file != null
                && file.name().first() <= offset
                && offset < file.name().end()) {
            return file;
        }
        closeFile();
        RunName run = runAt(offset);
        if (run == null) {
            list();
            passGap();
            run = runAt(offset);
            if (run == null || offset >= to) {
                return null;
            }
        }
        try {
            file = RunFile.open(files, partition, run, queue, arrays);
        } catch (NoSuchFileException e) {
            listAgain();
            passGap();
            RunName now = runAt(offset);
            if (now == null || offset >= to) {
                return null;
            }
            file = RunFile.open(files, partition, now, queue, arrays);
        }
        count++;
        return file;
    }

    // Continues after records that no run has, or throws.
    private void passGap() throws IOException {
        for (Gap gap : list.gaps(offset, to)) {
            if (gap.first() > offset) {
                return;
            }
            if (!skipsGaps) {
                throw gap.exception(files.uri(), partition);
            }
            LOG.warn("a reader of an archive continues after a gap: {}", gap.text(files.uri(), partition));
            missing += gap.count();
            offset = gap.end();
        }
    }

    private void list() throws IOException {
        if (list == null) {
            list = new RunList(files, partition);
        }
        list.refresh();
        takeList();
    }

    private void listAgain() throws IOException {
        if (list == null) {
            list = new RunList(files, partition);
        }
        list.relist();
        takeList();
    }

    private void takeList() throws IOException {
        if (offset < list.firstOffset()) {
            list.relist(); // runs may have been replaced during the listing
        }
        if (offset < list.firstOffset()) {
            throw new OutOfRangeException("a reader of an archive", offset, list.firstOffset(), list.endOffset() - 1);
        }
        runs = list.cover(offset, to);
    }

    private @Nullable RunName runAt(long wanted) {
        int low = 0;
        int high = runs.size() - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            RunName run = runs.get(middle);
            if (wanted < run.first()) {
                high = middle - 1;
            } else if (wanted >= run.end()) {
                low = middle + 1;
            } else {
                return run;
            }
        }
        return null;
    }

    private void closeFile() {
        RunFile open = file;
        file = null;
        cursor = null;
        onRecord = false;
        if (open != null) {
            try {
                open.close();
            } catch (IOException e) {
                // the file was only read
            }
        }
    }

    /** Closes the open file; later reads throw ClosedException. Idempotent. */
    @Override
    public void close() {
        closed = true;
        closeFile();
    }
}
