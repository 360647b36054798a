package org.mmapqueue.support;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;

/** Distinct payloads, and comparisons with what a queue returns. */
public final class Payload {
    private Payload() {}

    /** The payload of a number: the same bytes each time, other bytes for another number. */
    public static byte[] of(long number, int length) {
        byte[] bytes = new byte[length];
        new Random(number * 1_000_003 + length).nextBytes(bytes);
        return bytes;
    }

    /** A payload with its number in the first 8 bytes, filled up to {@code length}. */
    public static byte[] numbered(long number, int length) {
        byte[] bytes = of(number, Math.max(8, length));
        ByteBuffer.wrap(bytes).putLong(number);
        return bytes;
    }

    public static long numberOf(byte[] numbered) {
        long number = ByteBuffer.wrap(numbered).getLong();
        assertArrayEquals(numbered(number, numbered.length), numbered, "the payload of number " + number);
        return number;
    }

    /** Pops all records. */
    public static List<Message> drain(Consumer consumer) {
        List<Message> all = new ArrayList<>();
        for (Message message = consumer.poll(); message != null; message = consumer.poll()) {
            all.add(message);
        }
        return all;
    }

    public static List<Message> drain(MmapQueue queue) {
        return drain(queue.consumer());
    }

    /** The messages have exactly these payloads, in this order, with consecutive offsets from {@code firstOffset}. */
    public static void assertMessages(long firstOffset, List<byte[]> expected, List<Message> found) {
        for (int i = 0; i < Math.min(expected.size(), found.size()); i++) {
            assertEquals(firstOffset + i, found.get(i).offset(), "offset of record " + i);
            assertArrayEquals(expected.get(i), found.get(i).data(), "bytes of record " + i);
        }
        assertEquals(expected.size(), found.size(), "number of records");
    }

    public static void assertNextIs(long offset, byte[] expected, MmapQueue queue) throws InterruptedException {
        assertMessages(offset, List.of(expected), queue.consumer().popBatch(1, Long.MAX_VALUE, Duration.ZERO));
    }

    /** Pushes each payload with a call of its own; returns the offset of the first one. */
    public static long pushAll(MmapQueue queue, List<byte[]> payloads) {
        long first = queue.endOffset();
        for (int i = 0; i < payloads.size(); i++) {
            assertEquals(first + i, queue.push(payloads.get(i)), "offset of push " + i);
        }
        return first;
    }
}
