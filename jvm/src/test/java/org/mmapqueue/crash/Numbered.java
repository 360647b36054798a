package org.mmapqueue.crash;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * A record that says which one it is. Its key, never given twice for one directory, is made of the round, the producer
 * and a number that grows by one with each record that the producer has pushed in this round.
 *
 * @param key which record
 * @param batch how many records were pushed together
 * @param place which of these it is
 */
record Numbered(long key, int batch, int place) {
    private static final int HEAD = 16;
    private static final int NUMBER_BITS = 32;
    private static final int PRODUCER_BITS = 8;

    static long key(int round, int producer, long number) {
        return ((long) round << PRODUCER_BITS | producer) << NUMBER_BITS | number;
    }

    /** Which round and producer: the same for all records whose numbers can be compared. */
    static long line(long key) {
        return key >> NUMBER_BITS;
    }

    static String name(long key) {
        return key < 0
                ? "none"
                : "record " + (key & (1L << NUMBER_BITS) - 1) + " of producer " + (line(key) & (1 << PRODUCER_BITS) - 1)
                        + " in round " + (line(key) >> PRODUCER_BITS);
    }

    /** The bytes of this record; all of them follow from its key, its place and the length. */
    byte[] bytes(int length) {
        byte[] bytes = new byte[Math.max(HEAD, length)];
        ByteBuffer buffer = ByteBuffer.wrap(bytes).putLong(key).putInt(batch).putInt(place);
        long state = key * 0x9E3779B97F4A7C15L ^ length;
        while (buffer.remaining() >= Long.BYTES) {
            state = next(state);
            buffer.putLong(state);
        }
        while (buffer.hasRemaining()) {
            buffer.put((byte) next(state + buffer.remaining()));
        }
        return bytes;
    }

    private static long next(long state) {
        long mixed = (state + 0x9E3779B97F4A7C15L) * 0xBF58476D1CE4E5B9L;
        return mixed ^ mixed >>> 29;
    }

    /** The record that these bytes are, whole and unchanged; raises IllegalStateException when they are none. */
    static Numbered of(long offset, byte[] data) {
        if (data.length >= HEAD) {
            ByteBuffer head = ByteBuffer.wrap(data);
            Numbered record = new Numbered(head.getLong(), head.getInt(), head.getInt());
            if (Arrays.equals(record.bytes(data.length), data)) {
                return record;
            }
        }
        throw new IllegalStateException("offset " + offset + " holds " + data.length + " bytes that nobody has pushed");
    }
}
