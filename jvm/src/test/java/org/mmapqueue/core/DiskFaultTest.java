package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
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
    void aMappingThatFailsLeavesTheQueueUsableOrPoisoned(int version) {
        open(version);
        List<byte[]> expected = new ArrayList<>();
        push(0, 1000);
        expected.add(Payload.of(0, 1000));
        storage.failWhen((call, path) -> call == FaultyStorage.Call.MAP);
        assertThrows(MmapQueueException.class, () -> push(1, 9000));
        storage.heal();
        try {
            push(2, 2000);
            expected.add(Payload.of(2, 2000));
        } catch (PoisonedException e) {
            assertTrue(e.getCause().getMessage().contains("injected"), e.toString());
        }
        core.close();
        assertRecords(version, config(version), expected);
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
        core.ack(consumer, 0);
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
