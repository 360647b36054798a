package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
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
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.errors.UnackedLimitException;
import org.mmapqueue.support.Appender;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** A record that was popped max_attempts times without an ack moves to the queue in dead_letter_dir. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DeadLetterTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path dead;
    private MmapQueue queue;

    @BeforeEach
    void setUp() {
        dead = temp.resolve("dead");
    }

    private QueueConfig.Builder config(int maxAttempts) {
        return QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .maxInMemSegments(6)
                .maxEventSize(9000)
                .flushPeriod(Duration.ofMinutes(10))
                .maxAttempts(maxAttempts)
                .deadLetterDir(dead);
    }

    private Consumer open(QueueConfig.Builder config) {
        queue = MmapQueue.open(config.build());
        return queue.consumer();
    }

    @AfterEach
    void close() {
        if (queue != null) {
            queue.close();
        }
    }

    private void push(int count) {
        for (int i = 0; i < count; i++) {
            queue.push(payload(i));
        }
    }

    private static byte[] payload(int number) {
        return Payload.of(number, number % 3 == 2 ? 9000 : 100);
    }

    private List<byte[]> letters() {
        try (MmapQueue letters = MmapQueue.open(QueueConfig.builder(dead).build())) {
            return Payload.drain(letters.consumer()).stream().map(Message::data).toList();
        }
    }

    private void assertLetters(int... numbers) {
        List<byte[]> found = letters();
        assertEquals(numbers.length, found.size());
        for (int i = 0; i < numbers.length; i++) {
            assertArrayEquals(payload(numbers[i]), found.get(i));
        }
    }

    @Test
    void theLastNackMovesTheRecord() {
        Consumer consumer = open(config(3));
        push(3);
        for (int attempts = 1; attempts <= 3; attempts++) {
            Message message = consumer.pop();
            assertEquals(0, message.offset());
            assertEquals(attempts, message.attempts());
            assertFalse(Files.exists(dead), "the dead-letter queue exists before its first record");
            consumer.nack(0);
        }
        assertEquals(1, consumer.committedOffset());
        assertEquals(0, consumer.unacked());
        assertLetters(0);
        assertEquals(1, consumer.pop().offset());
        assertThrows(OutOfRangeException.class, () -> consumer.nack(0));
        consumer.ackUpTo(0);
        assertEquals(1, consumer.committedOffset());
    }

    /** The move waits for nothing that an interrupt could end. */
    @Test
    void anInterruptedThreadMovesTheRecord() {
        Consumer consumer = open(config(1));
        push(1);
        consumer.pop();
        Thread.currentThread().interrupt();
        try {
            consumer.nack(0);
        } finally {
            assertTrue(Thread.interrupted());
        }
        assertLetters(0);
        assertEquals(1, consumer.committedOffset());
    }

    @Test
    void aRecordMovesAtOnceWhateverItsAttempts() {
        Consumer consumer = open(config(3));
        push(4);
        Payload.drain(consumer);
        consumer.deadLetter(1);
        assertThrows(OutOfRangeException.class, () -> consumer.deadLetter(1));
        consumer.nack(2);
        consumer.deadLetter(2);
        consumer.ackUpTo(0);
        assertEquals(3, consumer.committedOffset());
        assertEquals(0, consumer.size());
        assertThrows(OutOfRangeException.class, () -> consumer.deadLetter(0));
        assertThrows(OutOfRangeException.class, () -> consumer.deadLetter(4));
        assertLetters(1, 2);
    }

    @Test
    void withoutADeadLetterQueueNoRecordMoves() {
        Consumer consumer = open(QueueConfig.builder(temp.resolve("queue")));
        push(1);
        consumer.pop();
        ConfigException error = assertThrows(ConfigException.class, () -> consumer.deadLetter(0));
        assertEquals("dead_letter_dir", error.key());
        assertEquals(1, consumer.unacked());
    }

    @Test
    void aRecordMovesUnchangedAndTheOthersStay() {
        Consumer consumer = open(config(1));
        push(6);
        Payload.drain(consumer);
        consumer.nack(5);
        consumer.nack(2, Duration.ofDays(1)); // the delay has no effect: the record is dead-lettered
        consumer.nack(3);
        assertEquals(0, consumer.committedOffset());
        assertEquals(3, consumer.unacked());
        consumer.ackUpTo(1);
        assertEquals(4, consumer.committedOffset());
        consumer.ack(4);
        assertEquals(6, consumer.committedOffset());
        assertLetters(5, 2, 3);
        assertNull(consumer.poll());
    }

    @Test
    void theDeadLetterQueueIsAnOrdinaryQueueOfTheSameSizes() {
        Consumer consumer = open(config(1));
        push(1);
        consumer.pop();
        consumer.nack(0);
        try (MmapQueue letters = MmapQueue.open(QueueConfig.builder(dead).build())) {
            assertEquals(4096, letters.stats().segmentSize());
            assertEquals(16, letters.stats().capacitySegments());
            assertEquals("9000", letters.config().asMap().get("max_event_size"));
            assertEquals("0", letters.config().asMap().get("max_attempts"));
        }
    }

    @Test
    void anExistingDeadLetterQueueKeepsItsSizes() {
        MmapQueue.open(QueueConfig.builder(dead)
                        .segmentSize(8192)
                        .queueCapacitySegments(9)
                        .build())
                .close();
        Consumer consumer = open(config(1));
        push(1);
        consumer.pop();
        consumer.nack(0);
        assertLetters(0);
    }

    @Test
    void attemptsBeforeAReopeningCount() {
        Consumer consumer = open(config(2));
        push(2);
        consumer.pop();
        consumer.nack(0);
        queue.close();
        consumer = open(config(2));
        assertEquals(2, consumer.pop().attempts());
        consumer.nack(0);
        assertLetters(0);
        assertEquals(1, consumer.pop().offset());
    }

    @Test
    void aRecordWithoutAttemptsLeftMovesAfterAReopening() {
        Consumer consumer = open(config(2));
        push(3);
        consumer.pop();
        consumer.nack(0);
        consumer.pop();
        queue.close();
        consumer = open(config(2));
        assertEquals(1, consumer.pop().offset());
        assertLetters(0);
        assertEquals(1, consumer.committedOffset());
    }

    /** The pop that moves a record returns its own: nobody else would get that. */
    @Test
    void anExceptionOfTheLogFailsNeitherAPopNorANack() {
        Consumer consumer = open(config(1));
        push(3);
        consumer.pop();
        queue.close();
        try (Appender log = Appender.throwing(DeadLetters.class)) {
            consumer = open(config(1));
            assertEquals(1, consumer.pop().offset());
            consumer.nack(1);
            assertEquals(2, log.lines());
        }
        assertLetters(0, 1);
        assertEquals(2, consumer.committedOffset());
    }

    /** They do not count as in flight, so they must not block further pops. */
    @Test
    void recordsThatMoveAtAPopMakeRoomBelowMaxUnacked() {
        open(config(1).maxUnacked(1));
        push(2);
        queue.consumer().pop();
        queue.close();
        Consumer consumer = open(config(1).maxUnacked(1));
        Waiting.until("record 1 is popped", () -> {
            try {
                Message message = consumer.poll();
                return message != null && message.offset() == 1;
            } catch (UnackedLimitException e) {
                return false; // the call that moves record 0 may still throw
            }
        });
        assertLetters(0);
    }

    @Test
    void theLastTimeoutMovesTheRecord() throws InterruptedException {
        Consumer consumer = open(config(2).visibilityTimeout(Duration.ofMillis(20)));
        push(1);
        consumer.pop();
        assertEquals(2, consumer.pop(Waiting.LONG).attempts());
        Waiting.until("record 0 has been moved", () -> {
            assertNull(consumer.poll());
            return consumer.committedOffset() == 1;
        });
        assertLetters(0);
    }

    @Test
    void aSeekToCommittedCountsAsTheLastNack() {
        Consumer consumer = open(config(1));
        push(4);
        consumer.pop();
        consumer.pop();
        consumer.seek(StartAt.COMMITTED);
        assertEquals(2, consumer.committedOffset());
        assertLetters(0, 1);
        assertEquals(2, consumer.pop().offset());
    }

    @Test
    void anotherSeekForgetsAttempts() {
        Consumer consumer = open(config(2));
        push(1);
        consumer.pop();
        consumer.nack(0);
        consumer.pop();
        consumer.seek(StartAt.EARLIEST);
        assertEquals(1, consumer.pop().attempts());
        assertFalse(Files.exists(dead));
    }

    @Test
    void aRecordThatCannotMoveIsRedelivered() throws InterruptedException {
        int held = fillDeadLetters();
        Consumer consumer = open(config(1));
        push(3);
        consumer.pop();
        MmapQueueException thrown = assertThrows(MmapQueueException.class, () -> consumer.nack(0));
        assertTrue(
                thrown.getMessage().contains("record 0") && thrown.getMessage().contains(dead.toString()),
                thrown.getMessage());
        assertTrue(thrown.getCause() instanceof FullException, "caused by " + thrown.getCause());
        assertEquals(0, consumer.committedOffset());
        try (MmapQueue letters = MmapQueue.open(QueueConfig.builder(dead).build())) {
            Payload.drain(letters);
            letters.consumer().ackUpTo(held - 1);
        }
        // Record 0 is due a second after the move, which may be before the other pops.
        Set<Long> popped = new TreeSet<>();
        for (int i = 0; i < 3; i++) {
            popped.add(consumer.pop(Waiting.LONG).offset());
        }
        assertEquals(Set.of(0L, 1L, 2L), popped);
        consumer.nack(0);
        assertEquals(1, consumer.committedOffset());
        assertLetters(0);
    }

    private int fillDeadLetters() {
        List<Long> pushed = new ArrayList<>();
        try (MmapQueue letters = MmapQueue.open(QueueConfig.builder(dead)
                .segmentSize(4096)
                .queueCapacitySegments(4)
                .maxEventSize(9000)
                .build())) {
            while (true) {
                pushed.add(letters.push(new byte[40]));
            }
        } catch (FullException e) {
            return pushed.size();
        }
    }

    private static QueueConfig.Builder to(Path directory, Path deadLetters) {
        return QueueConfig.builder(directory)
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .maxInMemSegments(6)
                .maxEventSize(1000)
                .flushPeriod(Duration.ofMinutes(10))
                .maxAttempts(1)
                .deadLetterDir(deadLetters);
    }

    private static void assertOpenThrows(Path directory, Path deadLetters, Path... named) {
        ConfigException thrown = assertThrows(
                ConfigException.class,
                () -> MmapQueue.open(to(directory, deadLetters).build()));
        assertEquals("dead_letter_dir", thrown.key());
        for (Path each : named) {
            assertTrue(thrown.getMessage().contains(each.toString()), thrown.getMessage());
        }
    }

    /** A queue that is its own dead-letter queue would never be closed. */
    @Test
    void theQueueItselfAsDeadLetterQueueThrows() throws IOException {
        Path directory = temp.resolve("queue");
        Path link = Files.createSymbolicLink(temp.resolve("link"), Path.of("queue"));
        Path parent = Files.createSymbolicLink(temp.resolve("parent"), temp);
        Path toLink = Files.createSymbolicLink(temp.resolve("toLink"), parent.resolve("link"));
        for (int round = 0; round < 2; round++) {
            for (Path each : new Path[] {
                link,
                parent.resolve("queue"),
                toLink,
                parent.resolve("missing").resolve("..").resolve("queue")
            }) {
                assertOpenThrows(directory, each);
            }
            MmapQueue.open(QueueConfig.builder(directory).build()).close(); // in the first round it does not exist yet
        }
        Path round = Files.createSymbolicLink(temp.resolve("round"), Path.of("round"));
        assertOpenThrows(directory, round);
    }

    /** Each queue would keep the next one open, and dead letters would circulate. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    void aLoopOfDeadLetterQueuesThrows(int count) throws IOException {
        Path parent = Files.createSymbolicLink(temp.resolve("parent"), temp);
        Path[] directories = new Path[count];
        for (int i = 0; i < count; i++) {
            directories[i] = temp.resolve("queue" + i);
        }
        List<MmapQueue> open = new ArrayList<>();
        for (int i = 0; i + 1 < count; i++) {
            open.add(MmapQueue.open(
                    to(directories[i], parent.resolve("queue" + (i + 1))).build()));
        }
        assertOpenThrows(directories[count - 1], directories[0], directories);
        open.add(MmapQueue.open(to(directories[count - 1], temp.resolve("end")).build()));
        for (MmapQueue each : open) {
            each.push(payload(0));
            each.consumer().pop();
            each.consumer().nack(0, Duration.ZERO);
        }
        open.forEach(MmapQueue::close);
        for (Path each : directories) {
            MmapQueue.open(QueueConfig.builder(each).build()).close(); // no lock is left
        }
    }

    @Test
    void everyConsumerCountsItsOwnAttempts() {
        Consumer consumer = open(config(1));
        Consumer other = queue.consumer("other", StartAt.EARLIEST);
        push(1);
        consumer.pop();
        other.pop();
        consumer.nack(0);
        assertEquals(1, consumer.committedOffset());
        assertEquals(0, other.committedOffset());
        other.nack(0);
        assertLetters(0, 0);
    }
}
