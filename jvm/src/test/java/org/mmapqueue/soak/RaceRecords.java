package org.mmapqueue.soak;

import java.nio.file.Path;
import java.time.Duration;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.harness.TestRecord;

/** The configuration of a small ring, and its records: the key determines all bytes. */
final class RaceRecords {
    static final int SEGMENT = 4096;
    /** More records than one generation of the largest ring. */
    static final int GENERATION = 400;

    private static final int LARGE = 6000;

    private RaceRecords() {}

    static QueueConfig.Builder writer(Path directory, int capacity) {
        return QueueConfig.builder(directory)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(capacity)
                .maxInMemSegments(12)
                .maxEventSize(LARGE)
                .flushPeriod(Duration.ofMillis(20));
    }

    static QueueConfig reader(Path directory) {
        return QueueConfig.builder(directory).readOnly(true).build();
    }

    private static int length(long key) {
        return key % 97 == 13 ? LARGE : TestRecord.MIN_LENGTH + (int) (key * 31 % 300);
    }

    /** The bytes of the record with this key; in a race the key is the offset. */
    static byte[] of(long key) {
        return new TestRecord(key, 1, 0).bytes(length(key));
    }

    /** The key of a record, which must be whole and unchanged. */
    static long key(byte[] buffer, int start, int length) {
        long key = TestRecord.of(buffer, start, length).key();
        require(length == length(key), "record " + key + " has " + length + " bytes, expected " + length(key));
        return key;
    }

    /** Checks the record with the key {@code offset}. */
    static void check(Message message, long offset) {
        require(message.offset() == offset, "offset " + message.offset() + ", expected " + offset);
        require(key(message.data(), 0, message.data().length) == offset, "wrong bytes at offset " + offset);
    }

    static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalStateException(otherwise);
        }
    }
}
