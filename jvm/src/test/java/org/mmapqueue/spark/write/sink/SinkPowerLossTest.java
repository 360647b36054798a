package org.mmapqueue.spark.write.sink;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.TestDisk;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.write.staging.StagedFile;
import org.mmapqueue.spark.write.staging.StagedFileWriter;
import org.mmapqueue.spark.write.staging.StagingArea;
import org.mmapqueue.support.QuickDirectory;

/**
 * A loss of power at any call to the disk, and between epochs, with sync: committed epochs are in the queue, and a
 * repeated epoch leaves no duplicate row. System property power.runs sets the number of runs.
 */
@Tag("long-form")
@Tag("slow")
@Timeout(600)
class SinkPowerLossTest {
    private static final int RUNS = Integer.getInteger("power.runs", 2);
    private static final int EPOCHS = 6;
    private static final int TASKS = 2;
    private static final int ROWS = 5;
    private static final Map<String, String> SMALL = Map.of(
            "segment_size", "4096", "queue_capacity_segments", "8", "max_event_size", "3000", "flush_period", "600000");
    private static final Push SYNC = new Push(Duration.ZERO, true, true);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path root;
    private TestDisk disk;
    private int partitions;
    private SplittableRandom random;
    /** The number of committed epochs; the next one may be in progress. */
    private int done;

    private int checks;

    private static String row(int epoch, int number) {
        return epoch + ":" + number + "x".repeat(number * 37 % 400);
    }

    /** Writes an epoch as Spark does: tasks first, then the driver. */
    private void write(SinkQueue sink, int epoch) throws IOException, InterruptedException {
        List<StagedFile> files = new ArrayList<>();
        for (int task = 0; task < TASKS; task++) {
            for (int partition = 0; partition < partitions; partition++) {
                Path file =
                        sink.staging().make("q").resolve(StagingArea.fileName(epoch, "w", task, 0) + ".p" + partition);
                try (StagedFileWriter writer = new StagedFileWriter(disk.storage(), partition, file, 4096)) {
                    for (int number = task; number < ROWS; number += TASKS) {
                        if (number % partitions == partition) {
                            add(writer, row(epoch, number));
                        }
                    }
                    files.add(writer.finish(sink.syncsStagedFiles(true)));
                }
            }
        }
        sink.commitEpoch("q", epoch, files, SYNC);
    }

    private static void add(StagedFileWriter writer, String row) throws IOException {
        byte[] bytes = row.getBytes(UTF_8);
        writer.reserve(bytes.length);
        System.arraycopy(bytes, 0, writer.array(), writer.position(), bytes.length);
        writer.add(bytes.length);
    }

    /** Repeats the uncommitted epoch on the files that a loss of power leaves at this moment. */
    private synchronized void check() {
        checks++;
        try {
            Path left = disk.lose(
                    root, temp.resolve("left"), random.split(), new int[] {0, 0, 10, 50, 90, 100}[random.nextInt(6)]);
            SinkQueue again = new SinkQueue(left, new SinkConfig(partitions, SMALL));
            try {
                again.recover(SYNC, query -> false);
                again.commitEpoch("q", done, List.of(staged(again, 0), staged(again, 1)), SYNC);
            } finally {
                again.close();
            }
            List<String> expected = new ArrayList<>();
            for (int epoch = 0; epoch <= done; epoch++) {
                for (int number = 0; number < ROWS; number++) {
                    expected.add(row(epoch, number));
                }
            }
            expected.sort(null);
            assertEquals(expected, rows(left), "after " + done + " epochs");
            TestDisk.delete(left);
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    // Rows are distributed in another way than the first time.
    private StagedFile staged(SinkQueue sink, int part) throws IOException {
        int partition = part * (partitions - 1);
        Path file = sink.staging().make("q").resolve(StagingArea.fileName(done, "again", part, 0) + ".p" + partition);
        try (StagedFileWriter writer = new StagedFileWriter(SinkDisk.REAL.storage(), partition, file, 4096)) {
            for (int number = 3 * part; number < (part == 0 ? 3 : ROWS); number++) {
                add(writer, row(done, number));
            }
            return writer.finish(false);
        }
    }

    private static List<String> rows(Path left) {
        List<String> found = new ArrayList<>();
        for (PartitionDirectory each : PartitionDirectory.find(left)) {
            try (MmapQueue queue = MmapQueue.openToRead(each.directory())) {
                for (long offset = queue.firstOffset(); offset < queue.endOffset(); offset++) {
                    found.add(new String(queue.get(offset).data(), UTF_8));
                }
            }
        }
        found.sort(null);
        return found;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void noCommittedEpochIsLostOrDuplicate(int count) throws Exception {
        partitions = count;
        for (int run = 0; run < RUNS; run++) {
            random = new SplittableRandom(run);
            root = temp.resolve("queue" + run);
            disk = new TestDisk();
            done = 0;
            SinkConfig config = new SinkConfig(partitions, SMALL);
            // Stays open, as between the epochs of a query: a close would fsync more than a commit does.
            try (SinkQueue sink = new SinkQueue(root, config, new SinkDisk(disk.storage(), disk::open))) {
                disk.watch((isSync, path) -> {
                    if (chance()) {
                        check();
                    }
                    return false;
                });
                for (int epoch = 0; epoch < EPOCHS; epoch++) {
                    write(sink, epoch);
                    done = epoch + 1;
                    check();
                }
                disk.heal();
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("run " + run, e);
            }
        }
        assertTrue(checks > 2 * RUNS * EPOCHS, "only " + checks + " losses of power");
    }

    private synchronized boolean chance() {
        return random.nextInt(4) == 0;
    }
}
