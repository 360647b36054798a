package org.mmapqueue.spark.write.sink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.concurrent.Signal;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.write.staging.StagedFile;
import org.mmapqueue.spark.write.staging.StagedFileWriter;
import org.mmapqueue.spark.write.staging.StagingArea;
import org.mmapqueue.support.Waiting;

/** Figures of the driver's part of a write. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PushFiguresTest {
    private static final Map<String, String> SMALL =
            Map.of("segment_size", "4096", "queue_capacity_segments", "8", "max_event_size", "8000");
    private static final int ROW = 1000;
    /** Nearly the capacity of a partition, in rows. */
    private static final int MOST = 24;
    /** Longer than a clock tick, and than the rounding of the figures. */
    private static final long WAITED_MILLIS = 20;

    @TempDir
    private Path directory;

    private Path root;
    private SinkQueue sink;

    @BeforeEach
    void open() {
        root = directory.resolve("queue");
    }

    @AfterEach
    void close() {
        sink.close();
    }

    private void open(int partitions) {
        sink = new SinkQueue(root, new SinkConfig(partitions, SMALL));
    }

    private StagedFile staged(String query, long epoch, int partition, int rows) throws IOException {
        Path own = sink.staging().make(query);
        Path file = own.resolve(StagingArea.fileName(epoch, "w", 0, 0) + ".p" + partition);
        try (StagedFileWriter writer = new StagedFileWriter(DiskStorage.INSTANCE, partition, file, 4096)) {
            for (int i = 0; i < rows; i++) {
                writer.reserve(ROW);
                writer.add(ROW);
            }
            return writer.finish(false);
        }
    }

    private static Push patient() {
        return new Push(Duration.ofMinutes(1), false, true);
    }

    /** A commit in a thread. */
    private final class Commit extends Thread {
        private final String query;
        private final List<StagedFile> files;
        private final Push push = patient();
        private final AtomicReference<Exception> failure = new AtomicReference<>();

        Commit(String query, List<StagedFile> files) {
            this.query = query;
            this.files = files;
        }

        @Override
        public void run() {
            try {
                sink.commitEpoch(query, 0, files, push);
            } catch (IOException | InterruptedException | RuntimeException e) {
                failure.set(e);
            }
        }

        void awaitWait(Class<?> waiting, String called) {
            Waiting.until("the commit waits or ends", () -> !isAlive() || Waiting.isIn(this, waiting, called));
            assertTrue(isAlive(), () -> "the commit did not wait: " + failure.get());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void waitsForRoomAndForOtherCommitsAreMeasured(int partitions) throws Exception {
        open(partitions);
        for (int id = 0; id < partitions; id++) {
            sink.commitEpoch("first" + id, 0, List.of(staged("first" + id, 0, id, MOST)), patient());
        }
        List<StagedFile> many = partitions == 1
                ? List.of(staged("q", 0, 0, MOST))
                : List.of(staged("q", 0, 0, MOST), staged("q", 0, 1, MOST));
        Commit forRoom = new Commit("q", many);
        Commit forLock = new Commit("other", List.of());
        forRoom.start();
        if (partitions == 1) {
            forRoom.awaitWait(Signal.class, "awaitNanos");
        } else {
            forRoom.awaitWait(Room.class, "sleep");
        }
        forLock.start();
        forLock.awaitWait(SinkQueue.class, "lockInterruptibly");
        TimeUnit.MILLISECONDS.sleep(2 * WAITED_MILLIS);
        for (PartitionDirectory each : PartitionDirectory.find(root)) {
            try (MmapQueue queue = MmapQueue.openToRead(each.directory())) {
                queue.consumer().seek(StartAt.LATEST);
            }
        }
        forRoom.join();
        forLock.join();
        assertEquals(null, forRoom.failure.get());
        assertEquals(null, forLock.failure.get());
        PushFigures figures = forRoom.push.figures();
        assertTrue(
                figures.roomWaitMillis() >= WAITED_MILLIS,
                () -> figures.figures().toString());
        assertTrue(figures.commitMillis() >= figures.roomWaitMillis() / partitions);
        assertTrue(
                forLock.push.figures().lockWaitMillis() >= WAITED_MILLIS,
                () -> forLock.push.figures().figures().toString());
        assertEquals(0, forLock.push.figures().roomWaitMillis());
        assertEquals("0.0", forRoom.push.figures().figures().get("lock_wait_seconds"));
    }

    @Test
    void segmentsThatReceivedRowsAreCounted() throws Exception {
        open(2);
        Push push = patient();
        sink.commitEpoch("q", 0, List.of(staged("q", 0, 0, 9), staged("q", 0, 1, 1)), push);
        // 9 rows of 1016 bytes need three segments of 4096 bytes; the row of the other partition needs one.
        assertEquals("4", push.figures().figures().get("segments_written"));
        assertEquals("10", push.figures().figures().get("records_written"));
        long bytes = Long.parseLong(push.figures().figures().get("bytes_written"));
        assertTrue(bytes > 10 * ROW && bytes < 11 * ROW, () -> bytes + " bytes");
        Push again = patient();
        sink.commitEpoch("q", 0, List.of(staged("q", 0, 0, 9), staged("q", 0, 1, 1)), again);
        assertEquals("0", again.figures().figures().get("segments_written"));
        assertEquals("0", again.figures().figures().get("records_written"));
        assertEquals("0", again.figures().figures().get("bytes_written"));
    }

    @Test
    void rowsThatFitAtOnceDoNotWait() throws Exception {
        open(2);
        PushFigures figures = new PushFigures(() -> null, each -> {});
        sink.commitEpoch(
                "q",
                0,
                List.of(staged("q", 0, 0, 9), staged("q", 0, 1, 1)),
                patient().counting(figures));
        assertEquals("0.0", figures.figures().get("room_wait_seconds"));
        assertEquals(0, figures.roomWaitBeforeMillis());
        PushFigures waited = new PushFigures(() -> null, each -> {});
        waited.waitedForRoom(TimeUnit.MILLISECONDS.toNanos(7));
        assertEquals(7, new PushFigures(() -> waited, each -> {}).roomWaitBeforeMillis());
    }
}
