package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
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
import org.mmapqueue.errors.UnackedLimitException;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** A consumer may pop max_unacked records, counted from its first unacked one. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class UnackedLimitTest {
    private static final int LIMIT = 5;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue queue;
    private Consumer consumer;

    @BeforeEach
    void open() {
        queue = MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .maxInMemSegments(6)
                .flushPeriod(Duration.ofMinutes(10))
                .maxUnacked(LIMIT)
                .build());
        consumer = queue.consumer();
    }

    @AfterEach
    void close() {
        queue.close();
    }

    private void push(int count) {
        for (int i = 0; i < count; i++) {
            queue.push(Payload.numbered(queue.endOffset(), 300));
        }
    }

    private void popToTheLimit() {
        for (int i = 0; i < LIMIT; i++) {
            assertEquals(i, consumer.pop().offset());
        }
    }

    @Test
    void everyPopThrows() {
        push(LIMIT + 1);
        popToTheLimit();
        UnackedLimitException thrown = assertThrows(UnackedLimitException.class, () -> consumer.poll());
        assertTrue(
                thrown.getMessage().contains("default") && thrown.getMessage().contains("max_unacked"),
                thrown.getMessage());
        assertThrows(UnackedLimitException.class, () -> consumer.pop());
        assertThrows(UnackedLimitException.class, () -> consumer.pop(Duration.ofMillis(10)));
        assertThrows(UnackedLimitException.class, () -> consumer.popBatch(9, Long.MAX_VALUE, Duration.ZERO));
        assertThrows(
                UnackedLimitException.class,
                () -> consumer.poll((offset, timestamp, buffer, start, length, attempts) -> {}));
        assertEquals(LIMIT, consumer.unacked());
        assertEquals(LIMIT, consumer.readOffset());
        assertEquals(LIMIT, consumer.peek().offset());
    }

    @Test
    void aPopOfAnEmptyQueueThrowsNothing() throws InterruptedException {
        push(LIMIT);
        popToTheLimit();
        assertNull(consumer.poll());
        assertTrue(consumer.popBatch(9, Long.MAX_VALUE, Duration.ofMillis(1)).isEmpty());
    }

    @Test
    void aBatchEndsAtTheLimit() throws InterruptedException {
        push(20);
        assertEquals(LIMIT, consumer.popBatch(20, Long.MAX_VALUE, Duration.ZERO).size());
        consumer.ackUpTo(2);
        assertEquals(3, consumer.popBatch(20, Long.MAX_VALUE, Duration.ZERO).size());
        assertThrows(UnackedLimitException.class, () -> consumer.popBatch(20, Long.MAX_VALUE, Duration.ZERO));
    }

    @Test
    void theLimitCountsFromTheFirstUnackedRecord() {
        push(20);
        popToTheLimit();
        consumer.ack(new long[] {1, 2, 3, 4});
        assertThrows(UnackedLimitException.class, () -> consumer.poll());
        consumer.ack(0);
        for (int i = 0; i < LIMIT; i++) {
            assertEquals(LIMIT + i, consumer.pop().offset());
        }
        assertThrows(UnackedLimitException.class, () -> consumer.poll());
    }

    @Test
    void requeuedRecordsArePoppedAtTheLimit() {
        push(20);
        popToTheLimit();
        consumer.nack(3);
        assertEquals(3, consumer.pop().offset());
        assertThrows(UnackedLimitException.class, () -> consumer.poll());
        assertEquals(LIMIT, consumer.unacked());
    }

    @Test
    void aWaitingPopIsWokenByTheAck() throws Exception {
        push(20);
        popToTheLimit();
        Waiting.Running<Message> fetcher =
                Waiting.start(() -> consumer.pop(Waiting.LONG)).untilItWaits();
        assertFalse(fetcher.isDone());
        consumer.ack(0);
        assertEquals(LIMIT, fetcher.result().offset());
    }

    @Test
    void aWaitingPopIsWokenByANack() throws Exception {
        push(20);
        popToTheLimit();
        Waiting.Running<Message> fetcher =
                Waiting.start(() -> consumer.pop(Waiting.LONG)).untilItWaits();
        consumer.nack(2);
        assertEquals(2, fetcher.result().offset());
    }

    @Test
    void aSeekRestoresTheWholeLimit() {
        push(20);
        popToTheLimit();
        consumer.seek(StartAt.offset(10));
        for (int i = 0; i < LIMIT; i++) {
            assertEquals(10 + i, consumer.pop().offset());
        }
        assertThrows(UnackedLimitException.class, () -> consumer.poll());
    }

    @Test
    void eachConsumerHasItsOwnLimit() {
        Consumer other = queue.consumer("other", StartAt.EARLIEST);
        push(20);
        popToTheLimit();
        assertEquals(0, other.pop().offset());
        other.ackUpTo(0);
        assertThrows(UnackedLimitException.class, () -> consumer.poll());
    }
}
