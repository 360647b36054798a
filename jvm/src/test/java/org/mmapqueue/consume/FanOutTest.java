package org.mmapqueue.consume;

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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** Several consumers of one queue: each gets every record, in its own time. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FanOutTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path directory;
    private MmapQueue queue;

    @BeforeEach
    void open() {
        directory = temp.resolve("queue");
        reopen();
    }

    private void reopen() {
        if (queue != null) {
            queue.close();
        }
        queue = MmapQueue.open(QueueConfig.builder(directory)
                .segmentSize(4096)
                .queueCapacitySegments(8)
                .maxInMemSegments(8)
                .maxEventSize(5000)
                .flushPeriod(Duration.ofMinutes(10))
                .build());
    }

    @AfterEach
    void close() {
        queue.close();
    }

    private List<byte[]> push(int from, int to) {
        List<byte[]> payloads = new ArrayList<>();
        for (int i = from; i < to; i++) {
            payloads.add(Payload.numbered(i, 300));
        }
        Payload.pushAll(queue, payloads);
        return payloads;
    }

    private int pushUntilFull() {
        int pushed = 0;
        try {
            while (true) {
                queue.push(Payload.numbered(queue.endOffset(), 300));
                pushed++;
            }
        } catch (FullException e) {
            return pushed;
        }
    }

    @Test
    void everyConsumerGetsEveryRecord() {
        Consumer one = queue.consumer("one", StartAt.EARLIEST);
        Consumer two = queue.consumer("two", StartAt.EARLIEST);
        List<byte[]> payloads = push(0, 40);
        for (Consumer each : List.of(one, two, queue.consumer())) {
            Payload.assertMessages(0, payloads, Payload.drain(each));
            assertNull(each.poll());
        }
        assertEquals(
                List.of("one", "two", "default"),
                List.of(one.name(), two.name(), queue.consumer().name()));
    }

    @Test
    void positionsAreIndependentAndSurviveAReopening() {
        queue.createConsumer("default", StartAt.EARLIEST);
        queue.consumer("one", StartAt.EARLIEST);
        List<byte[]> payloads = push(0, 40);
        Consumer one = queue.consumer("one", StartAt.EARLIEST);
        Payload.drain(one);
        one.ackUpTo(19);
        queue.consumer().pop();
        assertThrows(OutOfRangeException.class, () -> queue.consumer().ackUpTo(1));
        queue.consumer().ackUpTo(0);
        assertEquals(20, one.committedOffset());
        assertEquals(1, queue.consumer().committedOffset());
        assertEquals(20, one.lag());
        assertEquals(39, queue.consumer().lag());
        reopen();
        // An existing consumer ignores the start.
        Payload.assertMessages(20, payloads.subList(20, 40), Payload.drain(queue.consumer("one", StartAt.LATEST)));
        Payload.assertMessages(1, payloads.subList(1, 40), Payload.drain(queue));
    }

    @Test
    void latestBeginsWithTheNextRecord() {
        push(0, 25);
        Consumer late = queue.consumer("late", StartAt.LATEST);
        assertEquals(25, late.readOffset());
        assertEquals(0, late.lag());
        assertNull(late.poll());
        List<byte[]> more = push(25, 35);
        Payload.assertMessages(25, more, Payload.drain(late));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 12, 13, 14, 26, 27, 50})
    void latestMayBeAnyPositionInASegment(int before) {
        push(0, before);
        Consumer late = queue.consumer("late", StartAt.LATEST);
        assertEquals(before, late.readOffset());
        reopen();
        Consumer again = queue.consumer("late", StartAt.EARLIEST);
        assertEquals(before, again.readOffset());
        Payload.assertMessages(before, push(before, before + 20), Payload.drain(again));
    }

    @Test
    void earliestBeginsWithTheOldestRecordThatAConsumerHasNotAcked() {
        List<byte[]> payloads = push(0, 40);
        Payload.drain(queue);
        queue.consumer().ackUpTo(14);
        Consumer early = queue.consumer("early", StartAt.EARLIEST);
        assertEquals(15, early.readOffset());
        Payload.assertMessages(15, payloads.subList(15, 40), Payload.drain(early));
    }

    @Test
    void spaceIsFreeBelowTheLowWatermarkOnly() {
        Consumer slow = queue.consumer("slow", StartAt.EARLIEST);
        int pushed = pushUntilFull();
        assertTrue(pushed > 80, "pushed " + pushed);
        Payload.drain(queue);
        queue.consumer().ackUpTo(pushed - 1);
        assertEquals(0, pushUntilFull());
        Payload.drain(slow);
        slow.ackUpTo(pushed / 2);
        int more = pushUntilFull();
        assertTrue(more > pushed / 2 - 30 && more <= pushed / 2 + 15, more + " of " + pushed);
        assertEquals(0, pushUntilFull());
        assertEquals(slow.committedOffset(), queue.stats().endOffset() - slow.lag());
    }

    @Test
    void aConsumerThatIsNotOpenHoldsItsSpaceToo() {
        queue.consumer("away", StartAt.EARLIEST);
        reopen();
        int pushed = pushUntilFull();
        Payload.drain(queue);
        queue.consumer().ackUpTo(pushed - 1);
        assertEquals(0, pushUntilFull());
        Consumer away = queue.consumer("away", StartAt.EARLIEST);
        assertEquals(pushed, Payload.drain(away).size());
        away.ackUpTo(pushed - 1);
        assertTrue(pushUntilFull() > 80);
    }

    @Test
    void aConsumerMadeForOthersHoldsItsSpace() {
        queue.createConsumer("later", StartAt.EARLIEST);
        queue.createConsumer("later", StartAt.LATEST); // exists already
        int pushed = pushUntilFull();
        Payload.drain(queue);
        queue.consumer().ackUpTo(pushed - 1);
        assertEquals(0, pushUntilFull());
        assertEquals(
                pushed, Payload.drain(queue.consumer("later", StartAt.LATEST)).size());
    }

    @Test
    void anAckOfTheSlowestConsumerWakesAWaitingPush() throws Exception {
        Consumer slow = queue.consumer("slow", StartAt.EARLIEST);
        int pushed = pushUntilFull();
        Payload.drain(queue);
        Payload.drain(slow);
        queue.consumer().ackUpTo(pushed - 1);
        Waiting.Running<Long> pushing =
                Waiting.start(() -> queue.push(new byte[300], Waiting.LONG)).untilItWaits();
        assertFalse(pushing.isDone());
        slow.ackUpTo(pushed - 1);
        assertEquals(pushed, pushing.result());
    }

    @Test
    void handlesShareAConsumer() {
        push(0, 10);
        try (MmapQueue second = MmapQueue.open(QueueConfig.builder(directory).build())) {
            Consumer here = queue.consumer("shared", StartAt.EARLIEST);
            Consumer there = second.consumer("shared", StartAt.LATEST);
            assertEquals(0, here.pop().offset());
            assertEquals(1, there.pop().offset());
            there.ackUpTo(1);
            assertEquals(2, here.committedOffset());
        }
    }

    @Test
    void namesThatAreNoFileNamesThrow() {
        for (String name : List.of("", "..", ".", ".hidden", "-x", "a/b", "a b", "ä", "x".repeat(101), "a\0b")) {
            ConfigException thrown = assertThrows(ConfigException.class, () -> queue.consumer(name, StartAt.EARLIEST));
            assertEquals("consumer", thrown.key());
            assertEquals(name, thrown.value());
        }
        for (String name : List.of("a", "_", "0", "a.b-c_D9", "x".repeat(100))) {
            queue.createConsumer(name, StartAt.EARLIEST);
            assertTrue(Files.exists(directory.resolve("consumers").resolve(name + ".dat")));
        }
        reopen();
        assertEquals(0, queue.consumer("x".repeat(100), StartAt.LATEST).readOffset());
    }

    @Test
    void consumersProgressAtDifferentSpeeds() throws Exception {
        int total = 4000;
        Waiting.Running<Boolean> producer = Waiting.start(() -> {
            for (int i = 0; i < total; i++) {
                queue.push(Payload.numbered(i, i % 50 == 0 ? 5000 : 100), Waiting.LONG);
            }
            return true;
        });
        List<Waiting.Running<Boolean>> consumers = new ArrayList<>();
        for (String name : List.of("default", "one", "two")) {
            Consumer consumer = queue.consumer(name, StartAt.EARLIEST);
            int most = name.equals("two") ? 7 : 100;
            consumers.add(Waiting.start(() -> {
                long next = consumer.readOffset();
                while (next < total) {
                    List<Message> batch = consumer.popBatch(most, Long.MAX_VALUE, Duration.ofMillis(5));
                    for (Message message : batch) {
                        assertEquals(next, message.offset());
                        assertEquals(next++, Payload.numberOf(message.data()));
                    }
                    if (!batch.isEmpty()) {
                        consumer.ackUpTo(next - 1);
                    }
                }
                return true;
            }));
        }
        assertTrue(producer.result());
        for (Waiting.Running<Boolean> consumer : consumers) {
            assertTrue(consumer.result());
        }
        assertTrue(queue.stats().peakMappedSegments() <= 8);
        assertEquals(queue.stats().writingPosition(), queue.stats().lowWatermark());
    }

    /** The writer reclaims the start that a new consumer has chosen before its page exists: it chooses again. */
    @Test
    void aConsumerCreatedDuringAWrapStartsAtTheLogStart() {
        queue.close();
        FaultyStorage storage = new FaultyStorage();
        QueueCore core = Cores.open(QueueConfig.builder(directory).build(), storage);
        try {
            ConsumerCore first = core.consumer("default", StartAt.EARLIEST);
            for (int i = 0; i < 20; i++) {
                core.writer().push(Payload.numbered(i, 300), 0, 300);
            }
            boolean[] busy = new boolean[1];
            storage.failWhen((call, path) -> {
                if (path.endsWith("named.dat.new") && !busy[0]) {
                    busy[0] = true;
                    for (int i = 20; i < 1000; i++) {
                        core.writer().push(Payload.numbered(i, 300), 0, 300);
                        core.ackUpTo(first, first.poll().offset());
                    }
                }
                return false;
            });
            ConsumerCore named = core.consumer("named", StartAt.EARLIEST);
            assertTrue(busy[0]);
            long begin = named.readOffset();
            assertTrue(begin > 20 && begin <= first.committedOffset(), "begins at " + begin);
            for (long i = begin; i < 1000; i++) {
                Message message = named.poll();
                assertEquals(i, message.offset());
                assertEquals(i, Payload.numberOf(message.data()));
            }
            assertNull(named.poll());
        } finally {
            storage.heal();
            core.close();
        }
    }

    @Test
    void consumersAreCreatedWhileTheRingWraps() throws Exception {
        int total = 3000;
        queue.createConsumer("default", StartAt.EARLIEST);
        Waiting.Running<Boolean> working = Waiting.start(() -> {
            for (int i = 0; i < total; i++) {
                queue.push(Payload.numbered(i, 200), Waiting.LONG);
                queue.consumer().ackUpTo(queue.consumer().pop().offset());
            }
            return true;
        });
        // The first record of a new consumer is retained, whatever the writer reclaims at that moment.
        for (int i = 0; !working.isDone() && i < 4; i++) {
            Consumer fresh = queue.consumer("fresh-" + i, i % 2 == 0 ? StartAt.EARLIEST : StartAt.LATEST);
            long next = fresh.readOffset();
            while (next < total) {
                for (Message message : fresh.popBatch(50, Long.MAX_VALUE, Duration.ofMillis(2))) {
                    assertEquals(next, message.offset());
                    assertEquals(next++, Payload.numberOf(message.data()));
                    fresh.ackUpTo(message.offset());
                }
                if (next > (i + 1) * total / 5) {
                    break;
                }
            }
            Waiting.start(
                    () -> { // continues to read, or it would fill the ring
                        while (fresh.committedOffset() < total) {
                            for (Message message : fresh.popBatch(50, Long.MAX_VALUE, Duration.ofMillis(2))) {
                                fresh.ackUpTo(message.offset());
                            }
                        }
                        return true;
                    });
        }
        assertTrue(working.result());
    }
}
