package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.TestDisk;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/**
 * A clean close saves the attempts of records in flight and the acks out of order. A crash loses what has happened since
 * the close or the last flush.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class AttemptsSurviveCloseTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path directory;
    private MmapQueue queue;

    @BeforeEach
    void setUp() {
        directory = temp.resolve("queue");
        open();
        for (int i = 0; i < 10; i++) {
            queue.push(Payload.numbered(i, 500));
        }
    }

    private void open() {
        queue = MmapQueue.open(config());
    }

    private QueueConfig config() {
        return QueueConfig.builder(directory)
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .maxInMemSegments(6)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    @AfterEach
    void close() {
        queue.close();
    }

    private Path inFlight(String name) {
        return directory.resolve("consumers").resolve(name + ".inflight");
    }

    /** Pops every record; 0 is popped three times, 1 twice and nacked; 3 and 6 are acked. */
    private void work(Consumer consumer) {
        Payload.drain(consumer);
        consumer.nack(0);
        consumer.pop();
        consumer.nack(0);
        consumer.nack(1);
        consumer.pop();
        consumer.pop();
        consumer.nack(1);
        consumer.ack(new long[] {3, 6});
    }

    private static void assertPops(Consumer consumer, long[] offsets, int... attempts) {
        List<Message> all = Payload.drain(consumer);
        assertEquals(offsets.length, all.size());
        for (int i = 0; i < offsets.length; i++) {
            assertEquals(offsets[i], all.get(i).offset());
            assertEquals(attempts[i], all.get(i).attempts(), "attempts of record " + offsets[i]);
            assertEquals(offsets[i], Payload.numberOf(all.get(i).data()));
        }
    }

    private static void assertRestored(Consumer consumer) {
        assertEquals(0, consumer.committedOffset());
        assertEquals(0, consumer.unacked());
        assertEquals(4, consumer.peek().attempts());
        assertPops(consumer, new long[] {0, 1, 2, 4, 5, 7, 8, 9}, 4, 3, 2, 2, 2, 2, 2, 2);
    }

    @Test
    void aCleanCloseSavesAttemptsAndAcks() {
        work(queue.consumer());
        queue.close();
        assertTrue(Files.exists(inFlight("default")));
        open();
        assertRestored(queue.consumer());
        queue.consumer().ackUpTo(2);
        assertEquals(4, queue.consumer().committedOffset());
    }

    @Test
    void theCloseOfAConsumerSavesThemToo() {
        Consumer consumer = queue.consumer("one", StartAt.EARLIEST);
        work(consumer);
        consumer.close();
        assertRestored(queue.consumer("one", StartAt.EARLIEST));
    }

    @Test
    void savedAttemptsSurviveOpensWithoutTheConsumer() {
        work(queue.consumer("one", StartAt.EARLIEST));
        for (int i = 0; i < 3; i++) {
            queue.close();
            open();
        }
        assertRestored(queue.consumer("one", StartAt.EARLIEST));
    }

    @Test
    void savedAttemptsSurviveSeveralClosesUntilRedelivery() {
        work(queue.consumer());
        queue.close();
        open();
        assertEquals(4, queue.consumer().pop().attempts());
        queue.close();
        open();
        assertPops(queue.consumer(), new long[] {0, 1, 2, 4, 5, 7, 8, 9}, 5, 3, 2, 2, 2, 2, 2, 2);
        queue.consumer().ackUpTo(9);
        queue.close();
        assertFalse(Files.exists(inFlight("default")), "nothing is in flight");
    }

    /** A count of attempts has 14 bits; at its maximum it stays there and changes no other bit. */
    @Test
    void attemptsAtTheMaximumSurviveACloseAndCanBeNacked() {
        Consumer consumer = queue.consumer();
        for (int i = 0; i < 16_390; i++) {
            assertEquals(0, consumer.pop().offset());
            consumer.nack(0);
        }
        queue.close();
        open();
        Consumer again = queue.consumer();
        assertEquals(16_383, again.pop().attempts());
        assertEquals(1, again.unacked());
        again.nack(0);
        assertEquals(0, again.pop().offset());
        again.nack(0);
        assertEquals(0, again.peek().offset());
    }

    @Test
    void aCrashBeforeTheFirstFlushForgetsAttemptsAndAcks() {
        work(queue.consumer());
        queue.consumer().ack(0);
        Path copy = Directories.copy(directory, temp.resolve("copy"));
        queue.close();
        directory = copy;
        open();
        assertEquals(1, queue.consumer().committedOffset());
        assertPops(queue.consumer(), new long[] {1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    }

    /** What has happened since the close and before the first flush is lost. */
    @Test
    void aCrashKeepsTheAttemptsOfAnEarlierClose() {
        work(queue.consumer());
        queue.close();
        open();
        queue.consumer().pop();
        aCrashOfTheCopy();
        assertRestored(queue.consumer());
    }

    private void aCrashOfTheCopy() {
        Path copy = Directories.copy(directory, temp.resolve("copy"));
        queue.close();
        directory = copy;
        open();
    }

    @Test
    void aCrashDoesNotAffectAClosedConsumer() {
        Consumer consumer = queue.consumer("one", StartAt.EARLIEST);
        work(consumer);
        consumer.close();
        aCrashOfTheCopy();
        assertRestored(queue.consumer("one", StartAt.EARLIEST));
    }

    @Test
    void aNewConsumerOfTheSameNameHasNoAttempts() {
        Consumer consumer = queue.consumer("one", StartAt.EARLIEST);
        work(consumer);
        consumer.close();
        queue.deleteConsumer("one");
        assertFalse(Files.exists(inFlight("one")));
        assertPops(
                queue.consumer("one", StartAt.EARLIEST),
                new long[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
                1,
                1,
                1,
                1,
                1,
                1,
                1,
                1,
                1,
                1);
    }

    @Test
    void aSeekForgetsAttemptsAndAcks() {
        work(queue.consumer());
        queue.close();
        open();
        queue.consumer().seek(StartAt.EARLIEST);
        assertPops(queue.consumer(), new long[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    }

    /** The acks are lost only if the records are damaged. */
    @Test
    void anOpenThatCannotReadTheLogKeepsTheAcks() {
        work(queue.consumer("a", StartAt.EARLIEST));
        for (int i = 10; i < 30; i++) { // so that the writer does not map what the consumer reads
            queue.push(Payload.numbered(i, 500));
        }
        queue.close();
        TestDisk disk = new TestDisk();
        int failed = 0;
        while (true) {
            queue = disk.open(config());
            disk.failOnce(failed, FaultyStorage.Fault.NO_MAPPING);
            try {
                queue.consumer("a", StartAt.EARLIEST);
                break;
            } catch (MmapQueueException e) {
                failed++;
                disk.heal();
                queue.close();
            }
        }
        disk.heal();
        assertTrue(failed > 0, "no call has failed");
        assertEquals(
                List.of(0L, 1L, 2L, 4L, 5L, 7L, 8L, 9L),
                Payload.drain(queue.consumer("a", StartAt.EARLIEST)).stream()
                        .map(Message::offset)
                        .limit(8)
                        .toList());
    }
}
