package org.mmapqueue.archive.run;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.util.List;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.errors.CorruptException;

/** Stores the records of consecutive runs as one run. Each record is checked; the memory needed is one block. */
public final class RunMerger {
    private RunMerger() {}

    /** The right to store a merged run. */
    @FunctionalInterface
    public interface Right {
        /** Throws if another process has it now: that one may merge other runs, and the two results could overlap. */
        void check() throws IOException;
    }

    /** The name of the run that consecutive runs make together. */
    public static RunName name(List<RunName> runs) {
        RunName all = runs.get(0);
        for (RunName run : runs.subList(1, runs.size())) {
            if (run.first() != all.end()) {
                throw new ArchiveException(run + " does not follow " + all);
            }
            all = join(all, run);
        }
        return all;
    }

    /** The name of the run that two runs make together, of which one follows the other. */
    public static RunName join(RunName left, RunName right) {
        long min = left.minMicros() == 0
                ? right.minMicros()
                : right.minMicros() == 0 ? left.minMicros() : Math.min(left.minMicros(), right.minMicros());
        return new RunName(
                left.first(),
                right.end(),
                Math.max(left.epoch(), right.epoch()),
                min,
                Math.max(left.maxMicros(), right.maxMicros()),
                left.bytes() + right.bytes(),
                CrcCombination.of(left.crc(), right.crc(), right.bytes()),
                left.lost() + right.lost());
    }

    /**
     * Stores the run of consecutive runs.
     *
     * @param isOver asked before each block; if true, nothing is stored
     * @param right asked when all is written, before the run gets its name; if it throws, nothing is stored
     * @throws InterruptedIOException if {@code isOver} was true
     * @throws CorruptException if one of the runs is damaged, or has another name than its records make
     */
    public static RunName merge(
            ArchiveFiles files,
            int partition,
            UUID queue,
            List<RunName> runs,
            ArchiveCodec codec,
            BooleanSupplier isOver,
            Right right)
            throws IOException {
        RunName all = name(runs);
        files.create(all.file(partition), out -> {
            write(files, partition, queue, runs, all, codec, isOver, out);
            right.check();
        });
        return all;
    }

    private static void write(
            ArchiveFiles files,
            int partition,
            UUID queue,
            List<RunName> runs,
            RunName all,
            ArchiveCodec codec,
            BooleanSupplier isOver,
            OutputStream out)
            throws IOException {
        RunLayout.Header header = new RunLayout.Header(codec, queue, all.first(), all.end());
        out.write(header.bytes());
        BlockWriter blocks = new BlockWriter(out, codec);
        for (RunName run : runs) {
            read(files, partition, queue, run, isOver, blocks::add);
        }
        RunName written = blocks.complete(all.epoch());
        if (!written.equals(all)) {
            checkNames(files, partition, queue, runs, isOver);
            throw new ArchiveException("the records of " + runs.size() + " runs make " + written + "; expected " + all);
        }
        blocks.writeEnd(out, header);
        checkNotOver(isOver);
    }

    // Throws for a run with a name that is not that of its records.
    private static void checkNames(
            ArchiveFiles files, int partition, UUID queue, List<RunName> runs, BooleanSupplier isOver)
            throws IOException {
        for (RunName run : runs) {
            RunDigest digest = new RunDigest();
            read(files, partition, queue, run, isOver, digest::add);
            RunName found = digest.name(run.epoch());
            if (!found.equals(run)) {
                throw new CorruptException(
                        files.uri() + run.file(partition), 0, "the name of a run with these records is " + found);
            }
        }
    }

    private interface RecordTaker {
        void take(StoredRecord record) throws IOException;
    }

    private static void read(
            ArchiveFiles files, int partition, UUID queue, RunName run, BooleanSupplier isOver, RecordTaker taker)
            throws IOException {
        try (RunFile file = RunFile.open(files, partition, run, queue)) {
            for (int block = 0; block < file.blocks(); block++) {
                checkNotOver(isOver);
                RecordCursor records = file.read(block, run.end());
                while (records.next()) {
                    records.check();
                    taker.take(records.stored());
                }
            }
        }
    }

    private static void checkNotOver(BooleanSupplier isOver) throws InterruptedIOException {
        if (isOver.getAsBoolean()) {
            throw new InterruptedIOException("the compaction has ended");
        }
    }
}
