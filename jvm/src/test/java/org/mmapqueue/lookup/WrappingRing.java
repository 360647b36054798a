package org.mmapqueue.lookup;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** A writer of a small ring, and a process that reads it by offset. */
abstract class WrappingRing {
    static final int CAPACITY = 8;
    static final int SEGMENT = 4096;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    QueueCore writer;
    ConsumerCore consumer;
    QueueCore other;
    long pushed;

    /** The queue as another process sees it. */
    class OtherProcess implements RandomAccessReader.Source {
        @Override
        public long head() {
            return other.stats().lowWatermark();
        }

        @Override
        public long reclaimed() {
            return other.stats().lowWatermark();
        }

        @Override
        public long end() {
            return other.log().end();
        }

        @Override
        public boolean timestamps() {
            return true;
        }
    }

    @BeforeEach
    void open() {
        QueueConfig.Builder config = QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(SEGMENT)
                .queueCapacitySegments(CAPACITY)
                .maxInMemSegments(4)
                .maxEventSize(6000)
                .flushPeriod(Duration.ofMinutes(10));
        writer = Cores.open(config.build(), DiskStorage.INSTANCE);
        consumer = writer.consumer("default", StartAt.EARLIEST);
        other = Cores.open(config.readOnly(true).build(), DiskStorage.INSTANCE);
    }

    @AfterEach
    void close() {
        other.close();
        writer.close();
    }

    RandomAccessReader randomAccess(RandomAccessReader.Source source) {
        return new RandomAccessReader((LogReaderV2) other.log().reader(), source);
    }

    static byte[] record(long number) {
        return Payload.of(number, number % 37 == 5 ? 5000 : (int) (number * 31 % 300));
    }

    void push() {
        byte[] data = record(pushed);
        assertEquals(pushed, writer.writer().push(data, 0, data.length));
        pushed++;
    }

    void pushUpTo(long position) {
        while (writer.log().end() < position) {
            push();
        }
    }

    void popAll() {
        while (consumer.readOffset() < pushed) {
            consumer.poll();
        }
    }

    /** Advances the writer by some segments, and acks every record but the last forty. */
    void turn(int segments) {
        long target = writer.log().end() + (long) segments * SEGMENT;
        while (writer.log().end() < target) {
            push();
            popAll();
            writer.ackUpTo(consumer, Math.max(consumer.committedOffset() - 1, pushed - 41));
        }
    }

    static void assertRecords(long number, List<Message> found) {
        assertTrue(!found.isEmpty());
        for (int i = 0; i < found.size(); i++) {
            assertEquals(number + i, found.get(i).offset());
            assertArrayEquals(record(number + i), found.get(i).data(), "record " + (number + i));
        }
    }

    void assertRangeIsNow(OutOfRangeException thrown) {
        assertEquals(consumer.committedOffset(), thrown.first(), thrown.getMessage());
        assertEquals(pushed - 1, thrown.last(), thrown.getMessage());
    }
}
