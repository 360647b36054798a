package org.mmapqueue.spark.write.sink;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
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

/** The disk fails while an epoch is staged and pushed: after a repetition each row is in the queue once. */
@Timeout(300)
class SinkFaultTest {
    private static final Map<String, String> SMALL = Map.of(
            "segment_size", "4096", "queue_capacity_segments", "8", "max_event_size", "8000", "flush_period", "600000");
    private static final Push SYNC = new Push(Duration.ZERO, true, true);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path root;
    private TestDisk disk;
    private SinkQueue sink;
    private int staged;
    private int opened;

    @BeforeEach
    void open() {
        open(2);
    }

    private void open(int partitions) {
        root = temp.resolve("queue" + opened++);
        disk = new TestDisk();
        sink = new SinkQueue(root, new SinkConfig(partitions, SMALL), new SinkDisk(disk.storage(), disk::open));
    }

    /** Reopens the queue on an intact disk, as a new process does. */
    private void reopen() throws IOException, InterruptedException {
        disk.heal();
        close();
        sink = new SinkQueue(root, new SinkConfig(0, Map.of()));
        sink.recover(SYNC, query -> false);
    }

    @AfterEach
    void close() {
        try {
            sink.close();
        } catch (RuntimeException e) {
            // a close after a fault may report it again
        }
    }

    private StagedFile staged(long epoch, int partition, String... rows) throws IOException {
        Path own = sink.staging().make("q");
        Path file = own.resolve(StagingArea.fileName(epoch, "w" + staged, 0, staged++) + ".p" + partition);
        try (StagedFileWriter writer = new StagedFileWriter(disk.storage(), partition, file, 4096)) {
            for (String row : rows) {
                byte[] bytes = row.getBytes(UTF_8);
                writer.reserve(bytes.length);
                System.arraycopy(bytes, 0, writer.array(), writer.position(), bytes.length);
                writer.add(bytes.length);
            }
            return writer.finish(true);
        }
    }

    private List<String> rows(int partition) {
        List<String> found = new ArrayList<>();
        try (MmapQueue queue = MmapQueue.openToRead(
                PartitionDirectory.find(root).get(partition).directory())) {
            for (long offset = queue.firstOffset(); offset < queue.endOffset(); offset++) {
                found.add(new String(queue.get(offset).data(), UTF_8));
            }
        }
        return found;
    }

    private Path manifest() {
        return root.resolve(".staging/q/0.manifest");
    }

    @Test
    void theManifestIsKeptWhenASecondPushFails() throws Exception {
        List<StagedFile> files = List.of(staged(0, 0, "a"), staged(0, 1, "b", "c"));
        disk.watch((isSync, path) -> isSync && path.startsWith(root.resolve("p=1/producers")));
        assertThrows(RuntimeException.class, () -> sink.commitEpoch("q", 0, files, SYNC));
        assertEquals(List.of("a"), rows(0));
        assertTrue(Files.exists(manifest()), "only the manifest names the rest of the epoch");
        reopen();
        assertFalse(Files.exists(manifest()));
        assertEquals(List.of("b", "c"), rows(1));
        assertFalse(sink.commitEpoch("q", 0, List.of(staged(0, 1, "a"), staged(0, 0, "b", "c")), SYNC));
        assertEquals(List.of("a"), rows(0));
    }

    @Test
    void theManifestIsDeletedWhenNoPushSucceeded() throws Exception {
        List<StagedFile> files = List.of(staged(0, 0, "a"), staged(0, 1, "b"));
        disk.watch((isSync, path) -> isSync && path.getParent().endsWith("producers"));
        assertThrows(RuntimeException.class, () -> sink.commitEpoch("q", 0, files, SYNC));
        assertFalse(Files.exists(manifest()));
        reopen();
        assertTrue(sink.commitEpoch("q", 0, List.of(staged(0, 0, "c")), SYNC));
        assertEquals(List.of("c"), rows(0));
        assertEquals(List.of(), rows(1));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void noRowIsLostOrDuplicateAfterAFailureOfAnyCall(int partitions) throws Exception {
        int calls = 0;
        for (int number = 0; number <= calls; number++) {
            close();
            open(partitions);
            sink.commitEpoch("q", 0, List.of(staged(0, 0, "x")), SYNC);
            AtomicInteger count = new AtomicInteger();
            int failing = number;
            disk.watch((isSync, path) -> count.getAndIncrement() == failing);
            boolean isPushed = false;
            try {
                isPushed =
                        sink.commitEpoch("q", 1, List.of(staged(1, 0, "a"), staged(1, partitions - 1, "b", "c")), SYNC);
            } catch (IOException | RuntimeException e) {
                assertTrue(count.get() > failing, e::toString);
            }
            calls = Math.max(calls, count.get());
            assertTrue(isPushed || count.get() > failing);
            reopen();
            sink.commitEpoch("q", 1, List.of(staged(1, partitions - 1, "c", "a"), staged(1, 0, "b")), SYNC);
            List<String> found = new ArrayList<>(rows(0));
            if (partitions > 1) {
                found.addAll(rows(1));
            }
            found.sort(null);
            assertEquals(List.of("a", "b", "c", "x"), found, "call " + number + " of " + calls + " failed");
        }
        assertTrue(calls > 10, calls + " calls");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aBatchThatIsInTheQueueHasNotFailed(int partitions) throws Exception {
        close();
        open(partitions);
        List<StagedFile> files = List.of(staged(0, 0, "a"), staged(0, partitions - 1, "b"));
        AtomicInteger failed = new AtomicInteger();
        disk.watch((isSync, path) -> {
            boolean fails = !isSync && path.startsWith(root.resolve(".staging")) && isPushed(partitions);
            failed.addAndGet(fails ? 1 : 0);
            return fails;
        });
        sink.commitBatch("q", files, SYNC);
        assertTrue(failed.get() > 0, "a staged file was deleted");
        reopen();
        assertEquals(partitions == 1 ? List.of("a", "b") : List.of("a"), rows(0));
        assertFalse(Files.exists(sink.staging().of("q")), "the next write deletes what is left");
    }

    private boolean isPushed(int partitions) {
        for (int i = 0; i < partitions; i++) {
            if (rows(i).isEmpty()) {
                return false;
            }
        }
        return true;
    }
}
