package org.mmapqueue.consume;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.QuickDirectory;

/** The consumer default exists once a call has popped, and not because a call has acked or counted. */
class DefaultConsumerTest {
    @TempDir(factory = QuickDirectory.class)
    Path directory;

    private MmapQueue queue;

    @BeforeEach
    void open() {
        queue = MmapQueue.open(QueueConfig.builder(directory)
                .segmentSize("4k")
                .maxEventSize("1k")
                .build());
        for (String each : List.of("zero", "one", "two")) {
            queue.push(each.getBytes(UTF_8));
        }
    }

    @AfterEach
    void close() {
        queue.close();
    }

    private interface Call {
        void on(Consumer consumer) throws InterruptedException;
    }

    static Stream<Call> calls() {
        return Stream.of(
                consumer -> assertThrows(OutOfRangeException.class, () -> consumer.ackUpTo(0)),
                consumer -> assertThrows(OutOfRangeException.class, () -> consumer.ack(0)),
                consumer -> assertThrows(OutOfRangeException.class, () -> consumer.ack(new long[] {0, 1})),
                consumer -> consumer.ack(new long[0]),
                consumer -> assertThrows(OutOfRangeException.class, () -> consumer.nack(0)),
                consumer -> assertThrows(OutOfRangeException.class, () -> consumer.nack(0, Duration.ofMillis(1))),
                consumer -> assertThrows(OutOfRangeException.class, () -> consumer.release(new long[] {2})),
                consumer -> consumer.release(new long[0]),
                consumer -> assertEquals("zero", new String(consumer.peek().data(), UTF_8)),
                consumer -> assertEquals(1, consumer.peek().attempts()),
                consumer -> assertEquals(3, consumer.size()),
                consumer -> assertEquals(3, consumer.lag()),
                consumer -> assertEquals(0, consumer.unacked()),
                consumer -> assertEquals(0, consumer.readOffset()),
                consumer -> assertEquals(0, consumer.committedOffset()),
                consumer -> assertEquals("default", consumer.name()),
                consumer -> assertEquals(Optional.empty(), consumer.label()),
                Consumer::close);
    }

    @ParameterizedTest
    @MethodSource("calls")
    void callsThatDoNotPopCreateNothing(Call call) throws InterruptedException {
        call.on(queue.consumer());
        assertEquals(List.of(), queue.consumers());
        assertEquals(List.of(), queue.consumerStats());
        assertEquals("zero", new String(queue.consumer().pop().data(), UTF_8));
        assertEquals(List.of("default"), queue.consumers());
    }

    static Stream<Call> creating() {
        return Stream.of(
                Consumer::poll,
                consumer -> consumer.poll((offset, micros, buffer, start, length, attempts) -> {}),
                Consumer::pop,
                consumer -> consumer.pop(Duration.ZERO),
                consumer -> consumer.popBatch(1, 1, Duration.ZERO),
                consumer -> consumer.pollBatch(1, 1),
                consumer -> consumer.seek(StartAt.LATEST),
                consumer -> consumer.label("of the default consumer"));
    }

    @ParameterizedTest
    @MethodSource("creating")
    void popsAndMovesCreateIt(Call call) throws InterruptedException {
        call.on(queue.consumer());
        assertEquals(List.of("default"), queue.consumers());
    }

    @Test
    void aHandleSeesWhatAnotherOneCreated() {
        Consumer early = queue.consumer();
        try (MmapQueue other = MmapQueue.openToRead(directory)) {
            long popped = other.consumer().pop().offset();
            assertEquals(1, early.readOffset());
            early.ackUpTo(popped);
            assertEquals(1, other.consumer().committedOffset());
        }
    }

    @Test
    void anAckAfterTheDeletionCreatesNothing() {
        queue.consumer().pop();
        queue.deleteConsumer("default");
        assertThrows(OutOfRangeException.class, () -> queue.consumer().ackUpTo(0));
        assertEquals(List.of(), queue.consumers());
    }

    @Test
    void aClosedOneStaysClosed() {
        Consumer consumer = queue.consumer();
        consumer.close();
        consumer.close();
        assertThrows(ClosedException.class, consumer::poll);
        assertThrows(ClosedException.class, consumer::lag);
        assertThrows(ClosedException.class, () -> consumer.ackUpTo(0));
        assertEquals(List.of(), queue.consumers());
    }

    @Test
    void anEmptyQueueHasNothingToPeek() {
        try (MmapQueue empty = MmapQueue.open(QueueConfig.builder(directory.resolve("empty"))
                .segmentSize("4k")
                .maxEventSize("1k")
                .build())) {
            assertNull(empty.consumer().peek());
            assertEquals(0, empty.consumer().size());
        }
    }
}
