package org.mmapqueue.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.MetaPageV2;
import org.mmapqueue.recovery.QueueDirectory;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** Another process creates or moves a consumer at the critical moments of the writer. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RegistryTest {
    private static final int SEGMENT = 4096;
    private static final int CAPACITY = 8;
    private static final int RECORD = 500;
    /** Number of records that take two and a half generations of the ring. */
    private static final int GENERATIONS = 150;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final FaultyStorage storage = new FaultyStorage();
    private QueueCore queue;
    private ConsumerCore consumer;
    private MetaPage meta;
    private Registry other;
    private long next;

    private QueueConfig.Builder config() {
        return QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(SEGMENT)
                .queueCapacitySegments(CAPACITY)
                .maxInMemSegments(8)
                .flushPeriod(Duration.ofMinutes(10));
    }

    @BeforeEach
    void open() throws IOException {
        queue = Cores.open(config().build(), storage);
        consumer = queue.consumer(Registry.DEFAULT, StartAt.EARLIEST);
        meta = MetaPageV2.open(DiskStorage.INSTANCE, temp.resolve("queue"));
        other = new Registry(DiskStorage.INSTANCE, temp.resolve("queue"), meta);
    }

    @AfterEach
    void close() throws IOException {
        other.close();
        meta.close();
        queue.close();
    }

    private void pushAndAck() {
        byte[] record = Payload.numbered(next, RECORD);
        assertEquals(next, queue.writer().push(record, 0, record.length));
        assertEquals(next, consumer.poll().offset());
        queue.ackUpTo(consumer, next++);
    }

    private void pushAndAck(int count) {
        for (int i = 0; i < count; i++) {
            pushAndAck();
        }
    }

    /** The writer flushes acks before it reuses the first slot. */
    @Test
    void aConsumerCreatedDuringAFlushKeepsItsPosition() throws IOException {
        assertKeptWhenCreatedAt(FaultyStorage.Call.SYNC, MetaPage.FILE_NAME);
    }

    /** The writer has listed the consumers, and opens the page of one. */
    @Test
    void aConsumerCreatedDuringAReclaimKeepsItsPosition() throws IOException {
        assertKeptWhenCreatedAt(FaultyStorage.Call.OPEN, "another.dat");
    }

    private void assertKeptWhenCreatedAt(FaultyStorage.Call moment, String file) throws IOException {
        pushAndAck(GENERATIONS / 4);
        other.create("another", meta::writing);
        boolean[] made = {false};
        storage.failWhen((call, path) -> {
            if (!made[0] && call == moment && path.endsWith(file)) {
                made[0] = true;
                try {
                    assertEquals(0, other.create("late", () -> 0).committed());
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            }
            return false;
        });
        assertThrows(FullException.class, () -> pushAndAck(GENERATIONS));
        assertTrue(made[0]);
        assertEquals(0, meta.reclaimed());
        assertEquals(0, meta.reclaiming());
        readWithLate();
        other.delete("another");
        pushAndAck();
        assertTrue(meta.reclaimed() > 0);
    }

    private void readWithLate() {
        QueueCore reader = Cores.open(config().readOnly(true).build(), DiskStorage.INSTANCE);
        try {
            ConsumerCore late = reader.consumer("late", StartAt.LATEST);
            for (long offset = 0; offset < next; offset++) {
                Message message = late.poll();
                assertEquals(offset, message.offset());
                assertEquals(offset, Payload.numberOf(message.data()));
                reader.ackUpTo(late, offset);
            }
        } finally {
            reader.close();
        }
    }

    @Test
    void aStartThatWasReclaimedIsChosenAgain() throws IOException {
        int[] asked = {0};
        ConsumerCursors made = other.create("late", () -> {
            if (asked[0]++ == 0) {
                pushAndAck(GENERATIONS);
                return 0;
            }
            return meta.reclaimed();
        });
        assertEquals(2, asked[0]);
        assertTrue(made.committed() >= CAPACITY * SEGMENT);
        assertEquals(meta.reclaimed(), made.committed());
        assertEquals(made.committed(), made.reading());
        long held = meta.reclaimed();
        assertThrows(FullException.class, () -> pushAndAck(GENERATIONS));
        assertEquals(held, meta.reclaimed());
    }

    @Test
    void aFailedCreationLeavesNoConsumer() throws IOException {
        int[] asked = {0};
        assertThrows(
                IllegalStateException.class,
                () -> other.create("late", () -> {
                    if (asked[0]++ == 0) {
                        pushAndAck(GENERATIONS);
                        return 0;
                    }
                    throw new IllegalStateException("no start is left");
                }));
        assertEquals(2, asked[0]);
        other.refresh();
        assertEquals(1, other.names().size());
        pushAndAck(GENERATIONS);
    }

    @Test
    void aMoveToAReclaimedPositionHasNoEffect() throws IOException {
        pushAndAck(GENERATIONS);
        ConsumerCursors mover = other.create("mover", meta::writing);
        long before = mover.committed();
        assertFalse(other.move(mover, 0));
        assertEquals(before, mover.committed());
        assertEquals(before, mover.reading());
        assertTrue(other.move(mover, meta.reclaimed()));
        assertEquals(meta.reclaimed(), mover.committed());
        assertEquals(meta.reclaimed(), mover.reading());
    }

    @Test
    void aFailedMoveHasNoEffect() throws IOException {
        pushAndAck(GENERATIONS);
        ConsumerCursors mover = other.create("mover", meta::writing);
        long before = mover.committed();
        queue.close();
        meta.reclaiming(meta.reclaimed() + 2 * SEGMENT);
        Path lock = temp.resolve("queue").resolve(QueueDirectory.LOCK_FILE);
        Files.delete(lock);
        Files.createDirectory(lock); // now it is unknown whether the writer is dead
        assertThrows(IOException.class, () -> other.move(mover, meta.reclaimed()));
        assertEquals(before, mover.committed());
        assertEquals(before, mover.reading());
    }

    /** The offset of the new position cannot be read: the consumer does not move, in memory or in its page. */
    @Test
    void aFailedSeekHasNoEffect() {
        pushAndAck(10);
        FaultyStorage disk = new FaultyStorage();
        QueueCore reader = Cores.open(config().readOnly(true).build(), disk);
        try {
            ConsumerCore late = reader.consumer("late", StartAt.LATEST);
            pushAndAck(10);
            disk.failWhen((call, path) -> call == FaultyStorage.Call.MAP);
            assertThrows(MmapQueueException.class, () -> reader.seek(late, StartAt.LATEST));
            disk.heal();
            assertEquals(10, late.committedOffset());
            reader.closeConsumer(late);
            assertEquals(10, reader.consumer("late", StartAt.LATEST).poll().offset());
        } finally {
            reader.close();
        }
    }

    /** The writer was killed after it had stored {@code reclaiming}, before it stored {@code reclaimed}. */
    @Test
    void anUnfinishedReclaimOfADeadWriterLosesNothing() throws IOException {
        pushAndAck(GENERATIONS);
        queue.close();
        long position = meta.reclaimed();
        meta.reclaiming(position + 2 * SEGMENT);
        assertEquals(position, other.create("late", () -> position).committed());
        assertEquals(position, meta.reclaiming());
        assertEquals(position, other.takeUp("late", meta::writing).committed());
    }

    /** A process was killed after it had marked a consumer as deleted, before it counted that. */
    @Test
    void aConsumerThatAKilledProcessHasMarkedIsGone() throws IOException {
        queue.createConsumer("gone", StartAt.EARLIEST);
        try (ConsumerPage page = ConsumerPage.open(DiskStorage.INSTANCE, other.path("gone"), meta.fields())) {
            page.delete();
        }
        assertEquals(List.of("default"), queue.consumerNames());
        queue.createConsumer("gone", StartAt.EARLIEST);
        assertEquals(List.of("default", "gone"), queue.consumerNames());
    }

    /** With a pending interrupt the rounds of the wait would pass at once. */
    @Test
    void anInterruptedThreadWaitsForTheWriter() throws Exception {
        pushAndAck(20);
        long position = meta.reclaimed();
        meta.reclaiming(position + SEGMENT);
        Waiting.Running<Boolean> creating = Waiting.start(() -> {
                    Thread.currentThread().interrupt();
                    other.create("late", () -> position);
                    return Thread.interrupted();
                })
                .untilItIsIn(Registry.class, "pause");
        meta.reclaiming(position);
        assertTrue(creating.result(), "the interrupt stays pending");
        assertEquals(position, other.find("late").committed());
    }
}
