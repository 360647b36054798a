package org.mmapqueue.spark.write.sink;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.TooLargeException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.write.staging.Manifest;
import org.mmapqueue.spark.write.staging.RowDigest;
import org.mmapqueue.spark.write.staging.StagedFile;
import org.mmapqueue.spark.write.staging.StagedRecords;
import org.mmapqueue.support.Appender;
import org.mmapqueue.support.Waiting;
import org.mmapqueue.write.RoomWait;

/** The driver pushes staged rows: each epoch is complete and without duplicates, wherever the previous attempt stopped. */
class SinkQueueTest extends StagedRows {
    private static final Push SYNC = new Push(Duration.ZERO, true, true);

    @Test
    void aRepeatedEpochIsSkipped() throws Exception {
        open(0);
        assertTrue(sink.commitEpoch("q", 0, List.of(staged("q", 0, 0, "a", "b"), staged("q", 0, 0, "c")), PUSH));
        assertFalse(sink.commitEpoch("q", 0, List.of(staged("q", 0, 0, "a"), staged("q", 0, 0, "b", "c")), PUSH));
        assertTrue(sink.commitEpoch("q", 1, List.of(), PUSH));
        assertTrue(sink.commitEpoch("q", 2, List.of(staged("q", 2, 0, "d")), SYNC));
        reopen();
        assertFalse(sink.commitEpoch("q", 2, List.of(staged("q", 2, 0, "d")), PUSH));
        assertTrue(sink.commitEpoch("other", 0, List.of(staged("other", 0, 0, "e")), PUSH));
        assertEquals(List.of("a", "b", "c", "d", "e"), rows(0));
        assertEquals(List.of(), left("q"));
        assertEquals(List.of(), left("other"));
    }

    /** The sink's error for a repeated epoch. */
    private String refused(long epoch, StagedFile... files) {
        return assertThrows(IllegalStateException.class, () -> sink.commitEpoch("q", epoch, List.of(files), PUSH))
                .getMessage();
    }

    private static String digest(long count, String... rows) {
        RowDigest digest = new RowDigest();
        for (String row : rows) {
            digest.add(row.getBytes(UTF_8), 0, row.length());
        }
        return String.format("%d rows with the checksum %016x", count, digest.sum());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aRepeatedEpochWithOtherRowsIsAnError(int partitions) throws Exception {
        open(partitions);
        int last = partitions - 1;
        storedBefore("q", 6);
        sink.commitEpoch("q", 6, List.of(staged("q", 6, 0, "x")), PUSH);
        sink.commitEpoch("q", 7, List.of(staged("q", 7, 0, "a"), staged("q", 7, last, "b")), PUSH);
        for (int opened = 0; opened < 2; opened++) {
            String more = refused(7, staged("q", 7, 0, "a", "b", "c"));
            assertTrue(
                    more.startsWith("epoch 7 of query q has been pushed to " + root + " before and is repeated"
                            + " with other rows: it holds " + digest(3, "a", "b", "c") + " now; it held "
                            + digest(2, "a", "b")
                            + " when it was pushed."),
                    more);
            assertTrue(more.contains("forget producer spark-q of the queue"), more);
            assertTrue(refused(7, staged("q", 7, 0, "a", "c")).contains("it holds " + digest(2, "a", "c")));
            assertTrue(refused(7).contains("it holds " + digest(0)));
            assertFalse(sink.commitEpoch("q", 7, List.of(staged("q", 7, last, "b", "a")), PUSH));
            assertTrue(refused(6, staged("q", 6, 0, "y")).contains("it held " + digest(1, "x")));
            assertFalse(sink.commitEpoch("q", 6, List.of(staged("q", 6, 0, "x")), PUSH));
            assertFalse(
                    sink.commitEpoch("q", 7, List.of(staged("q", 7, 0, "z")), new Push(Duration.ZERO, false, false)),
                    "failOnDataLoss = false drops them");
            reopen();
        }
        assertEquals(partitions == 1 ? List.of("x", "a", "b") : List.of("x", "a"), rows(0));
        assertTrue(sink.commitEpoch("q", 8, List.of(staged("q", 8, 0, "c")), PUSH));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aMissingEpochIsAnError(int partitions) throws Exception {
        open(partitions);
        String none = refused(3, staged("q", 3, 0, "a"));
        assertTrue(
                none.startsWith(
                        "epoch 3 of query q cannot follow in " + root + ": the queue has stored no epoch of this"
                                + " query, so epoch 0 was expected. Epochs 0..2"
                                + " are in the checkpoint and not in the queue"),
                none);
        assertTrue(none.contains("with option failOnDataLoss = false"), none);
        assertTrue(sink.commitEpoch("q", 0, List.of(staged("q", 0, partitions - 1, "b")), PUSH));
        assertTrue(sink.commitEpoch("q", 1, List.of(), SYNC), "an epoch without rows is stored");
        reopen();
        assertFalse(sink.commitEpoch("q", 1, List.of(), PUSH));
        String gap = refused(3);
        assertTrue(gap.contains("the last epoch there is 1, so epoch 2 was expected. Epochs 2..2 are"), gap);
        assertTrue(sink.commitEpoch("q", 2, List.of(staged("q", 2, 0, "c")), PUSH));
        Push lenient = new Push(Duration.ZERO, false, false);
        assertTrue(sink.commitEpoch("q", 7, List.of(staged("q", 7, 0, "d")), lenient));
        assertTrue(sink.commitEpoch("q", 8, List.of(staged("q", 8, 0, "e")), PUSH));
        assertEquals(partitions == 1 ? List.of("b", "c", "d", "e") : List.of("c", "d", "e"), rows(0));
    }

    /** A full ring takes the sequence of an epoch without rows. */
    @Test
    void anEpochWithoutRowsNeedsNoRoom() throws Exception {
        open(0);
        sink.commitEpoch("q", 0, List.of(staged("q", 0, 0, many(24))), PUSH);
        assertThrows(FullException.class, () -> sink.commitEpoch("q", 1, List.of(staged("q", 1, 0, many(24))), PUSH));
        assertTrue(sink.commitEpoch("q", 1, List.of(), SYNC));
        assertFalse(sink.commitEpoch("q", 1, List.of(), SYNC));
    }

    @Test
    void aRepeatedEpochWithoutAStoredDigestIsAnError() throws Exception {
        open(0);
        for (int epoch = 0; epoch < 9; epoch++) {
            sink.commitEpoch("q", epoch, List.of(staged("q", epoch, 0, "a" + epoch)), PUSH);
        }
        String lost = refused(2, staged("q", 2, 0, "a2"));
        assertTrue(lost.contains("the last epoch of the queue is 8, and the queue has no checksum of this one"), lost);
        assertEquals(9, rows(0).size());
    }

    @Test
    void aRepeatedEpochThatWasPushedWithoutADigestIsSkipped() throws Exception {
        open(1);
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(root).build())) {
            queue.pushOnce("spark-q", 3, List.of("a".getBytes(UTF_8)), Duration.ZERO);
        }
        assertFalse(sink.commitEpoch("q", 3, List.of(staged("q", 3, 0, "b")), PUSH));
        assertEquals(List.of("a"), rows(0));
    }

    @Test
    void eachPartitionReceivesItsRows() throws Exception {
        open(3);
        for (Push push : List.of(PUSH, SYNC)) {
            long epoch = push.sync() ? 1 : 0;
            assertTrue(sink.commitEpoch(
                    "q",
                    epoch,
                    List.of(
                            staged("q", epoch, 0, "a" + epoch),
                            staged("q", epoch, 2, "c" + epoch),
                            staged("q", epoch, 0, "b" + epoch)),
                    push));
            assertFalse(sink.commitEpoch(
                    "q",
                    epoch,
                    List.of(staged("q", epoch, 1, "b" + epoch, "c" + epoch), staged("q", epoch, 2, "a" + epoch)),
                    push));
        }
        assertEquals(List.of("a0", "b0", "a1", "b1"), rows(0));
        assertEquals(List.of(), rows(1));
        assertEquals(List.of("c0", "c1"), rows(2));
        assertEquals(List.of(), left("q"));
    }

    private static String[] many(int count) {
        return IntStream.range(0, count).mapToObj(i -> "x".repeat(984)).toArray(String[]::new);
    }

    @Test
    void aFullPartitionFailsTheEpochBeforeAnyPush() throws Exception {
        open(2);
        sink.commitEpoch("q", 0, List.of(staged("q", 0, 1, many(20))), PUSH);
        FullException error = assertThrows(
                FullException.class,
                () -> sink.commitEpoch("q", 1, List.of(staged("q", 1, 0, "a"), staged("q", 1, 1, many(20))), PUSH));
        String path = root.resolve("p=1").toString();
        assertTrue(
                error.getMessage().startsWith("epoch 1 of query q takes 20000 bytes of " + path + ", of which "),
                error.getMessage());
        assertTrue(
                error.getMessage()
                        .endsWith("of 28224 are free, and there was no room within pushTimeout = 0ms;"
                                + " it has no consumer, so no record was acked"),
                error.getMessage());
        assertEquals(List.of(), rows(0));
        try (MmapQueue second =
                MmapQueue.open(QueueConfig.builder(root.resolve("p=1")).build())) {
            second.consumer().popBatch(100, 1 << 20, Duration.ZERO);
            second.consumer().ackUpTo(19);
        }
        assertTrue(sink.commitEpoch("q", 1, List.of(staged("q", 1, 0, "a"), staged("q", 1, 1, many(20))), PUSH));
        assertEquals(List.of("a"), rows(0));
        assertEquals(List.of(), left("q"));
    }

    /** {@link RoomWait} is tested apart from the sink, and so is a push to one partition. */
    @Test
    @Tag("slow")
    void aLongWaitForRoomInOneOfThePartitionsIsAWarning() throws Exception {
        open(2);
        sink.commitEpoch("q", 0, List.of(staged("q", 0, 1, many(20))), PUSH);
        List<StagedFile> files = List.of(staged("q", 1, 0, "a"), staged("q", 1, 1, many(20)));
        List<String> warnings = Collections.synchronizedList(new ArrayList<>());
        Appender appender = Appender.of(RoomWait.class, warnings::add);
        try (appender) {
            FutureTask<Boolean> commit = new FutureTask<>(
                    () -> sink.commitEpoch("q", 1, files, new Push(Duration.ofMinutes(2), false, true)));
            new Thread(commit).start();
            Waiting.until("the commit ends or is reported", () -> commit.isDone() || !warnings.isEmpty());
            assertEquals(
                    List.of(RoomWait.warning(5, root.resolve("p=1"), "it has no consumer, so no record was acked")),
                    warnings);
            try (MmapQueue second =
                    MmapQueue.open(QueueConfig.builder(root.resolve("p=1")).build())) {
                second.consumer().popBatch(100, 1 << 20, Duration.ZERO);
                second.consumer().ackUpTo(19);
            }
            assertTrue(commit.get());
            assertEquals(1, warnings.size());
        }
    }

    @Test
    void aFullQueueOfOnePartitionIsReported() throws Exception {
        open(1);
        sink.commitEpoch("q", 0, List.of(staged("q", 0, 0, many(20))), PUSH);
        FullException error = assertThrows(
                FullException.class, () -> sink.commitEpoch("q", 1, List.of(staged("q", 1, 0, many(20))), PUSH));
        assertTrue(
                error.getMessage().startsWith("epoch 1 of query q takes 20000 bytes of " + root), error.getMessage());
        assertEquals(20, rows(0).size());
    }

    @Test
    void rowsThatExceedTheRingAreAnError() throws Exception {
        for (int partitions : new int[] {1, 2}) {
            root = directory.resolve("ring" + partitions);
            sink = new SinkQueue(root, new SinkConfig(partitions, SMALL));
            int last = partitions - 1;
            TooLargeException error = assertThrows(
                    TooLargeException.class,
                    () -> sink.commitEpoch(
                            "q", 0, List.of(staged("q", 0, 0, "a"), staged("q", 0, last, many(40))), PUSH));
            assertTrue(error.getMessage().startsWith("epoch 0 of query q takes 40"), error.getMessage());
            assertTrue(
                    error.getMessage()
                            .contains("its ring holds 28224 (8 segments of 4096 bytes): write less at"
                                    + " once (for streams by a limit of the source such as maxOffsetsPerTrigger"),
                    error.getMessage());
            assertEquals(List.of(), rows(0));
            sink.close();
        }
    }

    @Test
    void batchesAreAllOrNothing() throws Exception {
        open(2);
        sink.commitBatch("one", List.of(staged("one", 0, 0, "a"), staged("one", 0, 1, "b")), PUSH);
        sink.commitBatch("two", List.of(staged("two", 0, 1, "c")), SYNC);
        sink.commitBatch("three", List.of(), PUSH);
        // A batch that was killed between two pushes, and the next one.
        List<StagedFile> half = List.of(staged("four", 0, 0, "d"), staged("four", 0, 1, "e"));
        Manifest manifest = Manifest.of("spark-batch", 2, half);
        manifest.write(DiskStorage.INSTANCE, sink.staging().of("four"), false);
        try (MmapQueue first = MmapQueue.open(firstPartition());
                StagedRecords staged =
                        new StagedRecords(DiskStorage.INSTANCE, sink.staging().of("four"), half.subList(0, 1))) {
            first.pushOnce("spark-batch", 2, staged.records(), Duration.ZERO, false);
        }
        sink.commitBatch("five", List.of(staged("five", 0, 0, "f"), staged("five", 0, 1, "g")), PUSH);
        assertEquals(List.of("a", "d", "f"), rows(0));
        assertEquals(List.of("b", "c", "e", "g"), rows(1));
        assertFalse(Files.exists(sink.staging().of("one")));
    }

    @Test
    void partitionsAreAddedAndNeverRemoved() throws Exception {
        open(2);
        sink.commitEpoch("q", 0, List.of(staged("q", 0, 0, "a"), staged("q", 0, 1, "b")), PUSH);
        sink.adopt(new SinkConfig(4, Map.of()));
        assertEquals(4, sink.count());
        assertTrue(sink.commitEpoch("q", 1, List.of(staged("q", 1, 3, "c")), PUSH));
        assertFalse(sink.commitEpoch("q", 1, List.of(staged("q", 1, 0, "c")), PUSH));
        assertEquals(List.of("c"), rows(3));
        try (MmapQueue first = MmapQueue.openToRead(root.resolve("p=0"));
                MmapQueue last = MmapQueue.openToRead(root.resolve("p=3"))) {
            for (String key : List.of("segment_size", "queue_capacity_segments", "max_event_size")) {
                assertEquals(
                        first.config().asMap().get(key), last.config().asMap().get(key));
            }
        }
        IllegalArgumentException error =
                assertThrows(IllegalArgumentException.class, () -> sink.adopt(new SinkConfig(3, Map.of())));
        assertEquals(
                "option partitions = 3; allowed: 4 or more, as the queue in " + root + " has 4; partitions"
                        + " cannot be removed",
                error.getMessage());
        assertEquals(4, sink.count());
    }

    @Test
    void partitionsCannotBeAddedToAQueueInTheDirectoryItself() {
        open(1);
        IllegalArgumentException error =
                assertThrows(IllegalArgumentException.class, () -> sink.adopt(new SinkConfig(2, Map.of())));
        assertTrue(
                error.getMessage().startsWith("option partitions = 2; allowed: 1, as the queue is in " + root),
                error.getMessage());
    }

    @Test
    void keysAndCapacityOfTheQueueAreKept() throws Exception {
        root = directory.resolve("queue");
        sink = new SinkQueue(root, new SinkConfig(0, Map.of("capacity", "100000", "segment_size", "8k")));
        sink.adopt(new SinkConfig(0, Map.of("capacity", "100000")));
        IllegalArgumentException error = assertThrows(
                IllegalArgumentException.class, () -> sink.adopt(new SinkConfig(0, Map.of("capacity", "200000"))));
        assertEquals(
                "option capacity = 200000; allowed: the queue in " + root
                        + " is open in this process already, with 106496",
                error.getMessage());
        error = assertThrows(
                IllegalArgumentException.class, () -> sink.adopt(new SinkConfig(0, Map.of("segment_size", "16k"))));
        assertTrue(error.getMessage().startsWith("option segment_size = 16384; allowed: "), error.getMessage());
    }

    @Test
    void aRingThatOverflowsGivesUpWhatAConsumerNeeds() throws Exception {
        Map<String, String> keys = new HashMap<>(SMALL);
        keys.put("archive_uri", directory.resolve("archive").toUri().toString());
        keys.put("overflow", "archive");
        keys.put("ship_period", "5");
        keys.put("flush_period", "5");
        root = directory.resolve("queue");
        sink = new SinkQueue(root, new SinkConfig(2, keys));
        for (PartitionDirectory each : PartitionDirectory.find(root)) {
            try (MmapQueue queue = MmapQueue.openToRead(each.directory())) {
                queue.createConsumer("late", StartAt.EARLIEST);
            }
        }
        // More than half of a ring, so the second epoch needs slots that only the writer can free.
        String[] rows = Collections.nCopies(6, "x".repeat(3000)).toArray(String[]::new);
        Push push = new Push(Duration.ofSeconds(30), false, true);
        for (int epoch = 0; epoch < 3; epoch++) {
            assertTrue(sink.commitEpoch(
                    "q", epoch, List.of(staged("q", epoch, 0, rows), staged("q", epoch, 1, rows)), push));
        }
        for (PartitionDirectory each : PartitionDirectory.find(root)) {
            try (MmapQueue queue = MmapQueue.openToRead(each.directory())) {
                assertEquals(18, queue.endOffset());
            }
        }
    }

    @Test
    void aNewQueueTakesRowsOf16MiBIfTheRingHasRoom() throws Exception {
        root = directory.resolve("queue");
        sink = new SinkQueue(root, new SinkConfig(0, Map.of()));
        assertEquals(16 << 20, sink.maxEventSize());
        sink.close();
        sink = new SinkQueue(root, new SinkConfig(0, Map.of("max_event_size", "1k")));
        assertEquals(1024, sink.maxEventSize());
        sink.close();
        sink = new SinkQueue(root, new SinkConfig(0, Map.of()));
        assertEquals(16 << 20, sink.maxEventSize());
        sink.close();
        sink = new SinkQueue(directory.resolve("small"), new SinkConfig(0, Map.of("capacity", "8m")));
        assertEquals(1 << 20, sink.maxEventSize());
    }

    @Test
    void aDirectoryWithOtherFilesIsAnError() throws Exception {
        Files.writeString(directory.resolve("part-0.parquet"), "x");
        IllegalArgumentException error = assertThrows(
                IllegalArgumentException.class, () -> new SinkQueue(directory, new SinkConfig(2, Map.of())));
        assertEquals(
                "option path = " + directory + "; allowed: a directory that holds a queue, or an empty one; this one"
                        + " holds part-0.parquet",
                error.getMessage());
    }
}
