package org.mmapqueue.bench;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Stream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Reads records of unmapped pages: before each invocation the queue is filled, closed and opened again. With {@code cold}
 * the pages leave the page cache as well. The baseline reads the same bytes of the same files.
 */
@State(Scope.Benchmark)
@Fork(1)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
public class ColdBenchmark {
    private static final int MOST_RECORDS = 200_000;
    private static final int BLOCK = 1 << 20;

    /** Whether the pages are read from the disk, and not from the page cache. */
    @Param({"true"})
    public boolean cold;

    private final ByteBuffer block = ByteBuffer.allocateDirect(BLOCK);
    private int records;

    @Setup(Level.Trial)
    public void wrap(SubjectState subject) {
        subject.wrap();
        records = Math.min(subject.records, MOST_RECORDS);
    }

    @Setup(Level.Invocation)
    public void fillAndReopen(SubjectState subject) throws IOException {
        subject.drain();
        subject.fill(records);
        subject.reopen(cold);
    }

    /** Pops all records. */
    @Benchmark
    public void pop(SubjectState subject, RecordCounters counters) {
        counters.begin();
        subject.take(records);
        counters.end(records);
    }

    /** Reads as many bytes from the segment files by read(2), 1 MiB at a time. */
    @Benchmark
    public void readFiles(SubjectState subject, RecordCounters counters) throws IOException {
        counters.begin();
        long left = (long) records * subject.payload;
        for (Path file : segmentFiles(subject)) {
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
                int count = 1;
                while (left > 0 && count > 0) {
                    block.clear();
                    count = channel.read(block);
                    left -= Math.max(0, count);
                }
            }
        }
        if (left > 0) {
            throw new IllegalStateException(left + " bytes are missing in the files of " + subject.directory());
        }
        counters.end(records);
    }

    private static List<Path> segmentFiles(SubjectState subject) throws IOException {
        try (Stream<Path> paths = Files.walk(subject.directory())) {
            return paths.filter(
                            path -> Files.isRegularFile(path) && path.toFile().length() == subject.segment)
                    .sorted()
                    .toList();
        }
    }
}
