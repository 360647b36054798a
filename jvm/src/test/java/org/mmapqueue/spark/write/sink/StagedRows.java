package org.mmapqueue.spark.write.sink;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.write.staging.StagedFile;
import org.mmapqueue.spark.write.staging.StagedFileWriter;
import org.mmapqueue.spark.write.staging.StagingArea;

/** A sink, and files of staged rows. */
abstract class StagedRows {
    static final Map<String, String> SMALL =
            Map.of("segment_size", "4096", "queue_capacity_segments", "8", "max_event_size", "8000");
    static final Push PUSH = new Push(Duration.ZERO, false, true);

    @TempDir
    Path directory;

    Path root;
    SinkQueue sink;
    int staged;

    void open(int partitions) {
        root = directory.resolve("queue");
        sink = new SinkQueue(root, new SinkConfig(partitions, SMALL));
    }

    /** Reopens the queue, as a new process does after a kill. */
    void reopen() throws IOException, InterruptedException {
        sink.close();
        sink = new SinkQueue(root, new SinkConfig(0, Map.of()));
        sink.recover(PUSH, query -> false);
    }

    @AfterEach
    void close() {
        if (sink != null) {
            sink.close();
        }
    }

    /** Makes the queue one that has stored the epochs before an epoch. */
    void storedBefore(String query, long epoch) throws IOException, InterruptedException {
        sink.commitEpoch(query, epoch - 1, List.of(), new Push(Duration.ZERO, false, false));
    }

    StagedFile staged(String query, long epoch, int partition, String... rows) throws IOException {
        Path own = sink.staging().make(query);
        Path file = own.resolve(StagingArea.fileName(epoch, "w" + staged, 0, staged++) + ".p" + partition);
        try (StagedFileWriter writer = new StagedFileWriter(DiskStorage.INSTANCE, partition, file, 4096)) {
            for (String row : rows) {
                byte[] bytes = row.getBytes(UTF_8);
                writer.reserve(bytes.length);
                System.arraycopy(bytes, 0, writer.array(), writer.position(), bytes.length);
                writer.add(bytes.length);
            }
            return writer.finish(false);
        }
    }

    List<String> rows(int partition) {
        List<String> found = new ArrayList<>();
        Path path = PartitionDirectory.find(root).get(partition).directory();
        try (MmapQueue queue = MmapQueue.openToRead(path)) {
            long first = queue.firstOffset();
            long end = queue.endOffset();
            for (long offset = first; offset < end; offset++) {
                found.add(new String(queue.get(offset).data(), UTF_8));
            }
        }
        return found;
    }

    List<String> left(String query) throws IOException {
        TreeSet<String> names = new TreeSet<>();
        if (Files.exists(sink.staging().of(query))) {
            try (DirectoryStream<Path> files =
                    Files.newDirectoryStream(sink.staging().of(query))) {
                files.forEach(file -> names.add(file.getFileName().toString()));
            }
        }
        return List.copyOf(names);
    }

    QueueConfig firstPartition() {
        return QueueConfig.builder(PartitionDirectory.of(root, 0).directory()).build();
    }
}
