package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.mmapqueue.Consumer;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;

/** Acks of records at the end of a segment, when the reader has rolled into the next one. */
class SegmentEndAckTest extends SmallRing {
    private static final int HEADERS = 64 + 16;

    @Override
    QueueConfig.Builder config() {
        return super.config().maxEventSize(SEGMENT);
    }

    @Test
    void theCommittedPositionIsTheEndOfARecord() {
        Consumer consumer = queue.consumer("a", StartAt.EARLIEST);
        for (int i = 0; i < 3; i++) {
            queue.push(new byte[SEGMENT - HEADERS]); // each fills a segment
        }
        consumer.pop();
        assertEquals(1, consumer.peek().offset());
        consumer.ackUpTo(0);
        consumer.pop();
        consumer.pop();
        consumer.ack(1);
        queue.close();
        assertIsWhole();
    }
}
