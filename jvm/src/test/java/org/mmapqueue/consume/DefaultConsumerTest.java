package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.Payload;

/** The consumer {@code default} is created by the first call that asks for it; without a consumer a queue retains all. */
class DefaultConsumerTest extends SmallRing {
    private static final String DEFAULT = "default";

    /** Calls that create the default consumer. */
    enum Creation {
        CONSUMER(MmapQueue::consumer),
        NAMED(queue -> queue.consumer(DEFAULT, StartAt.EARLIEST)),
        CREATE(queue -> queue.createConsumer(DEFAULT, StartAt.EARLIEST));

        private final java.util.function.Consumer<MmapQueue> call;

        Creation(java.util.function.Consumer<MmapQueue> call) {
            this.call = call;
        }
    }

    @Test
    void aNewQueueHasNoConsumer() {
        assertEquals(List.of(), queue.consumers());
        assertEquals(List.of(), queue.consumerStats());
        push(3);
        queue.flush();
        queue.stats();
        queue.gc();
        reopen();
        assertEquals(List.of(), queue.consumers());
        assertFalse(queue.owns(DEFAULT));
    }

    @ParameterizedTest
    @EnumSource
    void createdAtTheLogStartAndKept(Creation creation) {
        push(3);
        assertEquals(List.of(), queue.consumers());
        creation.call.accept(queue);
        assertEquals(List.of(DEFAULT), queue.consumers());
        reopen();
        assertEquals(List.of(DEFAULT), queue.consumers());
        assertEquals(0, queue.consumer().pop().offset());
    }

    @Test
    void withoutConsumersTheQueueRetainsAllUntilItIsFull() {
        int count = fill();
        reopen();
        assertThrows(FullException.class, () -> push(1));
        assertEquals(0, queue.gc());
        assertEquals(0, queue.firstOffset());
        assertEquals(List.of(), queue.consumers());
        Consumer late = queue.consumer("late", StartAt.EARLIEST);
        assertEquals(count, Payload.drain(late).size());
        late.ack(count - 1);
        assertTrue(fill() > 0);
        assertEquals(List.of("late"), queue.consumers());
    }

    @Test
    void aNamedConsumerAloneDecidesWhatIsRetained() {
        Consumer only = queue.consumer("only", StartAt.EARLIEST);
        for (int turn = 0; turn < 10; turn++) {
            push(60);
            Payload.drain(only);
            only.ack(queue.endOffset() - 1);
        }
        assertEquals(List.of("only"), queue.consumers());
        assertEquals(600, queue.firstOffset());
    }

    @Test
    void withoutConsumersAKillLosesNothing() {
        push(10);
        reopenAfterKill();
        assertEquals(List.of(), queue.consumers());
        assertEquals(0, queue.firstOffset());
        assertEquals(10, Payload.drain(queue).size());
    }

    @Test
    void createdAgainAtTheLogStartAfterItsDeletion() {
        push(10);
        Payload.drain(queue);
        queue.consumer().ack(3);
        queue.deleteConsumer(DEFAULT);
        assertEquals(List.of(), queue.consumers());
        assertEquals(4, queue.consumer().pop().offset(), "acked records are not redelivered");
        assertEquals(List.of(DEFAULT), queue.consumers());
    }

    @Test
    void theLastConsumerCanBeDeletedAndItsSpaceStaysFree() {
        Consumer only = queue.consumer("only", StartAt.EARLIEST);
        for (int turn = 0; turn < 5; turn++) {
            push(60);
            Payload.drain(only);
            only.ack(queue.endOffset() - 1);
        }
        queue.deleteConsumer("only");
        assertEquals(300, queue.firstOffset());
        push(60);
        assertEquals(300, queue.firstOffset(), "from then on everything is retained");
        reopen();
        assertEquals(300, queue.firstOffset());
        reopenAfterKill();
        assertEquals(300, queue.firstOffset());
        assertEquals(60, Payload.drain(queue.consumer("late", StartAt.EARLIEST)).size());
    }

    @Test
    void recordsThatTheLastConsumerHadNotAckedAreRetained() {
        Consumer fast = queue.consumer("fast", StartAt.EARLIEST);
        Consumer slow = queue.consumer("slow", StartAt.EARLIEST);
        push(20);
        Payload.drain(fast);
        fast.ack(14);
        Payload.drain(slow);
        slow.ack(4);
        queue.deleteConsumer("fast");
        assertEquals(5, queue.firstOffset());
        queue.deleteConsumer("slow");
        assertEquals(5, queue.firstOffset());
        assertEquals(5, queue.consumer().pop().offset());
    }

    /** With max_consumer_lag a writer never waits, not even without consumers. */
    @Test
    void maxConsumerLagHoldsWithoutAConsumer() {
        queue.close();
        queue = MmapQueue.open(config().maxConsumerLag(12_288).build());
        push(400);
        long first = queue.firstOffset();
        assertTrue(first > 300 && first < 400, "first " + first);
        assertEquals(List.of(), queue.consumers());
        reopenAfterKill();
        assertTrue(queue.firstOffset() >= first, "first " + queue.firstOffset());
        assertEquals(
                queue.endOffset() - queue.firstOffset(), Payload.drain(queue).size());
    }

    @Test
    void version1AlwaysHasTheDefaultConsumer() {
        openVersion1();
        assertEquals(List.of(DEFAULT), queue.consumers());
        assertThrows(ConfigException.class, () -> queue.deleteConsumer(DEFAULT));
        assertNull(queue.consumer().peek());
        push(2);
        assertEquals(0, queue.consumer().peek().offset());
        assertThrows(OutOfRangeException.class, () -> queue.consumer().ack(0));
    }
}
