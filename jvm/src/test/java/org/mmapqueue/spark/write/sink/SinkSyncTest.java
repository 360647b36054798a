package org.mmapqueue.spark.write.sink;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.TestDisk;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.write.staging.Manifest;
import org.mmapqueue.spark.write.staging.StagedFile;
import org.mmapqueue.spark.write.staging.StagedFileWriter;
import org.mmapqueue.spark.write.staging.StagedRecords;
import org.mmapqueue.spark.write.staging.StagingArea;
import org.mmapqueue.support.QuickDirectory;

/** An epoch that counts with sync survives a loss of power, also if a push without sync has stored some of its rows. */
class SinkSyncTest {
    private static final Map<String, String> SMALL = Map.of(
            "segment_size", "4096", "queue_capacity_segments", "8", "max_event_size", "3000", "flush_period", "600000");
    private static final Push SYNC = new Push(Duration.ZERO, true, true);
    private static final Push WITHOUT_SYNC = new Push(Duration.ZERO, false, true);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final TestDisk disk = new TestDisk();
    private Path root;
    private SinkQueue sink;
    private int staged;

    @BeforeEach
    void open() {
        root = temp.resolve("queue");
        sink = new SinkQueue(root, new SinkConfig(2, SMALL), new SinkDisk(disk.storage(), disk::open));
    }

    @AfterEach
    void close() {
        sink.close();
    }

    private StagedFile staged(int partition, String row) throws IOException {
        Path file = sink.staging().make("q").resolve(StagingArea.fileName(0, "w", staged++, 0) + ".p" + partition);
        try (StagedFileWriter writer = new StagedFileWriter(disk.storage(), partition, file, 4096)) {
            byte[] bytes = row.getBytes(UTF_8);
            writer.reserve(bytes.length);
            System.arraycopy(bytes, 0, writer.array(), writer.position(), bytes.length);
            writer.add(bytes.length);
            return writer.finish(true);
        }
    }

    /** The rows of all partitions after a loss of power at this moment. */
    private List<String> rowsAfterLossOfPower() throws IOException, InterruptedException {
        disk.storage().syncDirectory(sink.staging().of("q")); // the kernel may write deletions first
        Path left = disk.lose(root, temp.resolve("left"), new SplittableRandom(1), 0);
        SinkQueue again = new SinkQueue(left, new SinkConfig(2, SMALL));
        try {
            again.recover(SYNC, query -> false);
        } finally {
            again.close();
        }
        List<String> rows = new ArrayList<>();
        for (PartitionDirectory each : PartitionDirectory.find(left)) {
            try (MmapQueue queue = MmapQueue.openToRead(each.directory())) {
                for (long offset = queue.firstOffset(); offset < queue.endOffset(); offset++) {
                    rows.add(new String(queue.get(offset).data(), UTF_8));
                }
            }
        }
        return rows;
    }

    @Test
    void theRestOfAnEpochIsDurableWhicheverQueryPushesIt() throws Exception {
        Manifest manifest = Manifest.of("spark-q", 0, List.of(staged(0, "a"), staged(1, "b")));
        Path directory = sink.staging().of("q");
        manifest.write(disk.storage(), directory, true);
        QueueConfig first =
                QueueConfig.builder(PartitionDirectory.of(root, 0).directory()).build();
        try (MmapQueue queue = disk.open(first);
                StagedRecords records = new StagedRecords(
                        disk.storage(), directory, manifest.byPartition().get(0))) {
            queue.pushOnce("spark-q", 0, manifest.digest(), records.records(), Duration.ZERO, true);
        }
        sink.commitEpoch("other", 0, List.of(), WITHOUT_SYNC);
        assertEquals(List.of("a", "b"), rowsAfterLossOfPower());
    }

    @Test
    void directoriesOfAKilledProcessAreDurableBeforeAPush() throws Exception {
        Path area = root.resolve(StagingArea.NAME);
        Files.createDirectories(area.resolve("q")); // and killed before the fsyncs
        List<StagedFile> files = List.of(staged(0, "a"), staged(1, "b"));
        List<Path> calls = Collections.synchronizedList(new ArrayList<>());
        disk.watch((isSync, path) -> {
            calls.add(path);
            return false;
        });
        sink.commitEpoch("q", 0, files, SYNC);
        disk.heal();
        int push = 0;
        while (!root.relativize(calls.get(push)).startsWith("p=0")
                && !root.relativize(calls.get(push)).startsWith("p=1")) {
            push++;
        }
        assertTrue(calls.subList(0, push).containsAll(List.of(root, area)), calls.toString());
    }

    @Test
    void aRepeatedEpochIsDurableThoughItWasPushedWithoutSync() throws Exception {
        sink.commitEpoch("q", 0, List.of(staged(0, "a"), staged(1, "b")), WITHOUT_SYNC);
        assertFalse(sink.commitEpoch("q", 0, List.of(staged(0, "a"), staged(1, "b")), SYNC));
        assertEquals(List.of("a", "b"), rowsAfterLossOfPower());
    }
}
