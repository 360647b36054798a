package org.mmapqueue.harness;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongFunction;
import org.mmapqueue.Message;

/**
 * A record that identifies itself: all its bytes follow from its key, its batch and its length, so a reader verifies it
 * without its producer.
 *
 * @param key which record: round, producer and the producer's number; never used twice in one directory
 * @param batch how many records were pushed together
 * @param index which of these it is, from 0
 */
public record TestRecord(long key, int batch, int index) {
    /** The shortest record, in bytes. */
    public static final int MIN_LENGTH = 16;

    private static final int NUMBER_BITS = 40;
    private static final int PRODUCER_BITS = 8;
    private static final long GAMMA = 0x9E3779B97F4A7C15L;

    /**
     * Builds a key.
     *
     * @param round below 32 768
     * @param producer below 256
     * @param number counts the records of this producer in this round
     */
    public static long key(int round, int producer, long number) {
        return series(round, producer) << NUMBER_BITS | number;
    }

    private static long series(int round, int producer) {
        return (long) round << PRODUCER_BITS | producer;
    }

    /** The round and producer of a key: within one series, records are in the order of their numbers. */
    static long series(long key) {
        return key >> NUMBER_BITS;
    }

    public static int producer(long key) {
        return (int) (series(key) & (1 << PRODUCER_BITS) - 1);
    }

    public static long number(long key) {
        return key & (1L << NUMBER_BITS) - 1;
    }

    /** Describes a key in an error. */
    public static String name(long key) {
        return key < 0
                ? "no record"
                : "record " + number(key) + " of producer " + producer(key) + " in round "
                        + (series(key) >> PRODUCER_BITS);
    }

    /** A batch of records with consecutive keys. */
    public static List<byte[]> batch(long firstKey, List<Integer> lengths) {
        List<byte[]> batch = new ArrayList<>();
        for (int i = 0; i < lengths.size(); i++) {
            batch.add(new TestRecord(firstKey + i, lengths.size(), i).bytes(lengths.get(i)));
        }
        return batch;
    }

    /** The bytes of this record, at least {@link #MIN_LENGTH} of them. */
    public byte[] bytes(int length) {
        byte[] bytes = new byte[Math.max(MIN_LENGTH, length)];
        ByteBuffer buffer = ByteBuffer.wrap(bytes).putLong(key).putInt(batch).putInt(index);
        long state = key * GAMMA ^ bytes.length;
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
        long mixed = (state + GAMMA) * 0xBF58476D1CE4E5B9L;
        return mixed ^ mixed >>> 29;
    }

    /**
     * The record with these bytes.
     *
     * @throws IllegalStateException if they are not exactly the bytes of a record
     */
    public static TestRecord of(byte[] buffer, int start, int length) {
        if (length >= MIN_LENGTH) {
            ByteBuffer head = ByteBuffer.wrap(buffer, start, length);
            TestRecord record = new TestRecord(head.getLong(), head.getInt(), head.getInt());
            if (Arrays.equals(record.bytes(length), 0, length, buffer, start, start + length)) {
                return record;
            }
        }
        throw new IllegalStateException(length + " bytes that no producer has pushed");
    }

    /**
     * The record of a message.
     *
     * @throws IllegalStateException if its bytes are not exactly those of a record
     */
    public static TestRecord of(Message message) {
        try {
            return of(message.data(), 0, message.data().length);
        } catch (IllegalStateException e) {
            throw new IllegalStateException("offset " + message.offset() + " holds " + e.getMessage(), e);
        }
    }

    /**
     * Reads all records of a log.
     *
     * @param get returns at least one record, from an offset on
     * @throws IllegalStateException if a record is not what a producer has pushed
     * @throws Violation if offsets are not consecutive
     */
    public static List<TestRecord> readAll(long first, long end, LongFunction<List<Message>> get) {
        List<TestRecord> records = new ArrayList<>();
        while (first + records.size() < end) {
            for (Message message : get.apply(first + records.size())) {
                Violation.unless(
                        message.offset() == first + records.size(),
                        "the log returns offset %d for offset %d",
                        message.offset(),
                        first + records.size());
                records.add(of(message));
            }
        }
        return records;
    }
}
