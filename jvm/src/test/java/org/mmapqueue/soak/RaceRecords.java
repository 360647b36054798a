package org.mmapqueue.soak;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;

/** A small ring, and records that say which ones they are: all others than at their own offset are wrong bytes. */
final class RaceRecords {
    static final int SEGMENT = 4096;
    /** More than a generation of the largest ring holds. */
    static final int LAP = 400;

    private static final int LARGE = 6000;
    private static final byte[] NOISE = new byte[1 << 16];

    static {
        new Random(4711).nextBytes(NOISE);
    }

    private RaceRecords() {}

    static QueueConfig.Builder writer(Path directory, int capacity) {
        return QueueConfig.builder(directory)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(capacity)
                .maxInMemSegments(12)
                .maxEventSize(LARGE)
                .flushPeriodMillis(20);
    }

    static QueueConfig reader(Path directory) {
        return QueueConfig.builder(directory).readOnly(true).build();
    }

    /** The bytes of the record with this offset. */
    static byte[] of(long offset) {
        byte[] record = new byte[offset % 97 == 13 ? LARGE : 16 + (int) (offset * 31 % 300)];
        System.arraycopy(NOISE, (int) (offset * 7 % (NOISE.length - LARGE)), record, 0, record.length);
        ByteBuffer.wrap(record).putLong(0, offset);
        return record;
    }

    /** What {@link #of} was given to make these bytes, which must be whole and unchanged. */
    static long key(byte[] buffer, int from, int length) {
        require(length >= Long.BYTES, "a record of " + length + " bytes, which nobody has pushed");
        long key = ByteBuffer.wrap(buffer).getLong(from);
        byte[] pushed = key < 0 ? NOISE : of(key);
        require(Arrays.equals(pushed, 0, pushed.length, buffer, from, from + length), "wrong bytes of record " + key);
        return key;
    }

    static void check(Message message, long offset) {
        require(message.offset() == offset, "record " + message.offset() + " in place of " + offset);
        require(Arrays.equals(message.data(), of(offset)), "wrong bytes at offset " + offset);
    }

    static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalStateException(otherwise);
        }
    }
}
