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
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/**
 * Reads records whose pages are not in memory: before each invocation the queue is filled, closed, put out of the page
 * cache and opened anew. With {@code cold} off it stays in the page cache: the pages are there, the mappings are not.
 * What the disk gives is shown by reading the same bytes of the same files.
 */
public class ColdBenchmark extends Course {
    private static final int MOST_RECORDS = 200_000;
    private static final int BLOCK = 1 << 20;

    @Param({"true"})
    public boolean cold;

    private final ByteBuffer block = ByteBuffer.allocateDirect(BLOCK);

    @Override
    void opened() {
        records = Math.min(records, MOST_RECORDS);
    }

    @Setup(Level.Invocation)
    public void fillAndForget() throws IOException {
        drain();
        fill(records);
        int full = inside;
        subject.close();
        if (cold) {
            PageCache.forget(directory());
        }
        reopen();
        inside = full;
    }

    /** Pops all. */
    @Benchmark
    public void pop(Tally tally) {
        tally.begin();
        take(records);
        tally.end(records);
    }

    /** Reads as many bytes from the segment files by read(2), a mebibyte at a time. */
    @Benchmark
    public void readFiles(Tally tally) throws IOException {
        tally.begin();
        long left = (long) records * payload;
        for (Path file : segmentFiles()) {
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
            throw new IllegalStateException(left + " bytes are missing in the files of " + directory());
        }
        tally.end(records);
    }

    private List<Path> segmentFiles() throws IOException {
        try (Stream<Path> paths = Files.walk(directory())) {
            return paths.filter(
                            path -> Files.isRegularFile(path) && path.toFile().length() == segment)
                    .sorted()
                    .toList();
        }
    }
}
