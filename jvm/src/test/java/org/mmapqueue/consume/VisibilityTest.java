package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** Records that are neither acked nor nacked are redelivered after visibility_timeout. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class VisibilityTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue queue;

    private Consumer open(long timeoutMillis) {
        queue = MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .maxInMemSegments(6)
                .maxEventSize(3000)
                .flushPeriod(Duration.ofMillis(600_000))
                .visibilityTimeout(Duration.ofMillis(timeoutMillis))
                .build());
        return queue.consumer();
    }

    @AfterEach
    void close() {
        queue.close();
    }

    private void push(int count) {
        for (int i = 0; i < count; i++) {
            queue.push(Payload.numbered(i, 300));
        }
    }

    @Test
    void unackedRecordsAreRedeliveredWithTheirAttempts() throws InterruptedException {
        Consumer consumer = open(20);
        push(1);
        for (int attempts = 1; attempts < 5; attempts++) {
            Message message = consumer.pop(Waiting.LONG);
            assertEquals(0, message.offset());
            assertEquals(attempts, message.attempts());
            assertEquals(1, consumer.unacked());
        }
        consumer.ackUpTo(0);
        assertEquals(1, consumer.committedOffset());
    }

    /** Each delivery of a record adds one attempt; an acked record is not redelivered. */
    @Test
    void ackedRecordsAreNotRedelivered() throws InterruptedException {
        Consumer consumer = open(10);
        int count = 20;
        push(count);
        int[] attempts = new int[count];
        boolean[] acked = new boolean[count];
        int left = count;
        while (left > 0) {
            for (Message message : consumer.popBatch(7, Long.MAX_VALUE, Waiting.LONG)) {
                int offset = (int) message.offset();
                assertEquals(offset, Payload.numberOf(message.data()));
                assertFalse(acked[offset], "record " + offset + " came after its ack");
                assertEquals(++attempts[offset], message.attempts());
                if (attempts[offset] == 1 + offset % 4) {
                    consumer.ack(offset);
                    acked[offset] = true;
                    left--;
                } else if (offset % 3 == 0) {
                    consumer.nack(offset);
                }
            }
        }
        assertEquals(count, consumer.committedOffset());
        assertNull(consumer.poll());
    }

    @Test
    void noRecordIsRedeliveredBeforeItsTimeout() {
        Consumer consumer = open(Duration.ofDays(1).toMillis());
        push(3);
        assertEquals(3, Payload.drain(consumer).size());
        assertNull(consumer.poll());
        assertNull(consumer.peek());
        consumer.nack(1);
        assertEquals(1, consumer.pop().offset());
        assertNull(consumer.poll());
    }

    @Test
    void withoutATimeoutRecordsStayInFlight() {
        Consumer consumer = open(0);
        push(3);
        assertEquals(3, Payload.drain(consumer).size());
        assertNull(consumer.poll());
        assertEquals(3, consumer.unacked());
    }

    @Test
    void timedOutRecordsPrecedeNewOnes() throws InterruptedException {
        Consumer consumer = open(20);
        push(1);
        assertEquals(0, consumer.pop().offset());
        // peek requeues expired records, too, and pops nothing.
        Waiting.until("record 0 can be seen again", () -> consumer.peek() != null);
        queue.push(Payload.numbered(1, 300));
        Message again = consumer.pop();
        assertEquals(0, again.offset());
        assertEquals(2, again.attempts());
    }

    @Test
    void aTimeoutDoesNotAffectOtherConsumers() throws InterruptedException {
        open(20);
        Consumer consumer = queue.consumer("default", StartAt.EARLIEST);
        Consumer other = queue.consumer("other", StartAt.EARLIEST);
        push(1);
        assertEquals(0, other.pop().offset());
        other.ackUpTo(0);
        assertEquals(0, consumer.pop().offset());
        assertEquals(0, consumer.pop(Waiting.LONG).offset());
        assertNull(other.poll());
    }

    @Test
    void aSeekForgetsRecordsInFlight() throws InterruptedException {
        Consumer consumer = open(20);
        push(4);
        consumer.popBatch(3, Long.MAX_VALUE, Duration.ZERO);
        consumer.seek(StartAt.offset(3));
        Message first = consumer.pop();
        assertEquals(3, first.offset());
        // Records in flight before the seek would precede the second delivery of this one.
        Message second = consumer.pop(Waiting.LONG);
        assertEquals(3, second.offset());
        assertEquals(2, second.attempts());
    }
}
