package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** The consumer {@code default} is made by the first call that reads as it; without a consumer a queue keeps all. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DefaultConsumerTest {
    private static final String DEFAULT = "default";

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path directory;
    private MmapQueue queue;

    /** Calls that read as the default consumer, or say where it reads. */
    enum Reading {
        POP(queue -> queue.pop()),
        POLL(queue -> queue.poll()),
        POP_WAITING(queue -> interruptibly(() -> queue.pop(Duration.ofSeconds(1)))),
        POP_BATCH(queue -> interruptibly(() -> queue.popBatch(3, 10_000, Duration.ZERO))),
        SEEK(queue -> queue.seek(StartAt.LATEST)),
        CONSUMER(queue -> queue.consumer()),
        NAMED(queue -> queue.consumer(DEFAULT, StartAt.LATEST)),
        CREATE(queue -> queue.createConsumer(DEFAULT, StartAt.LATEST));

        private final QueueCall call;

        Reading(QueueCall call) {
            this.call = call;
        }
    }

    private interface QueueCall {
        void run(MmapQueue queue);
    }

    private interface Call {
        void run() throws InterruptedException;
    }

    private static void interruptibly(Call call) {
        try {
            call.run();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @BeforeEach
    void setUp() {
        directory = temp.resolve("queue");
        open();
    }

    private QueueConfig.Builder config() {
        return QueueConfig.builder(directory)
                .segmentSize(4096)
                .queueCapacitySegments(8)
                .maxInMemSegments(8)
                .maxEventSize(3000)
                .flushPeriodMillis(600_000);
    }

    private void open() {
        queue = MmapQueue.open(config().build());
    }

    private void reopen() {
        queue.close();
        open();
    }

    private void goOnWithACopy() {
        Path copy = Directories.copy(directory, temp.resolve("copy"));
        queue.close();
        directory = copy;
        open();
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

    private int fill() {
        for (int count = 0; ; count++) {
            try {
                push(1);
            } catch (FullException e) {
                return count;
            }
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
    void theFirstCallThatReadsMakesIt(Reading reading) {
        push(3);
        assertEquals(List.of(), queue.consumers());
        reading.call.run(queue);
        assertEquals(List.of(DEFAULT), queue.consumers());
        reopen();
        assertEquals(List.of(DEFAULT), queue.consumers());
    }

    @ParameterizedTest
    @EnumSource(names = {"POP", "POLL", "POP_WAITING", "POP_BATCH", "CONSUMER"})
    void itBeginsWithTheOldestRecord(Reading reading) {
        push(3);
        reading.call.run(queue);
        queue.close();
        open();
        assertEquals(0, queue.pop().offset());
    }

    @Test
    void aQueueWithoutAConsumerKeepsAllUntilItIsFull() {
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

    /** Whoever makes a consumer of a name is not held up by one that nobody has asked for. */
    @Test
    void aNamedConsumerAloneDecidesWhatIsKept() {
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
    void itSurvivesAKillThatNobodyHasRead() {
        push(10);
        goOnWithACopy();
        assertEquals(List.of(), queue.consumers());
        assertEquals(0, queue.firstOffset());
        assertEquals(10, Payload.drain(queue).size());
    }

    @Test
    void ackAndNackDoNotMakeIt() {
        push(2);
        for (boolean deleted : new boolean[] {false, true}) {
            assertThrows(OutOfRangeException.class, () -> queue.ack(0), "deleted " + deleted);
            assertThrows(OutOfRangeException.class, () -> queue.nack(0, Duration.ZERO), "deleted " + deleted);
            assertEquals(List.of(), queue.consumers(), "deleted " + deleted);
            queue.pop();
            queue.deleteConsumer(DEFAULT);
        }
    }

    @Test
    void peekShowsTheOldestRecordAndMakesNothing() {
        assertNull(queue.peek());
        push(2);
        for (boolean deleted : new boolean[] {false, true}) {
            Message message = queue.peek();
            assertEquals(0, message.offset());
            assertArrayEquals(Payload.numbered(0, 300), message.data());
            assertEquals(List.of(), queue.consumers(), "deleted " + deleted);
            queue.pop();
            assertEquals(1, queue.peek().offset(), "once it is there, its own next one");
            queue.deleteConsumer(DEFAULT);
        }
    }

    /** Nothing remembers that there was one: the next call that reads makes it, at the oldest record. */
    @Test
    void aPopAfterItsDeletionMakesItAgain() {
        push(10);
        Payload.drain(queue);
        queue.ack(3);
        queue.deleteConsumer(DEFAULT);
        assertEquals(List.of(), queue.consumers());
        assertEquals(4, queue.pop().offset(), "what the last consumer had acked does not come back");
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
        assertEquals(300, queue.firstOffset(), "from then on everything is kept");
        reopen();
        assertEquals(300, queue.firstOffset());
        goOnWithACopy();
        assertEquals(300, queue.firstOffset());
        assertEquals(60, Payload.drain(queue.consumer("late", StartAt.EARLIEST)).size());
    }

    @Test
    void whatTheLastOneHadNotAckedIsKept() {
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
        assertEquals(5, queue.pop().offset());
    }

    /** With max_consumer_lag a writer never waits, and so it is when nobody reads. */
    @Test
    void maxConsumerLagHoldsWithoutAConsumer() {
        queue.close();
        queue = MmapQueue.open(config().maxConsumerLag(12_288).build());
        push(400);
        long first = queue.firstOffset();
        assertTrue(first > 300 && first < 400, "first " + first);
        assertEquals(List.of(), queue.consumers());
        goOnWithACopy();
        assertTrue(queue.firstOffset() >= first, "first " + queue.firstOffset());
        assertEquals(
                queue.endOffset() - queue.firstOffset(), Payload.drain(queue).size());
    }

    @Test
    void version1HasItFromTheBeginningAndKeepsIt() {
        queue.close();
        directory = temp.resolve("version-1");
        queue = MmapQueue.open(config().formatVersion(1).build());
        assertEquals(List.of(DEFAULT), queue.consumers());
        assertThrows(ConfigException.class, () -> queue.deleteConsumer(DEFAULT));
        assertNull(queue.peek());
        push(2);
        assertEquals(0, queue.peek().offset());
        assertThrows(OutOfRangeException.class, () -> queue.ack(0));
    }
}
