package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.Records;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.PoisonedException;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.verify.Verifier;

/** The disk is full, or fails, while the queue is open. */
@Timeout(120)
class DiskFaultTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final FaultyStorage storage = new FaultyStorage();
    private QueueCore core;

    private QueueConfig config(int version) {
        return QueueConfig.builder(temp.resolve("queue"))
                .formatVersion(version)
                .segmentSize(4096)
                .queueCapacitySegments(20)
                .maxInMemSegments(5)
                .maxEventSize(9000)
                .flushPeriod(Duration.ofMinutes(10))
                .v1Recover("writing")
                .build();
    }

    private void open(int version) {
        core = Cores.open(config(version), storage);
    }

    @AfterEach
    void close() {
        storage.heal();
        if (core != null) {
            core.close();
        }
    }

    private long push(int number, int length) {
        return core.writer().push(Payload.of(number, length), 0, length);
    }

    private static void assertRecords(int version, QueueConfig config, List<byte[]> expected) {
        try (MmapQueue queue = MmapQueue.open(config)) {
            assertEquals(version, Integer.parseInt(queue.config().asMap().get("format_version")));
            Payload.assertMessages(0, expected, Payload.drain(queue));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aFullDiskIsATypedErrorAndNothingIsLost(int version) {
        open(version);
        List<byte[]> expected = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            push(i, 1000);
            expected.add(Payload.of(i, 1000));
        }
        storage.failWhen((call, path) -> call == FaultyStorage.Call.ZERO_FILL);
        List<Class<?>> errors = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            int length = i % 3 == 0 ? 6000 : 700;
            try {
                push(100 + i, length);
                expected.add(Payload.of(100 + i, length));
            } catch (MmapQueueException e) {
                assertTrue(e.getMessage().contains("disk full"), e.getMessage());
                errors.add(e.getClass());
            }
        }
        assertTrue(errors.size() >= 4, "errors " + errors);
        assertEquals(
                List.of(MmapQueueException.class), errors.stream().distinct().toList());
        assertThrows(
                MmapQueueException.class,
                () -> core.writer().push(Records.of(List.of(new byte[3000], new byte[6000]))));
        ConsumerCore consumer = core.consumer("default", StartAt.EARLIEST);
        for (int i = 0; i < expected.size(); i++) {
            Payload.assertMessages(i, expected.subList(i, i + 1), List.of(consumer.poll()));
        }
        assertNull(consumer.poll());
        storage.heal();
        for (int i = 0; i < 12; i++) {
            assertEquals(expected.size(), push(200 + i, 1500));
            expected.add(Payload.of(200 + i, 1500));
            assertEquals(expected.size() - 1, consumer.poll().offset());
        }
        core.writer().flush();
        core.close();
        assertRecords(version, config(version), expected);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aKillWhileTheDiskIsFullLosesNothing(int version) {
        open(version);
        List<byte[]> expected = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            push(i, 1000);
            expected.add(Payload.of(i, 1000));
        }
        storage.failWhen((call, path) -> call == FaultyStorage.Call.ZERO_FILL);
        assertThrows(MmapQueueException.class, () -> push(9, 9000));
        Path left = Directories.copy(temp.resolve("queue"), temp.resolve("left"));
        assertRecords(
                version,
                QueueConfig.builder(left)
                        .maxEventSize(9000)
                        .v1Recover("writing")
                        .build(),
                expected);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aMappingThatFailsIsAnErrorOfItsPushAlone(int version) {
        open(version);
        List<byte[]> expected = new ArrayList<>();
        push(0, 1000);
        expected.add(Payload.of(0, 1000));
        storage.failWhen((call, path) -> call == FaultyStorage.Call.MAP);
        assertThrows(MmapQueueException.class, () -> push(1, 9000));
        storage.heal();
        push(2, 2000);
        expected.add(Payload.of(2, 2000));
        core.close();
        assertRecords(version, config(version), expected);
    }

    private static void assertWhole(Path directory) throws IOException {
        VerifyReport report = Verifier.verify(directory, Progress.NONE);
        assertTrue(report.isWhole(), () -> report.findings().toString());
    }

    private void assertAppended(List<byte[]> expected, int length) {
        byte[] payload = Payload.of(expected.size(), length);
        assertEquals(expected.size(), core.writer().push(payload, 0, length));
        expected.add(payload);
    }

    /** A record that needs more segments than may be mapped: its rolls map, and so may fail. */
    private QueueConfig narrow(int version, Path directory) {
        return QueueConfig.builder(directory)
                .formatVersion(version)
                .segmentSize(4096)
                .queueCapacitySegments(30)
                .maxInMemSegments(4)
                .maxEventSize(40_000)
                .flushPeriod(Duration.ofMinutes(10))
                .v1Recover("writing")
                .build();
    }

    /** Each call in turn fails once, of a push of one long record, and of a batch of records at each end. */
    @ParameterizedTest
    @CsvSource({
        "1, OPEN, 1000",
        "1, MAP, 1000",
        "1, ZERO_FILL, 1000",
        "1, MAP, 4088",
        "2, OPEN, 1000",
        "2, MAP, 1000",
        "2, ZERO_FILL, 1000",
        "2, MAP, 4016",
        "2, OPEN, 4016"
    })
    void aCallThatFailsInARollIsAnErrorOfItsPushAlone(int version, FaultyStorage.Call failing, int before)
            throws IOException {
        int inRolls = 0;
        boolean hasFailed = true;
        for (int number = 0; hasFailed; number++) {
            Path directory = temp.resolve("queue-" + number);
            QueueConfig config = narrow(version, directory);
            core = Cores.open(config, storage);
            List<byte[]> expected = new ArrayList<>();
            assertAppended(expected, before);
            AtomicInteger left = new AtomicInteger(number);
            storage.failWhen((call, path) ->
                    call == failing && path.toString().endsWith("_segment.dat") && left.getAndDecrement() == 0);
            Records batch = Records.of(List.of(Payload.of(1, 30_000), Payload.of(2, 5000), Payload.of(3, 10)));
            try {
                assertEquals(1, core.writer().push(batch));
                hasFailed = false;
                for (int i = 0; i < batch.count(); i++) {
                    expected.add(batch.array(i));
                }
            } catch (MmapQueueException e) {
                assertEquals(MmapQueueException.class, e.getClass(), e.toString());
                assertTrue(
                        e.getMessage().contains("_segment.dat")
                                && e.getMessage().contains("nothing was stored"),
                        e.toString());
                inRolls += e.getMessage().contains("could not be opened or mapped") ? 1 : 0;
                assertEquals(1, core.endOffset());
            }
            storage.heal();
            Path killed = Directories.copy(directory, temp.resolve("killed-" + number));
            for (int length : new int[] {10, 30_000, 5000, 4016, 700}) {
                assertAppended(expected, length);
            }
            ConsumerCore consumer = core.consumer("default", StartAt.EARLIEST);
            for (int i = 0; i < expected.size(); i++) {
                Payload.assertMessages(i, expected.subList(i, i + 1), List.of(consumer.poll()));
            }
            assertNull(consumer.poll());
            core.close();
            assertWhole(directory);
            assertRecords(version, config, expected);
            assertRecords(version, narrow(version, killed), expected.subList(0, expected.size() - 5));
        }
        assertTrue(failing == FaultyStorage.Call.ZERO_FILL || inRolls > 1, "failures in rolls: " + inRolls);
    }

    private void failsAfter(int calls) {
        AtomicInteger left = new AtomicInteger(calls);
        storage.failWhen((call, path) -> (call == FaultyStorage.Call.OPEN
                        || call == FaultyStorage.Call.MAP
                        || call == FaultyStorage.Call.SYNC_DIRECTORY)
                && left.getAndDecrement() <= 0);
    }

    private static boolean isInRoll(MmapQueueException failure) {
        return failure.getMessage().contains("could not be opened or mapped");
    }

    /** From any call on there are no descriptors for some pushes. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void pushesFailUntilThereAreDescriptorsAgain(int version) throws IOException {
        int inRolls = 0;
        for (int number = 0; number < 60; number++) {
            Path directory = temp.resolve("queue-" + number);
            core = Cores.open(narrow(version, directory), storage);
            List<byte[]> expected = new ArrayList<>();
            assertAppended(expected, 1000);
            failsAfter(number);
            for (int i = 0; i < 3; i++) {
                try {
                    assertAppended(expected, 38_000);
                } catch (MmapQueueException failure) {
                    assertEquals(MmapQueueException.class, failure.getClass(), failure.toString());
                    assertTrue(failure.getMessage().contains("_segment.dat"), failure.toString());
                    inRolls += isInRoll(failure) ? 1 : 0;
                }
            }
            storage.heal();
            for (int length : new int[] {10, 30_000, 5000}) {
                assertAppended(expected, length);
                core.writer().flush();
                ConsumerCore consumer = core.consumer("default", StartAt.EARLIEST);
                while (consumer.poll() != null) {
                    // makes room
                }
                core.ackUpTo(consumer, expected.size() - 1);
            }
            core.close();
            assertWhole(directory);
            try (MmapQueue queue = MmapQueue.open(narrow(version, directory))) {
                assertEquals(version == 1 ? 0 : 1, queue.stats().epoch(), "the close was clean");
                // Version 1 counts from the first record that is not acked.
                assertEquals(version == 1 ? 0 : expected.size(), queue.push(new byte[9]));
            }
        }
        assertTrue(inRolls > 5, "failures in rolls: " + inRolls);
    }

    /** What a failed push has left cannot be cleared before the close: the next open recovers. */
    @Test
    void aCloseThatCannotClearWhatAFailedPushHasLeftIsNotClean() throws IOException {
        int inRolls = 0;
        for (int number = 0; number < 30; number++) {
            Path directory = temp.resolve("queue-" + number);
            core = Cores.open(narrow(2, directory), storage);
            List<byte[]> expected = new ArrayList<>();
            assertAppended(expected, 1000);
            core.writer().flush();
            failsAfter(number);
            boolean isInRoll = false;
            try {
                assertAppended(expected, 38_000);
            } catch (MmapQueueException e) {
                isInRoll = isInRoll(e);
            }
            if (isInRoll) {
                inRolls++;
                core.close();
                storage.heal();
                assertRecovers(directory, expected);
            } else {
                storage.heal();
                core.close();
            }
        }
        assertTrue(inRolls > 5, "failures in rolls: " + inRolls);
    }

    private void assertRecovers(Path directory, List<byte[]> expected) throws IOException {
        try (MmapQueue queue = MmapQueue.open(narrow(2, directory))) {
            assertEquals(
                    2, queue.stats().epoch(), "what the failed push has left is not cleared, but the close was clean");
            Payload.assertMessages(0, expected, Payload.drain(queue));
            assertEquals(1, queue.push(new byte[38_000]));
            assertEquals(1, queue.consumer().poll().offset());
        }
        assertWhole(directory);
    }

    @ParameterizedTest
    @EnumSource(names = {"SYNC", "SYNC_DIRECTORY"})
    void aFailedSyncPoisonsTheWriter(FaultyStorage.Call failing) {
        open(2);
        push(0, 1000);
        core.writer().flush();
        List<byte[]> expected = new ArrayList<>(List.of(Payload.of(0, 1000)));
        for (int i = 1; i < 10; i++) {
            push(i, 1000); // into new files
            expected.add(Payload.of(i, 1000));
        }
        storage.failWhen((call, path) -> call == failing);
        PoisonedException first =
                assertThrows(PoisonedException.class, () -> core.writer().flush());
        assertTrue(first.getMessage().contains("injected"), first.getMessage());
        storage.heal();
        // The disk works again, but the page cache may have dropped the pages.
        for (int i = 0; i < 2; i++) {
            PoisonedException later =
                    assertThrows(PoisonedException.class, () -> core.writer().flush());
            assertSame(first.getCause(), later.getCause());
            assertThrows(PoisonedException.class, () -> push(5, 10));
            assertThrows(PoisonedException.class, () -> core.writer().push(Records.of(List.of(new byte[1]))));
            assertThrows(PoisonedException.class, () -> core.writer().push(new byte[1], 0, 1, 1_000_000, () -> false));
        }
        assertFalse(
                core.stats().watermarkPosition() == core.stats().writingPosition()
                        && failing == FaultyStorage.Call.SYNC_DIRECTORY,
                "the recovery point passed bytes that were not fsynced");
        // Stored records can still be read.
        ConsumerCore consumer = core.consumer("default", StartAt.EARLIEST);
        assertEquals(0, consumer.poll().offset());
        core.ackUpTo(consumer, 0);
        core.close();
        assertThrows(ClosedException.class, () -> push(1, 1));
        try (MmapQueue queue = MmapQueue.open(config(2))) {
            assertEquals(2, queue.stats().epoch(), "a poisoned queue is not closed cleanly");
            Payload.assertMessages(1, expected.subList(1, expected.size()), Payload.drain(queue));
            queue.push(new byte[1]);
            queue.flush();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aCloseThatCannotSyncThrowsAndTheNextOpenRecovers(int version) {
        open(version);
        push(0, 1000);
        storage.failWhen((call, path) -> call == FaultyStorage.Call.SYNC);
        assertThrows(MmapQueueException.class, () -> core.close());
        storage.heal();
        core.close();
        assertRecords(version, config(version), List.of(Payload.of(0, 1000)));
    }
}
