package org.mmapqueue.archive;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.archive.run.RecordCursor;
import org.mmapqueue.archive.run.RunFile;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.OutOfRangeException;

/**
 * Compares the records of a queue with those of a run: offset, time and payload. Checksums, segments and epochs depend
 * on the place of a record in the log, which a resize, a copy and a repair change. Not thread-safe.
 */
final class RecordComparison {
    /** The maximum number of record bytes that one call reads from the queue. */
    private static final long READ_BYTES = 1 << 20;

    private static final long NONE = -1;

    private final RunFile run;
    private final long committed;
    private int block = -1;
    private @Nullable RecordCursor cursor;
    private long differs = NONE;

    private RecordComparison(RunFile run, long committed) {
        this.run = run;
        this.committed = committed;
    }

    /**
     * Compares the records of a run that the queue retains.
     *
     * @return the offset of the first record that differs, or that the queue does not have; empty for none
     * @throws CorruptException if a record that is not committed is damaged
     */
    static OptionalLong firstDifference(
            ShipSource source, Archive archive, PartitionEntry partition, RunName name, long committed)
            throws IOException {
        try (RunFile run = RunFile.open(archive.files(), partition.id(), name, partition.queue())) {
            RecordComparison comparison = new RecordComparison(run, committed);
            long offset = Math.max(name.first(), source.firstOffset());
            while (offset < name.end() && comparison.differs == NONE) {
                offset = comparison.compareFrom(source, offset);
            }
            return comparison.differs == NONE ? OptionalLong.empty() : OptionalLong.of(comparison.differs);
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    // Returns the offset after the compared records.
    private long compareFrom(ShipSource source, long offset) {
        try {
            long reached = source.read(offset, run.name().end(), READ_BYTES, this::compare);
            if (reached == offset) {
                differs = offset;
            }
            return reached;
        } catch (OutOfRangeException e) {
            long first = source.firstOffset();
            if (first <= offset) {
                throw e;
            }
            return first; // the records before it were reclaimed just now
        }
    }

    private void compare(StoredRecord record) {
        if (differs == NONE && !record.isGap() && !isSame(record)) { // lost records contradict nothing
            differs = record.offset();
        }
    }

    private boolean isSame(StoredRecord record) {
        try {
            return isSame(record, at(record.offset()));
        } catch (CorruptException e) {
            if (record.offset() >= committed) {
                throw e; // it would be acked, and readable nowhere
            }
            return true;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private RecordCursor at(long offset) throws IOException {
        int holds = run.blockOf(offset);
        RecordCursor open = cursor;
        if (open == null || holds != block) {
            cursor = null;
            open = run.read(holds, run.name().end());
            cursor = open;
            block = holds;
        }
        open.moveTo(offset);
        open.check();
        return open;
    }

    // A repair with --reset-clock lowers times.
    private static boolean isSame(StoredRecord queued, RecordCursor archived) {
        return archived.isGap()
                || queued.timestampMicros() <= archived.timestampMicros()
                        && (queued.timestampMicros() == 0) == (archived.timestampMicros() == 0)
                        && Arrays.equals(
                                queued.array(),
                                queued.from(),
                                queued.from() + queued.length(),
                                archived.array(),
                                archived.from(),
                                archived.from() + archived.length());
    }
}
