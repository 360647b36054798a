package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Micros;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

/** Consumers are created, listed, closed, reopened and deleted. */
class ConsumerLifecycleTest extends DefaultConsumerQueue {
    @Test
    void theDefaultConsumerCanBeOpenedByName() {
        assertEquals(List.of("default"), queue.consumers());
        assertEquals("default", queue.consumer().name());
        assertEquals(
                queue.consumer().name(),
                queue.consumer("default", StartAt.LATEST).name());
    }

    @Test
    void consumersAreListedByName() {
        queue.createConsumer("zebra", StartAt.EARLIEST);
        queue.consumer("alpha", StartAt.LATEST);
        queue.consumer("Beta", StartAt.LATEST);
        List<String> expected = List.of("Beta", "alpha", "default", "zebra");
        assertEquals(expected, queue.consumers());
        assertEquals(
                expected,
                queue.consumerStats().stream().map(ConsumerStats::name).toList());
        queue.deleteConsumer("alpha");
        assertEquals(List.of("Beta", "default", "zebra"), queue.consumers());
        reopen();
        assertEquals(List.of("Beta", "default", "zebra"), queue.consumers());
    }

    @Test
    void ownsReportsTheConsumersOfThisProcess() {
        queue.createConsumer("made", StartAt.EARLIEST);
        assertFalse(queue.owns("made"));
        assertFalse(queue.owns("default"));
        assertFalse(queue.owns("nobody"));
        Consumer owned = queue.consumer("made", StartAt.EARLIEST);
        try (MmapQueue again = MmapQueue.openToRead(directory)) {
            assertTrue(again.owns("made"), "through any handle");
        }
        owned.close();
        assertFalse(queue.owns("made"));
        queue.consumer("made", StartAt.EARLIEST);
        queue.deleteConsumer("made");
        assertFalse(queue.owns("made"));
    }

    @Test
    void moreConsumersThanMappedSegmentsReadAll() {
        push(60);
        List<Consumer> all = new ArrayList<>();
        for (int i = 0; i < 30; i++) { // with room for 5 in max_in_mem_segments
            all.add(queue.consumer("c" + i, StartAt.EARLIEST));
        }
        for (int popped = 0; popped < 60; popped++) {
            for (int i = 0; i < 30; i++) {
                assertEquals(popped, all.get(i).poll().offset(), "consumer " + i);
                all.get(i).ackUpTo(popped);
            }
        }
        for (int i = 0; i < 60; i++) {
            queue.consumer().ackUpTo(queue.consumer().poll().offset());
        }
        assertTrue(fill() > 40, "the ring has free space");
    }

    @Test
    void aLabelStaysWithItsConsumer() throws Exception {
        Consumer one = queue.consumer("one", StartAt.EARLIEST);
        assertEquals(Optional.empty(), one.label());
        String text = "checkpoint file:/a b/ü/" + "x".repeat(2900);
        one.label("something longer than what comes next");
        one.label("short");
        assertEquals(Optional.of("short"), one.label());
        one.label(text);
        queue.createConsumer("two", StartAt.EARLIEST);
        assertEquals(
                List.of(Optional.empty(), Optional.of(text), Optional.empty()),
                queue.consumerStats().stream().map(ConsumerStats::label).toList());
        try (MmapQueue reader = MmapQueue.openToRead(directory)) {
            assertEquals(Optional.of(text), reader.consumerStats().get(1).label());
        }
        reopen();
        assertEquals(Optional.of(text), queue.consumerStats().get(1).label());
        for (String bad : List.of("a\nb", "x".repeat(3001))) {
            ConfigException thrown = assertThrows(
                    ConfigException.class,
                    () -> queue.consumer("one", StartAt.EARLIEST).label(bad));
            assertEquals("label", thrown.key());
        }
        queue.consumer("one", StartAt.EARLIEST).label("");
        assertEquals(Optional.empty(), queue.consumerStats().get(1).label());
        queue.deleteConsumer("one");
        queue.createConsumer("one", StartAt.EARLIEST);
        assertEquals(Optional.empty(), queue.consumerStats().get(1).label());
        // A page with a damaged label has no label.
        queue.consumer("one", StartAt.EARLIEST).label("whole");
        queue.close();
        Directories.flip(directory.resolve("consumers/one.dat"), 522, 1);
        open();
        assertEquals(Optional.empty(), queue.consumerStats().get(1).label());
        openVersion1();
        assertThrows(ConfigException.class, () -> queue.consumer().label("version 1 has none"));
    }

    @Test
    void theIdentityInPlaceIsThatOfTheDirectoryNotOfTheHandle() throws Exception {
        assertEquals(Optional.of(queue.id()), MmapQueue.idIn(directory));
        Files.move(directory, temp.resolve("away"));
        assertEquals(Optional.empty(), MmapQueue.idIn(directory));
        Path other = temp.resolve("other");
        UUID otherId;
        try (MmapQueue made = MmapQueue.open(QueueConfig.builder(other).build())) {
            otherId = made.id();
        }
        Files.move(other, directory);
        assertEquals(Optional.of(otherId), MmapQueue.idIn(directory));
        Directories.flip(directory.resolve("meta.dat"), 90, 1);
        assertThrows(CorruptException.class, () -> MmapQueue.idIn(directory));
        Directories.delete(directory);
        Files.move(temp.resolve("away"), directory);
    }

    @Test
    void aNewConsumerStartsAtItsStart() {
        push(40);
        Payload.drain(queue);
        queue.consumer().ackUpTo(9);
        assertEquals(10, queue.consumer("earliest", StartAt.EARLIEST).readOffset());
        assertEquals(40, queue.consumer("latest", StartAt.LATEST).readOffset());
        assertEquals(25, queue.consumer("offset", StartAt.offset(25)).readOffset());
        queue.createConsumer("end", StartAt.offset(40));
        long time = queue.get(30).timestampMicros();
        long expected = queue.getMany(10, 30).stream()
                .filter(message -> message.timestampMicros() >= time)
                .findFirst()
                .orElseThrow()
                .offset();
        queue.createConsumer("time", StartAt.timestamp(Micros.instant(time)));
        assertEquals(
                List.of(10L, 10L, 40L, 40L, 25L, expected),
                queue.consumerStats().stream()
                        .map(ConsumerStats::committedOffset)
                        .toList());
        for (long bad : new long[] {9, -1, 41}) {
            assertThrows(OutOfRangeException.class, () -> queue.consumer("bad", StartAt.offset(bad)));
            assertThrows(OutOfRangeException.class, () -> queue.createConsumer("bad", StartAt.offset(bad)));
        }
        ConfigException thrown = assertThrows(ConfigException.class, () -> queue.consumer("bad", StartAt.COMMITTED));
        assertEquals("start", thrown.key());
        assertFalse(queue.consumers().contains("bad"));
        // An existing consumer ignores the start.
        assertEquals(25, queue.consumer("offset", StartAt.COMMITTED).readOffset());
        queue.createConsumer("offset", StartAt.offset(-5));
    }

    @ParameterizedTest
    @ValueSource(strings = {"one", "default"})
    void aClosedConsumerReopensAtItsCommittedOffset(String name) {
        push(20);
        Consumer consumer = queue.consumer(name, StartAt.EARLIEST);
        Payload.drain(consumer);
        consumer.ackUpTo(4);
        consumer.close();
        consumer.close();
        assertThrows(ClosedException.class, consumer::poll);
        assertThrows(ClosedException.class, consumer::peek);
        assertThrows(ClosedException.class, () -> consumer.pop(Duration.ofMillis(1)));
        assertThrows(ClosedException.class, () -> consumer.ackUpTo(4));
        assertThrows(ClosedException.class, () -> consumer.ack(4));
        assertThrows(ClosedException.class, () -> consumer.nack(5));
        assertThrows(ClosedException.class, () -> consumer.seek(StartAt.EARLIEST));
        assertTrue(queue.consumers().contains(name));
        Consumer again = queue.consumer(name, StartAt.LATEST);
        assertEquals(5, again.readOffset());
        assertEquals(5, again.pop().offset());
        assertThrows(ClosedException.class, consumer::poll);
    }

    @Test
    void consumerReturnsTheReopenedDefaultConsumer() {
        push(3);
        assertEquals(0, queue.consumer().pop().offset());
        queue.consumer().ackUpTo(0);
        queue.consumer().close();
        queue.consumer("default", StartAt.EARLIEST);
        assertEquals(1, queue.consumer().pop().offset());
        queue.consumer().ackUpTo(1);
        queue.createConsumer("other", StartAt.EARLIEST);
        queue.deleteConsumer("default");
        queue.consumer("default", StartAt.LATEST);
        assertNull(queue.consumer().poll());
        assertEquals(3, queue.consumer().committedOffset());
    }

    @Test
    void aWaitingPopEndsWhenItsConsumerIsClosed() throws Exception {
        Consumer consumer = queue.consumer("one", StartAt.EARLIEST);
        Waiting.Running<Message> fetcher =
                Waiting.start(() -> consumer.pop(Waiting.LONG)).untilItWaits();
        consumer.close();
        assertThrows(ClosedException.class, fetcher::result);
    }

    @Test
    void aCloseClosesTheConsumerOfAllHandles() {
        push(2);
        try (MmapQueue second = MmapQueue.open(QueueConfig.builder(directory).build())) {
            Consumer here = queue.consumer("one", StartAt.EARLIEST);
            Consumer there = second.consumer("one", StartAt.EARLIEST);
            here.close();
            assertThrows(ClosedException.class, there::poll);
            for (LongSupplier figure : List.<LongSupplier>of(
                    there::lag, there::size, there::unacked, there::readOffset, there::committedOffset)) {
                assertThrows(ClosedException.class, figure::getAsLong);
            }
            assertEquals(0, second.consumer("one", StartAt.LATEST).pop().offset());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"one", "default"})
    void aConsumerThatIsLeftStaysOpenForAnotherHandle(String name) {
        push(4);
        Consumer here = queue.consumer(name, StartAt.EARLIEST);
        assertEquals(0, here.pop().offset());
        try (MmapQueue second = MmapQueue.openToRead(directory)) {
            Consumer there = second.consumer(name, StartAt.EARLIEST);
            assertEquals(1, there.pop().offset());
            there.ack(1);
            there.leave();
            there.leave();
            assertThrows(ClosedException.class, there::poll);
            assertThrows(ClosedException.class, there::lag);
            assertEquals(3, second.consumer(name, StartAt.EARLIEST).lag());
        }
        assertEquals(List.of(3L, 1L, 2L), List.of(here.lag(), here.unacked(), here.size()));
        assertEquals(2, here.pop().offset());
        here.ackUpTo(2);
        assertEquals(1, here.lag());
    }

    @Test
    void aConsumerThatIsLeftIsClosedIfNoOpenHandleHasIt() {
        push(2);
        try (MmapQueue second = MmapQueue.openToRead(directory)) {
            Consumer alone = second.consumer("one", StartAt.EARLIEST);
            assertEquals(0, alone.pop().offset());
            alone.leave();
            assertFalse(queue.owns("one"));
            try (MmapQueue third = MmapQueue.openToRead(directory)) {
                assertEquals(0, third.consumer("one", StartAt.EARLIEST).pop().offset());
            }
            assertTrue(queue.owns("one"), "until the queue or the consumer is closed");
            second.consumer("one", StartAt.EARLIEST).leave();
            assertFalse(queue.owns("one"));
            assertEquals(0, queue.consumer("one", StartAt.EARLIEST).pop().offset());
        }
    }

    @Test
    void aWaitingPopEndsWhenItsConsumerIsLeft() throws Exception {
        queue.consumer("one", StartAt.EARLIEST);
        try (MmapQueue second = MmapQueue.openToRead(directory)) {
            Consumer consumer = second.consumer("one", StartAt.EARLIEST);
            Waiting.Running<Message> waiting =
                    Waiting.start(() -> consumer.pop(Waiting.LONG)).untilItWaits();
            consumer.leave();
            assertThrows(ClosedException.class, waiting::result);
        }
    }

    @Test
    void statisticsOfOpenAndClosedConsumers() {
        push(20);
        Consumer one = queue.consumer("one", StartAt.EARLIEST);
        queue.createConsumer("two", StartAt.offset(15));
        queue.createConsumer("zero", StartAt.LATEST);
        for (int i = 0; i < 8; i++) {
            one.pop();
        }
        one.ackUpTo(2);
        one.ack(5);
        List<ConsumerStats> stats = queue.consumerStats();
        assertEquals(
                List.of("default", "one", "two", "zero"),
                stats.stream().map(ConsumerStats::name).toList());
        assertEquals(
                List.of(0L, 3L, 15L, 20L),
                stats.stream().map(ConsumerStats::committedOffset).toList());
        assertEquals(
                List.of(20L, 16L, 5L, 0L), // one of those of "one" is acked out of order
                stats.stream().map(ConsumerStats::lagRecords).toList());
        assertEquals(
                List.of(0L, 8L, 15L, 20L),
                stats.stream().map(ConsumerStats::readOffset).toList());
        assertEquals(
                List.of(0L, 4L, 0L, 0L),
                stats.stream().map(ConsumerStats::unacked).toList());
        assertEquals(queue.stats().writingPosition(), stats.get(0).lagBytes());
        assertTrue(stats.get(1).lagBytes() < stats.get(0).lagBytes()
                && stats.get(1).lagBytes() > 17 * 300);
        assertEquals(0, stats.get(3).lagBytes());
        assertEquals(Optional.empty(), stats.get(3).lagTime());
        one.close();
        ConsumerStats closed = queue.consumerStats().get(1);
        assertEquals(3, closed.committedOffset());
        assertEquals(3, closed.readOffset());
        assertEquals(0, closed.unacked());
    }

    @Test
    void theLagInTimeGrowsWithTheOldestRecord() {
        push(1);
        BooleanSupplier isOld =
                () -> queue.consumerStats().get(0).lagTime().orElseThrow().toMillis() >= 3;
        Waiting.until("record 0 is 3 ms old", isOld);
        queue.consumer().pop();
        Waiting.until("record 0, which is not acked, is 3 ms old", isOld); // the clock may have been set
        queue.consumer().ackUpTo(0);
        assertEquals(Optional.empty(), queue.consumerStats().get(0).lagTime());
    }

    @Test
    void version1HasTheDefaultConsumerAlone() {
        openVersion1();
        assertEquals(List.of("default"), queue.consumers());
        assertThrows(ConfigException.class, () -> queue.consumer("one", StartAt.EARLIEST));
        assertThrows(ConfigException.class, () -> queue.createConsumer("one", StartAt.EARLIEST));
        assertThrows(ConfigException.class, () -> queue.deleteConsumer("default"));
        push(5);
        assertEquals(0, queue.consumer().pop().offset());
        queue.consumer().ackUpTo(0);
        assertEquals(4, queue.consumerStats().get(0).lagRecords());
        assertThrows(ConfigException.class, () -> queue.firstOffset());
        assertThrows(ConfigException.class, () -> queue.get(1));
        assertThrows(ConfigException.class, () -> queue.find(Instant.EPOCH));
    }

    /** Offsets of version 1 are valid for one open queue, also after its consumer was closed. */
    @Test
    void version1NumbersContinueWhenItsConsumerReopens() {
        openVersion1();
        push(5);
        Payload.drain(queue);
        queue.consumer().ackUpTo(1);
        queue.consumer().close();
        Consumer again = queue.consumer("default", StartAt.EARLIEST);
        assertEquals(2, again.committedOffset());
        assertEquals(3, again.lag());
        assertEquals(2, again.pop().offset());
    }
}
