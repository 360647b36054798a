package org.mmapqueue.bridge;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.OutOfRangeException;

/** Reads through a shared buffer: columns, random access, calls by consumer number. */
class SharedBufferReadTest {
    private static final int SIZE = 1 << 16;
    private static final int MAX_EVENT_SIZE = 100_000;

    @TempDir
    private Path directory;

    private QueueHandle queue;
    private SharedBuffer buffer;
    private int consumer;
    private int call;

    /** A record as Python reads it. */
    private record Found(long offset, int length, int attempts, boolean stamped) {}

    @BeforeEach
    void open() {
        queue = Bridge.open(String.join(
                Bridge.SEPARATOR,
                "queue_dir",
                directory.resolve("queue").toString(),
                "capacity",
                Integer.toString(8 << 20),
                "max_event_size",
                Integer.toString(MAX_EVENT_SIZE)));
        buffer = queue.heapBuffer(SIZE);
        consumer = queue.consumer("default", "earliest");
    }

    @AfterEach
    void close() {
        queue.close();
    }

    private void push(int... lengths) {
        for (int length : lengths) {
            queue.queue().push(new byte[length]);
        }
    }

    /** Decodes header, payloads and columns without the layout class. */
    private List<Found> read(long answer) {
        ByteBuffer memory = ByteBuffer.wrap(buffer.read(0, SIZE)).order(ByteOrder.nativeOrder());
        int count = memory.getInt(16);
        assertEquals(answer, count);
        int flags = memory.getInt(20);
        if (count == 1) {
            return List.of(new Found(memory.getLong(0), memory.getInt(24), memory.getInt(28), memory.getLong(8) != 0));
        }
        int positions = 64 + memory.getInt(24) + 7 & -8;
        int stamps = positions + 4 * (count + 1) + 7 & -8;
        int offsets = stamps + 8 * count;
        int attempts = offsets + 8 * count;
        assertEquals(64, memory.getInt(positions));
        List<Found> found = new ArrayList<>();
        boolean missing = false;
        for (int i = 0; i < count; i++) {
            int position = memory.getInt(positions + 4 * i);
            boolean stamped = memory.getLong(stamps + 8 * i) != 0;
            missing |= !stamped;
            found.add(new Found(
                    memory.getLong(offsets + 8 * i),
                    memory.getInt(positions + 4 * i + 4) - position,
                    (flags & 2) == 0 ? memory.getInt(28) : memory.getInt(attempts + 4 * i),
                    stamped));
        }
        assertEquals(missing, (flags & 1) != 0);
        return found;
    }

    private List<Found> pop(int most) {
        return read(buffer.pop(++call, consumer, most, Integer.MAX_VALUE, 0));
    }

    private static Found found(long offset, int length, int attempts) {
        return new Found(offset, length, attempts, true);
    }

    @Test
    void attemptsHaveAColumnWhenTheyDiffer() {
        push(1, 2, 3, 4, 5);
        assertEquals(List.of(found(0, 1, 1), found(1, 2, 1), found(2, 3, 1)), pop(3));
        queue.nack(consumer, 2, 0);
        queue.nack(consumer, 0, 0);
        assertEquals(List.of(found(0, 1, 2), found(2, 3, 2), found(3, 4, 1)), pop(3));
        queue.nack(consumer, 0, 0);
        queue.nack(consumer, 2, 0);
        assertEquals(List.of(found(0, 1, 3), found(2, 3, 3)), pop(2));
        queue.nack(consumer, 1, 0);
        assertEquals(List.of(found(1, 2, 2)), pop(1));
    }

    @Test
    void theColumnsOfTheMostRecordsFit() {
        int most = buffer.recordLimit();
        int length = buffer.payloadLimit() / most;
        push(IntStream.range(0, most + 1).map(i -> length).toArray());
        pop(most);
        for (int i = 0; i < most; i += 2) {
            queue.nack(consumer, i, 0);
        }
        List<Found> mixed = pop(most);
        assertEquals(most / 2 + 1, mixed.size());
        assertEquals(found(most - 2, length, 2), mixed.get(most / 2 - 1));
        assertEquals(found(most, length, 1), mixed.get(most / 2));
    }

    @Test
    void aDelayIsInMicroseconds() {
        push(1);
        pop(1);
        queue.nack(consumer, 0, 3_600_000_000L);
        assertEquals(Status.EMPTY, buffer.pop(++call, consumer, 1, 1, 0));
        queue.seek(consumer, "offset:0");
        assertEquals(List.of(found(0, 1, 1)), pop(1));
    }

    @Test
    void getFillsTheBufferAndMovesNoConsumer() {
        int[] lengths = IntStream.range(0, 2000).map(i -> i * 37 % 500).toArray();
        push(lengths);
        for (int at = 0; at < lengths.length; ) {
            List<Found> found = read(buffer.get(at, Integer.MAX_VALUE));
            for (Found one : found) {
                assertEquals(found(at, lengths[at], 0), one);
                at++;
            }
            int bytes = found.stream().mapToInt(Found::length).sum();
            assertTrue(
                    at == lengths.length
                            || found.size() == buffer.recordLimit()
                            || bytes + lengths[at] > buffer.payloadLimit(),
                    "stopped early, before " + at);
        }
        assertEquals(List.of(found(7, lengths[7], 0)), read(buffer.get(7, 1)));
        assertEquals(2000, queue.size(consumer));
        assertThrows(OutOfRangeException.class, () -> buffer.get(2000, 1));
        assertThrows(OutOfRangeException.class, () -> buffer.get(-1, 5));
    }

    @Test
    void aRecordLargerThanTheBufferIsReadAlone() {
        push(10, MAX_EVENT_SIZE, 20);
        assertEquals(List.of(found(0, 10, 0)), read(buffer.get(0, 3)));
        assertEquals(List.of(found(1, MAX_EVENT_SIZE, 0)), read(buffer.get(1, 3)));
        assertEquals(buffer.payloadLimit(), buffer.fetch(0));
        assertEquals(MAX_EVENT_SIZE - buffer.payloadLimit(), buffer.fetch(buffer.payloadLimit()));
        assertEquals(List.of(found(2, 20, 0)), read(buffer.get(2, 3)));
    }

    @Test
    void offsetsToAckAreInTheBufferOrBytes() {
        push(1, 1, 1, 1, 1, 1);
        pop(6);
        ByteBuffer packed = ByteBuffer.allocate(16)
                .order(ByteOrder.nativeOrder())
                .putLong(1)
                .putLong(3);
        buffer.write(SharedBufferLayout.PAYLOAD, packed.array());
        buffer.ackMany(consumer, 2);
        assertEquals(4, queue.unacked(consumer));
        queue.ackMany(consumer, packed.clear().putLong(0).putLong(2).array());
        assertEquals(2, queue.unacked(consumer));
        assertEquals(2, queue.lag(consumer));
        queue.ack(consumer, 5);
        byte[] bad = packed.clear().putLong(4).putLong(6).array();
        assertThrows(OutOfRangeException.class, () -> queue.ackMany(consumer, bad));
        assertEquals(1, queue.unacked(consumer));
    }

    @Test
    void seekTargetsAreText() {
        push(1, 2, 3);
        pop(2);
        queue.seek(consumer, "committed");
        assertEquals(List.of(found(0, 1, 2)), pop(1));
        queue.seek(consumer, "offset:1");
        assertEquals(List.of(found(1, 2, 1)), pop(1));
        queue.seek(consumer, "LATEST");
        assertEquals(0, queue.size(consumer));
        queue.createConsumer("later", "time:" + Long.MAX_VALUE);
        assertEquals(0, queue.size(queue.consumer("later", "earliest")));
        for (String bad : List.of("", "middle", "offset:", "offset:x", "offset:9223372036854775808", "time:1.5")) {
            assertEquals(
                    "start",
                    assertThrows(ConfigException.class, () -> queue.seek(consumer, bad))
                            .key());
        }
    }

    @Test
    void consumerStatsAreJson() {
        push(1, 2, 3);
        pop(2);
        queue.createConsumer("other", "latest");
        assertEquals("[\"default\",\"other\"]", queue.consumers());
        assertTrue(
                queue.consumerStats()
                        .matches(
                                "\\[\\{\"name\":\"default\",\"committedOffset\":0,\"committedPosition\":0,\"lagRecords\":3,"
                                    + "\"archivedRecords\":0,\"lagBytes\":\\d+,\"lagTime\":\\d+,\"readOffset\":2,\"readPosition\":\\d+,\"unacked\":2,"
                                    + "\"droppedRecords\":0,\"damagedRecords\":0,\"label\":null},"
                                    + "\\{\"name\":\"other\",\"committedOffset\":3,\"committedPosition\":\\d+,\"lagRecords\":0,"
                                    + "\"archivedRecords\":0,\"lagBytes\":0,\"lagTime\":null,\"readOffset\":3,\"readPosition\":\\d+,\"unacked\":0,"
                                    + "\"droppedRecords\":0,\"damagedRecords\":0,\"label\":null}]"),
                queue.consumerStats());
    }

    @Test
    void ackedRangesAreJson() {
        push(1, 2, 3, 4);
        pop(4);
        assertEquals("[]", queue.ackedRanges("default"));
        queue.ack(consumer, 0);
        queue.ack(consumer, 2);
        queue.flush();
        assertEquals("[{\"first\":0,\"end\":1},{\"first\":2,\"end\":3}]", queue.ackedRanges("default"));
    }

    @Test
    void findReturnsTheOffsetOrEmpty() {
        push(1);
        assertEquals(0, queue.find(0));
        assertEquals(Status.EMPTY, queue.find(Long.MAX_VALUE));
        assertEquals(List.of(0L, 1L), Arrays.asList(queue.firstOffset(), queue.endOffset()));
    }

    @Test
    void theNumberOfAClosedConsumerIsNotUsedAgain() {
        queue.queue().push("one".getBytes(UTF_8));
        queue.closeConsumer(consumer);
        queue.closeConsumer(consumer);
        assertEquals(Status.CLOSED, buffer.pop(++call, consumer, 1, 1, 0));
        assertEquals(Status.CLOSED, buffer.peek(consumer));
        assertThrows(ClosedException.class, () -> queue.size(consumer));
        int again = queue.consumer("default", "earliest");
        assertTrue(again != consumer);
        assertEquals(1, buffer.pop(++call, again, 1, 1, 0));
        queue.deleteConsumer(
                queue.queue().consumer("other", SeekTargets.parse("latest")).name());
        assertEquals("[\"default\"]", queue.consumers());
    }
}
