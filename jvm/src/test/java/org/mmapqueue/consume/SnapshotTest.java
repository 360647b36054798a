package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.StorageQueue;
import org.mmapqueue.support.Waiting;

/** What a kill leaves of in-flight records: the state at the last flush. A copy of the directory is what a kill leaves. */
class SnapshotTest extends SmallRing {
    private static final int RECORDS = 10;

    @BeforeEach
    void setUp() {
        for (int i = 0; i < RECORDS; i++) {
            queue.push(Payload.numbered(i, 500));
        }
    }

    private Path file() {
        return directory.resolve("consumers/a.inflight");
    }

    private Consumer consumer() {
        return queue.consumer("a", StartAt.EARLIEST);
    }

    // Pops all; 0 has two attempts, 3 and 6 are acked, 7 is delayed.
    private Consumer work() {
        Consumer consumer = consumer();
        Payload.drain(consumer);
        consumer.nack(0);
        consumer.pop();
        consumer.ack(new long[] {3, 6});
        consumer.nack(7, Duration.ofHours(1));
        return consumer;
    }

    private static void assertPops(Consumer consumer, long[] offsets, int... attempts) {
        List<Message> all = new ArrayList<>(Payload.drain(consumer));
        assertArrayEquals(offsets, all.stream().mapToLong(Message::offset).toArray());
        assertArrayEquals(attempts, all.stream().mapToInt(Message::attempts).toArray());
    }

    @Test
    void aFlushSavesAcksAttemptsAndDelays() {
        work();
        queue.flush();
        reopenAfterKill();
        assertEquals(0, consumer().committedOffset());
        assertPops(consumer(), new long[] {0, 1, 2, 4, 5, 8, 9}, 3, 2, 2, 2, 2, 2, 2);
        consumer().ackUpTo(5);
        assertEquals(7, consumer().committedOffset());
        reopenAfterKill(); // before a flush
        assertEquals(7, consumer().committedOffset());
        assertPops(consumer(), new long[] {8, 9}, 2, 2);
    }

    @Test
    void whatComesAfterTheFlushIsLost() {
        Consumer consumer = work();
        queue.flush();
        consumer.ack(8);
        consumer.nack(9);
        reopenAfterKill();
        assertPops(consumer(), new long[] {0, 1, 2, 4, 5, 8, 9}, 3, 2, 2, 2, 2, 2, 2);
    }

    @Test
    void firstDeliveriesThatAreSavedCountAsAttempts() throws InterruptedException {
        Consumer consumer = consumer();
        consumer.popBatch(4, Long.MAX_VALUE, Duration.ZERO);
        consumer.saveDeliveries();
        consumer.ack(0);
        consumer.pop();
        reopenAfterKill();
        assertEquals(1, consumer().committedOffset());
        // 4 was popped after the save.
        assertPops(consumer(), new long[] {1, 2, 3, 4, 5, 6, 7, 8, 9}, 2, 2, 2, 1, 1, 1, 1, 1, 1);
    }

    @Test
    void acksAndDelaysThatAreSavedNeedNoFlush() {
        Consumer consumer = work();
        consumer.saveDeliveries();
        reopenAfterKill();
        assertPops(consumer(), new long[] {0, 1, 2, 4, 5, 8, 9}, 3, 2, 2, 2, 2, 2, 2);
    }

    @Test
    void withoutRecordsInFlightNothingIsSaved() {
        Consumer consumer = consumer();
        consumer.saveDeliveries();
        Payload.drain(consumer);
        consumer.ackUpTo(RECORDS - 1);
        consumer.saveDeliveries();
        assertFalse(Files.exists(file()));
    }

    /** The first flush after the restored rows were popped. */
    @Test
    void aSnapshotOfRestoredRowsIsWhole() {
        work();
        queue.flush();
        reopenAfterKill();
        assertEquals(0, consumer().pop().offset());
        queue.flush();
        reopenAfterKill();
        assertPops(consumer(), new long[] {0, 1, 2, 4, 5, 8, 9}, 4, 2, 2, 2, 2, 2, 2);
    }

    @Test
    void aConsumerThatAcksInOrderHasNoFile() {
        Consumer consumer = consumer();
        Payload.drain(consumer);
        queue.flush();
        consumer.ackUpTo(4);
        queue.flush();
        consumer.ack(5);
        queue.flush();
        assertFalse(Files.exists(file()));
        reopenAfterKill();
        assertPops(consumer(), new long[] {6, 7, 8, 9}, 1, 1, 1, 1);
    }

    @Test
    void aFlushWithoutChangesWritesNoFile() throws Exception {
        work();
        queue.flush();
        assertTrue(Files.exists(file()));
        Files.delete(file());
        queue.push(new byte[10]);
        queue.flush();
        assertFalse(Files.exists(file()));
        consumer().ack(8);
        queue.flush();
        assertTrue(Files.exists(file()));
    }

    /** An ack is never undone by an older file. */
    @Test
    void laterAcksInOrderOutliveTheSnapshot() {
        Consumer consumer = work();
        queue.flush();
        consumer.ackUpTo(8);
        reopenAfterKill();
        assertEquals(9, consumer().committedOffset());
        assertPops(consumer(), new long[] {9}, 2);
    }

    @Test
    void aSeekBackVoidsTheSnapshot() {
        Consumer consumer = work();
        queue.flush();
        consumer.seek(StartAt.offset(2));
        assertFalse(Files.exists(file()));
        reopenAfterKill();
        assertPops(consumer(), new long[] {2, 3, 4, 5, 6, 7, 8, 9}, 1, 1, 1, 1, 1, 1, 1, 1);
    }

    @Test
    void aSeekOnAClosedConsumerKeepsTheSnapshot() {
        Consumer consumer = work();
        consumer.close();
        assertThrows(MmapQueueException.class, () -> consumer.seek(StartAt.EARLIEST));
        assertTrue(Files.exists(file()));
    }

    @Test
    void aConsumerMadeAgainHasNoSnapshot() {
        work();
        queue.flush();
        queue.deleteConsumer("a");
        assertFalse(Files.exists(file()));
        queue.createConsumer("a", StartAt.EARLIEST);
        reopenAfterKill();
        assertPops(consumer(), new long[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    }

    /** A process was killed between the deletion of the consumer and that of its file. */
    @Test
    void aLeftFileIsDeletedBeforeAConsumerIsMade() throws Exception {
        work();
        queue.flush();
        byte[] left = Files.readAllBytes(file());
        queue.deleteConsumer("a");
        Files.write(file(), left);
        assertPops(consumer(), new long[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    }

    @Test
    void aPurgeVoidsWhatIsBeforeIt() {
        work();
        queue.flush();
        queue.purge();
        reopenAfterKill();
        assertNull(consumer().poll());
        queue.push(Payload.numbered(10, 500));
        assertEquals(1, consumer().pop().attempts());
    }

    @Test
    void aProcessThatOnlyReadsSavesInTheBackground() {
        queue.createConsumer("a", StartAt.EARLIEST);
        queue.close();
        queue = MmapQueue.open(
                config().readOnly(true).flushPeriod(Duration.ofMillis(1)).build());
        Payload.drain(consumer());
        consumer().ack(4);
        Waiting.until("the acks are saved", () -> Files.exists(file()));
        reopenAfterKill();
        assertPops(consumer(), new long[] {0, 1, 2, 3, 5, 6, 7, 8, 9}, 2, 2, 2, 2, 2, 2, 2, 2, 2);
    }

    @Test
    void theFlusherSavesInTheBackground() {
        queue.close();
        queue = MmapQueue.open(config().flushPeriod(Duration.ofMillis(1)).build());
        Payload.drain(consumer());
        consumer().ack(4);
        Waiting.until("the acks are saved", () -> Files.exists(file()));
    }

    /** @param isReclaimed whether the writer reclaims the target meanwhile; otherwise the disk fails */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void afterASeekThatFailsAFlushSavesWhatStaysInFlight(boolean isReclaimed) {
        FaultyStorage storage = new FaultyStorage();
        Path path = temp.resolve("faulty");
        Path saved = path.resolve("consumers/default.inflight");
        QueueConfig config = QueueConfig.builder(path)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(4)
                .retainBytes(1 << 20)
                .build();
        Path killed = temp.resolve("killed");
        try (StorageQueue faulty = StorageQueue.open(config, storage)) {
            for (int i = 0; i < 8; i++) { // four in each segment
                faulty.push(Payload.numbered(i, 900));
                faulty.poll("default");
            }
            faulty.ackUpTo("default", 4);
            faulty.ack("default", 6);
            faulty.flush();
            assertTrue(Files.exists(saved));
            boolean[] isDeleted = {false};
            storage.failWhen((call, file) -> {
                boolean isNow =
                        !isDeleted[0] && call == FaultyStorage.Call.SYNC_DIRECTORY && file.endsWith("consumers");
                isDeleted[0] |= isNow;
                if (isNow && isReclaimed) {
                    assertThrows(FullException.class, () -> {
                        while (true) {
                            faulty.push(new byte[900]);
                        }
                    });
                }
                return isNow && !isReclaimed;
            });
            assertThrows(MmapQueueException.class, () -> faulty.seek("default", StartAt.offset(0)));
            assertTrue(isDeleted[0]);
            storage.heal();
            assertFalse(Files.exists(saved));
            faulty.flush();
            assertTrue(Files.exists(saved));
            Directories.copy(path, killed);
        }
        try (StorageQueue again = StorageQueue.open(QueueConfig.builder(killed).build(), DiskStorage.INSTANCE)) {
            assertEquals(5, again.poll("default").offset());
            assertEquals(7, again.poll("default").offset());
        }
    }

    /** A flush that cannot write the file fails; the next one writes it. */
    @Test
    void aFailedSaveIsRepeated() {
        FaultyStorage storage = new FaultyStorage();
        try (StorageQueue faulty = StorageQueue.open(
                QueueConfig.builder(temp.resolve("faulty"))
                        .segmentSize(4096)
                        .queueCapacitySegments(4)
                        .build(),
                storage)) {
            for (int i = 0; i < 3; i++) {
                faulty.push(new byte[10]);
                faulty.poll("default");
            }
            faulty.ack("default", 1);
            storage.failWhen((call, path) ->
                    call == FaultyStorage.Call.WRITE && path.toString().endsWith(".inflight.new"));
            assertThrows(MmapQueueException.class, faulty::flush);
            storage.heal();
            assertFalse(Files.exists(temp.resolve("faulty/consumers/default.inflight")));
            faulty.flush();
            assertTrue(Files.exists(temp.resolve("faulty/consumers/default.inflight")));
        }
    }
}
