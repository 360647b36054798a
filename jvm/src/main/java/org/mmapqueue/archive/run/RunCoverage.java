package org.mmapqueue.archive.run;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.archive.files.ArchiveFiles;

/** Reads a run back, to find the shorter runs of which it has all records. Needs the memory of one block for each. */
public final class RunCoverage {
    private record Part(RunName run, RunDigest records) {}

    private RunCoverage() {}

    /**
     * Returns the runs whose records another run also has, as it is stored now: their number, bytes, times and
     * checksum are those of the shorter run's name.
     *
     * @param outer the run to read; each of its records is checked
     * @param inner runs that lie in it, by first offset
     * @param isOver asked before each block
     * @throws InterruptedIOException if {@code isOver} was true
     * @throws org.mmapqueue.errors.CorruptException if the outer run is damaged
     */
    public static Set<RunName> covered(
            ArchiveFiles files, int partition, UUID queue, RunName outer, List<RunName> inner, BooleanSupplier isOver)
            throws IOException {
        Set<RunName> covered = new HashSet<>();
        if (inner.isEmpty()) {
            return covered;
        }
        long end = inner.stream().mapToLong(RunName::end).max().orElseThrow();
        Iterator<RunName> others = inner.iterator();
        RunName next = others.next();
        List<Part> open = new ArrayList<>();
        try (RunFile file = RunFile.open(files, partition, outer, queue)) {
            int first = file.blockOf(inner.get(0).first());
            for (int block = first; block < file.blocks(); block++) {
                if (isOver.getAsBoolean()) {
                    throw new InterruptedIOException("the compaction has ended");
                }
                RecordCursor records = file.read(block, end);
                while (records.next()) {
                    while (next != null && next.first() <= records.offset()) {
                        open.add(new Part(next, new RunDigest()));
                        next = others.hasNext() ? others.next() : null;
                    }
                    if (!open.isEmpty()) {
                        records.check();
                        add(records.stored(), open, covered);
                    }
                }
                if (open.isEmpty() && next == null) {
                    break;
                }
            }
        }
        return covered;
    }

    private static void add(StoredRecord record, List<Part> open, Set<RunName> covered) {
        Iterator<Part> parts = open.iterator();
        while (parts.hasNext()) {
            Part part = parts.next();
            part.records().add(record);
            if (part.run().end() <= record.end()) {
                if (part.records().name(part.run().epoch()).equals(part.run())) {
                    covered.add(part.run());
                }
                parts.remove();
            }
        }
    }
}
