package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.MetaPageV2;
import org.mmapqueue.support.ChildJvm;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** Consumers of the writer and of other processes, step by step. */
@Tag("slow")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TwoProcessTest {
    private static final int SEGMENT = 4096;
    private static final int CAPACITY = 8;
    /** Number of records that take more than one generation of the ring. */
    private static final int GENERATION = 200;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path directory() {
        return temp.resolve("queue");
    }

    private QueueConfig.Builder config() {
        return QueueConfig.builder(directory())
                .segmentSize(SEGMENT)
                .queueCapacitySegments(CAPACITY)
                .maxInMemSegments(8)
                .flushPeriod(Duration.ofMillis(50));
    }

    private static void push(MmapQueue queue, int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            long next = queue.endOffset();
            assertEquals(next, queue.push(Payload.numbered(next, (int) (next * 31 % 400)), Waiting.LONG));
        }
    }

    private static void pushAndAck(MmapQueue queue, int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            push(queue, 1);
            queue.consumer().ackUpTo(queue.consumer().pop().offset());
        }
    }

    /** Pops and checks the records from {@code first} to {@code end}. */
    private static void assertWhole(Consumer consumer, long first, long end) {
        for (long next = first; next < end; next++) {
            Message message = consumer.pop();
            assertEquals(next, message.offset());
            assertEquals(next, Payload.numberOf(message.data()));
        }
        assertEquals(end, consumer.readOffset());
    }

    private static String ask(ChildJvm child, String line) throws IOException {
        child.say(line);
        return child.line();
    }

    @Test
    void aClosedConsumerCanBeOwnedByAnotherProcess() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build());
                ChildJvm first = new ChildJvm(ConsumerChild.class, directory());
                ChildJvm second = new ChildJvm(ConsumerChild.class, directory())) {
            push(queue, 10);
            assertEquals("0", ask(first, "own one"));
            assertEquals("LockedException " + first.pid(), ask(second, "own one"));
            assertEquals("LockedException " + first.pid(), ask(second, "delete one"));
            assertEquals(
                    first.pid(),
                    assertThrows(LockedException.class, () -> queue.consumer("one", StartAt.EARLIEST))
                            .pid());
            assertEquals(
                    first.pid(),
                    assertThrows(LockedException.class, () -> queue.deleteConsumer("one"))
                            .pid());
            assertEquals("0", ask(first, "pop 6"));
            assertEquals("ok", ask(first, "ack 3"));
            assertEquals("ok", ask(first, "release"));
            assertEquals("4", ask(second, "own one"));
            assertEquals("4", ask(second, "pop 6"));
            assertEquals("LockedException " + second.pid(), ask(first, "own one"));
            assertEquals("ok", ask(second, "release"));
            assertEquals("ok", ask(first, "delete one"));
            assertEquals(List.of(), queue.consumers());
        }
    }

    @Test
    void aDeletionByAnotherProcessFreesSpace() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build());
                ChildJvm child = new ChildJvm(ConsumerChild.class, directory())) {
            assertEquals("0", ask(child, "own slow"));
            Waiting.Running<Boolean> pushing = Waiting.start(() -> {
                        pushAndAck(queue, GENERATION);
                        return true;
                    })
                    .untilItWaits();
            assertFalse(pushing.isDone());
            assertEquals("ok", ask(child, "delete slow"));
            assertTrue(pushing.result());
            assertEquals(GENERATION, queue.endOffset());
        }
    }

    /** A reader at the log end must map the new file of a slot, not its earlier mapping. */
    @Test
    void aReaderAtTheLogEndFollowsIntoNewFiles() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build());
                ChildJvm child = new ChildJvm(ConsumerChild.class, directory())) {
            assertEquals("0", ask(child, "own tail"));
            long deleted = 0;
            for (int round = 0; round < 60; round++) {
                int count = 3 + round * 7 % 40;
                long first = queue.endOffset();
                pushAndAck(queue, count);
                assertEquals(Long.toString(first), ask(child, "pop " + count));
                assertEquals("ok", ask(child, "ack " + (first + count - 1)));
                deleted += queue.gc();
            }
            assertTrue(deleted > 3 * CAPACITY * SEGMENT, deleted + " bytes deleted");
            assertTrue(queue.stats().writingPosition() > 4 * CAPACITY * SEGMENT, "generations");
        }
    }

    @Test
    void aSeekBackInAnotherProcessHoldsSpace() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build());
                ChildJvm child = new ChildJvm(ConsumerChild.class, directory())) {
            queue.createConsumer("holder", StartAt.EARLIEST);
            assertEquals("0", ask(child, "own mover"));
            pushAndAck(queue, 60);
            assertEquals("0", ask(child, "pop 60"));
            assertEquals("ok", ask(child, "ack 59"));
            assertEquals("5", ask(child, "seek 5"));
            queue.deleteConsumer("holder");
            assertThrows(FullException.class, () -> {
                for (int i = 0; i < GENERATION; i++) {
                    queue.push(Payload.numbered(queue.endOffset(), 300));
                }
            });
            long end = queue.endOffset();
            assertEquals("5", ask(child, "pop " + (end - 5)));
            assertWhole(queue.consumer(), 60, end);
        }
    }

    @Test
    void aDroppedConsumerThrowsAndContinues() throws Exception {
        try (MmapQueue queue =
                        MmapQueue.open(config().maxConsumerLag(3 * SEGMENT).build());
                ChildJvm child = new ChildJvm(ConsumerChild.class, directory())) {
            assertEquals("0", ask(child, "own slow"));
            pushAndAck(queue, 5);
            assertEquals("0", ask(child, "pop 5"));
            assertEquals("ok", ask(child, "ack 1"));
            pushAndAck(queue, 2 * GENERATION);
            long next = 2;
            String answer = ask(child, "pop 1");
            for (int drops = 0; answer.startsWith("DroppedException") || drops == 0; drops++) {
                String[] words = answer.split(" ");
                assertEquals("DroppedException " + next, words[0] + " " + words[1]);
                next = Long.parseLong(words[2]) + 1;
                answer = ask(child, "pop 1");
            }
            assertEquals(Long.toString(next), answer);
            assertTrue(next > GENERATION && next < queue.endOffset(), "continues with " + next);
            child.kill();
            pushAndAck(queue, 2 * GENERATION);
            Consumer taken = queue.consumer("slow", StartAt.EARLIEST);
            DroppedException dropped = assertThrows(DroppedException.class, taken::pop);
            assertEquals(next, dropped.first());
            assertContinues(taken, dropped.last() + 1, queue.endOffset());
        }
    }

    // The housekeeper may drop records again before the first pop.
    private static void assertContinues(Consumer consumer, long first, long end) {
        long next = first;
        while (next < end) {
            try {
                assertEquals(next, Payload.numberOf(consumer.pop().data()));
                consumer.ackUpTo(next);
                next++;
            } catch (DroppedException e) {
                assertEquals(next, e.first());
                next = e.last() + 1;
            }
        }
        assertEquals(end, consumer.committedOffset());
    }

    /** The creator was killed after it had made the consumer's page, before it had announced it to the writer. */
    @Test
    void aConsumerOfADeadCreatorHoldsSpaceOnceItIsOpened() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build());
                ChildJvm child = new ChildJvm(ConsumerChild.class, directory())) {
            queue.createConsumer("first", StartAt.EARLIEST);
            queue.deleteConsumer("first");
            pushAndAck(queue, 2 * GENERATION);
            try (MetaPage meta = MetaPageV2.open(DiskStorage.INSTANCE, directory())) {
                ConsumerPage.create(
                        DiskStorage.INSTANCE,
                        directory().resolve("consumers/orphan.dat"),
                        meta.fields(),
                        1,
                        meta.writing());
            }
            long first = queue.endOffset();
            push(queue, 10);
            assertEquals(Long.toString(first), ask(child, "own orphan"));
            assertWhole(queue.consumer(), first, first + 10);
            queue.consumer().ackUpTo(first + 9);
            Waiting.Running<Boolean> pushing = Waiting.start(() -> {
                        pushAndAck(queue, GENERATION);
                        return true;
                    })
                    .untilItWaits();
            assertFalse(pushing.isDone());
            for (long next = first; next < first + GENERATION + 10; next++) {
                assertEquals(Long.toString(next), ask(child, "pop 1"));
                assertEquals("ok", ask(child, "ack " + next));
            }
            assertTrue(pushing.result());
        }
    }

    /** As above, but its space was reclaimed before it was opened. */
    @Test
    void aReclaimedConsumerOfADeadCreatorStartsAtTheLogStart() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build());
                ChildJvm child = new ChildJvm(ConsumerChild.class, directory())) {
            queue.createConsumer("first", StartAt.EARLIEST);
            queue.deleteConsumer("first");
            pushAndAck(queue, 2 * GENERATION);
            try (MetaPage meta = MetaPageV2.open(DiskStorage.INSTANCE, directory())) {
                ConsumerPage.create(
                        DiskStorage.INSTANCE, directory().resolve("consumers/orphan.dat"), meta.fields(), 1, 0);
            }
            pushAndAck(queue, 2 * GENERATION);
            long acked = queue.endOffset();
            push(queue, 10);
            // It starts at the reclaimed position, which may be before the low watermark.
            long from = Long.parseLong(ask(child, "own orphan"));
            assertTrue(from > 2 * GENERATION && from <= acked, "from " + from);
            assertEquals(Long.toString(from), ask(child, "pop " + (acked + 10 - from)));
        }
    }

    /** The deleting process was killed after the page was marked deleted, before the file was deleted. */
    @Test
    void aHalfDeletedConsumerHoldsNothingAndCanBeCreatedAgain() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build());
                ChildJvm child = new ChildJvm(ConsumerChild.class, directory())) {
            queue.createConsumer("half", StartAt.EARLIEST);
            push(queue, 5);
            Path page = directory().resolve("consumers/half.dat");
            try (MetaPage meta = MetaPageV2.open(DiskStorage.INSTANCE, directory());
                    ConsumerPage half = ConsumerPage.open(DiskStorage.INSTANCE, page, meta.fields())) {
                half.delete();
            }
            assertWhole(queue.consumer(), 0, 5);
            queue.consumer().ackUpTo(4);
            pushAndAck(queue, 2 * GENERATION);
            long first = queue.firstOffset();
            assertTrue(first > GENERATION);
            assertEquals(Long.toString(first), ask(child, "own half"));
            assertEquals("ok", ask(child, "delete half"));
            assertFalse(Files.exists(page));
            pushAndAck(queue, GENERATION);
        }
    }

    /** The deleting process was killed after the file was deleted, too. */
    @Test
    void aDeletedConsumerWithoutAFileIsCreatedAgain() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build());
                ChildJvm child = new ChildJvm(ConsumerChild.class, directory())) {
            queue.createConsumer("gone", StartAt.EARLIEST);
            pushAndAck(queue, 20);
            assertEquals("0", ask(child, "own other"));
            Path page = directory().resolve("consumers/gone.dat");
            try (MetaPage meta = MetaPageV2.open(DiskStorage.INSTANCE, directory());
                    ConsumerPage gone = ConsumerPage.open(DiskStorage.INSTANCE, page, meta.fields())) {
                gone.delete();
            }
            Files.delete(page);
            assertEquals("ok", ask(child, "delete other"));
            pushAndAck(queue, GENERATION);
            long first = queue.firstOffset();
            assertEquals(Long.toString(first), ask(child, "own gone"));
            push(queue, 10);
            assertEquals(List.of("default", "gone"), queue.consumers());
            assertEquals(Long.toString(first), ask(child, "pop 10"));
        }
    }
}
