package org.mmapqueue.typed;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.EmptyException;
import org.mmapqueue.support.QuickDirectory;

/** A queue whose payloads are values. */
class TypedQueueTest {
    private record Reading(String sensor, int value) {}

    private static final Codec<Reading> CODEC = Codec.of(TypedQueueTest::encoded, TypedQueueTest::decoded);

    @TempDir(factory = QuickDirectory.class)
    Path directory;

    private MmapQueue queue;
    private TypedQueue<Reading> readings;
    private TypedConsumer<Reading> consumer;

    @BeforeEach
    void open() {
        queue = MmapQueue.open(QueueConfig.builder(directory)
                .segmentSize("1m")
                .timestamps(true)
                .build());
        readings = TypedQueue.of(queue, CODEC);
        consumer = readings.consumer("a", StartAt.EARLIEST);
    }

    @AfterEach
    void close() {
        queue.close();
    }

    private static byte[] encoded(Reading reading) throws IOException {
        if (reading.value < 0) {
            throw new IOException("value " + reading.value);
        }
        return (reading.sensor + "=" + reading.value).getBytes(UTF_8);
    }

    private static Reading decoded(byte[] data) throws IOException {
        String[] parts = new String(data, UTF_8).split("=", 2);
        if (parts.length < 2) {
            throw new IOException("no value");
        }
        return new Reading(parts[0], Integer.parseInt(parts[1]));
    }

    @Test
    void eachPushStoresTheEncodedValue() throws Exception {
        assertEquals(0, readings.push(new Reading("a", 1)));
        assertEquals(1, readings.push(new Reading("b", 2), Duration.ZERO));
        assertEquals(OptionalLong.of(2), readings.offer(new Reading("c", 3)));
        assertEquals(3, readings.pushAsync(new Reading("d", 4)).get(1, TimeUnit.MINUTES));
        assertEquals(4, readings.pushBatch(List.of(new Reading("e", 5), new Reading("f", 6))));
        assertEquals(6, readings.pushBatch(List.of(new Reading("g", 7)), Duration.ZERO));
        List<String> stored = new ArrayList<>();
        queue.getMany(0, 10).forEach(each -> stored.add(new String(each.data(), UTF_8)));
        assertEquals(List.of("a=1", "b=2", "c=3", "d=4", "e=5", "f=6", "g=7"), stored);
        assertEquals(new Reading("c", 3), readings.get(2).value());
        assertEquals(0, readings.get(2).attempts());
    }

    @Test
    void eachPopReturnsTheValue() throws Exception {
        assertNull(consumer.poll());
        assertNull(consumer.poll(Duration.ZERO));
        assertThrows(EmptyException.class, () -> consumer.pop(Duration.ZERO));
        for (int i = 0; i < 8; i++) {
            readings.push(new Reading("s", i));
        }
        assertEquals(0, consumer.peek().value().value());
        assertEquals(0, consumer.poll().value().value());
        assertEquals(1, consumer.poll(Duration.ZERO).value().value());
        assertEquals(2, consumer.pop(Duration.ZERO).value().value());
        assertEquals(
                List.of(3L, 4L),
                consumer.popBatch(2, Long.MAX_VALUE, Duration.ZERO).stream()
                        .map(TypedMessage::offset)
                        .toList());
        assertEquals(
                5,
                consumer.consumer()
                        .popAsync()
                        .thenApply(consumer::typed)
                        .get(1, TimeUnit.MINUTES)
                        .value()
                        .value());
        int expected = 6;
        for (TypedMessage<Reading> message : consumer.messages(Duration.ZERO)) {
            assertEquals(new Reading("s", expected++), message.value());
            assertEquals(queue.get(message.offset()).timestamp(), message.timestamp());
        }
        assertEquals(8, expected);
    }

    @Test
    void recordsAreAckedAndRequeued() {
        for (int i = 0; i < 5; i++) {
            readings.push(new Reading("s", i));
        }
        List<TypedMessage<Reading>> popped = new ArrayList<>();
        consumer.messages(Duration.ZERO).forEach(popped::add);
        consumer.ackUpTo(popped.get(1));
        consumer.ack(popped.get(3));
        consumer.nack(popped.get(2));
        consumer.nack(popped.get(4), Duration.ZERO);
        assertEquals(2, consumer.consumer().committedOffset());
        List<Integer> again = new ArrayList<>();
        for (TypedMessage<Reading> message : consumer.messages(Duration.ZERO)) {
            assertEquals(2, message.attempts());
            again.add(message.value().value());
        }
        assertEquals(List.of(2, 4), again.stream().sorted().toList());
    }

    @Test
    void aPayloadThatCannotBeDecodedStopsNoConsumer() {
        readings.push(new Reading("s", 0));
        queue.push("nonsense".getBytes(UTF_8));
        readings.push(new Reading("s", 2));
        List<Object> seen = new ArrayList<>();
        for (TypedMessage<Reading> message : consumer.messages(Duration.ZERO)) {
            try {
                seen.add(message.value().value());
            } catch (UncheckedIOException e) {
                seen.add(e.getMessage());
            }
            consumer.ackUpTo(message);
        }
        assertEquals(List.of(0, "the record at offset 1 could not be decoded: java.io.IOException: no value", 2), seen);
    }

    @Test
    void aValueThatCannotBeEncodedStoresNothing() {
        Reading good = new Reading("s", 1);
        Reading bad = new Reading("s", -1);
        assertThrows(UncheckedIOException.class, () -> readings.push(bad));
        assertThrows(UncheckedIOException.class, () -> readings.push(bad, Duration.ZERO));
        assertThrows(UncheckedIOException.class, () -> readings.offer(bad));
        assertThrows(UncheckedIOException.class, () -> readings.pushAsync(bad));
        assertThrows(UncheckedIOException.class, () -> readings.pushBatch(List.of(good, bad)));
        assertEquals(0, queue.endOffset());
    }

    @Test
    void textsHaveACodec() {
        TypedQueue<String> texts = TypedQueue.of(queue, Codec.utf8());
        texts.push("größer");
        assertEquals("größer", texts.consumer().poll().value());
    }
}
