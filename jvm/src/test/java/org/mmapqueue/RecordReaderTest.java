package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.errors.ReadOnlyException;
import org.mmapqueue.support.QuickDirectory;

/** Record readers: ranges of records, each with its own position, through read-only handles. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RecordReaderTest {
    private static final int SEGMENT = 4096;
    private static final int CAPACITY = 64;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue queue;

    private MmapQueue open() {
        queue = MmapQueue.open(QueueConfig.builder(temp)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(CAPACITY)
                .maxInMemSegments(6)
                .build());
        return queue;
    }

    @AfterEach
    void close() {
        if (queue != null) {
            queue.close();
        }
    }

    private static byte[] payload(long number) {
        byte[] data = new byte[(int) (number * 37 % 900)];
        Arrays.fill(data, (byte) number);
        return data;
    }

    private void push(int from, int to) {
        for (int i = from; i < to; i++) {
            queue.push(payload(i));
        }
    }

    /** Keeps every record that it receives. */
    private static final class Kept implements RecordSink {
        private final List<Message> messages = new ArrayList<>();

        @Override
        public void take(long offset, long timestampMicros, byte[] data) {
            messages.add(new Message(offset, timestampMicros, data, 0));
        }

        void assertRange(long from, long to) {
            assertEquals(to - from, messages.size());
            for (int i = 0; i < messages.size(); i++) {
                assertEquals(from + i, messages.get(i).offset());
                assertArrayEquals(payload(from + i), messages.get(i).data());
                assertTrue(messages.get(i).timestampMicros() > 0);
            }
        }
    }

    private static Kept readAll(RecordReader reader, int maxRecords, long maxBytes) {
        Kept kept = new Kept();
        int count;
        do {
            count = reader.read(maxRecords, maxBytes, kept);
        } while (count > 0);
        return kept;
    }

    @Test
    void readsItsRangeInSeveralCalls() {
        open();
        push(0, 300);
        for (long from : new long[] {0, 1, 150, 299, 300}) {
            for (long to : new long[] {from, Math.min(300, from + 7), 300}) {
                try (RecordReader reader = queue.reader(from, to)) {
                    readAll(reader, 9, 2000).assertRange(from, to);
                    assertEquals(to, reader.offset());
                }
            }
        }
    }

    @Test
    void maxBytesDoesNotLimitTheFirstRecord() {
        open();
        push(0, 30);
        try (RecordReader reader = queue.reader(20, 30)) {
            Kept kept = new Kept();
            assertEquals(1, reader.read(10, 1, kept));
            assertEquals(2, reader.read(2, 10_000, kept));
            assertEquals(23, reader.offset());
            kept.assertRange(20, 23);
        }
    }

    @Test
    void waitsForNewRecords() {
        open();
        push(0, 5);
        try (RecordReader reader = queue.reader(3, Long.MAX_VALUE)) {
            readAll(reader, 100, 1 << 20).assertRange(3, 5);
            push(5, 40);
            readAll(reader, 100, 1 << 20).assertRange(5, 40);
        }
    }

    @Test
    void pinsNothingBetweenCalls() {
        open();
        push(0, 100);
        List<RecordReader> readers = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            RecordReader reader = queue.reader(i * 5L, 100);
            assertEquals(1, reader.read(1, 1, new Kept()));
            readers.add(reader);
        }
        assertTrue(queue.stats().mappedSegments() <= 6);
        push(100, 200); // more segments than may be mapped: no pin prevents eviction
        readers.forEach(RecordReader::close);
    }

    @Test
    void manyReadersReadConcurrently() throws Exception {
        open();
        push(0, 400);
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<Kept>> all = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                long from = i * 100L;
                Callable<Kept> work = () -> {
                    try (RecordReader reader = queue.reader(from, from + 100)) {
                        return readAll(reader, 3, 1 << 20);
                    }
                };
                all.add(threads.submit(work));
            }
            for (int i = 0; i < 4; i++) {
                all.get(i).get().assertRange(i * 100L, i * 100L + 100);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void overwrittenRecordsThrow() {
        open();
        push(0, 300);
        try (RecordReader reader = queue.reader(2, 300)) {
            assertEquals(1, reader.read(1, 1, new Kept()));
            while (queue.consumer().poll() != null) {
                // all of them
            }
            queue.consumer().ackUpTo(299);
            push(300, 800);
            OutOfRangeException lost = assertThrows(OutOfRangeException.class, () -> readAll(reader, 10, 1 << 20));
            assertEquals(3, lost.requested());
            assertTrue(lost.first() >= 300);
        }
        assertThrows(OutOfRangeException.class, () -> queue.reader(2, 300));
        assertThrows(OutOfRangeException.class, () -> queue.reader(801, 900));
    }

    @Test
    void readsTheRecordsBeforeDamageThenThrows() throws Exception {
        open();
        push(0, 10);
        queue.close();
        try (FileChannel file =
                FileChannel.open(temp.resolve("0_segment.dat"), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer one = ByteBuffer.allocate(1);
            file.read(one, SEGMENT / 4);
            one.put(0, (byte) ~one.get(0)).flip();
            file.write(one, SEGMENT / 4);
        }
        open();
        try (RecordReader reader = queue.reader(0, 10)) {
            Kept kept = new Kept();
            assertThrows(CorruptException.class, () -> {
                while (reader.read(4, 1 << 20, kept) > 0) {
                    assertTrue(reader.offset() < 10);
                }
            });
            kept.assertRange(0, reader.offset());
            assertTrue(reader.offset() > 0);
        }
    }

    @Test
    void aClosedReaderThrows() {
        open();
        push(0, 5);
        RecordReader reader = queue.reader(0, 5);
        reader.close();
        reader.close();
        assertThrows(ClosedException.class, () -> reader.read(1, 1, new Kept()));
        RecordReader other = queue.reader(0, 5);
        queue.close();
        assertThrows(ClosedException.class, () -> other.read(1, 1, new Kept()));
    }

    @Test
    void badRangesAndLimitsThrow() {
        open();
        push(0, 5);
        assertThrows(IllegalArgumentException.class, () -> queue.reader(-1, 5));
        assertThrows(IllegalArgumentException.class, () -> queue.reader(3, 2));
        try (RecordReader reader = queue.reader(0, 5)) {
            assertThrows(IllegalArgumentException.class, () -> reader.read(0, 1, new Kept()));
            assertThrows(IllegalArgumentException.class, () -> reader.read(1, 0, new Kept()));
        }
        assertThrows(IllegalArgumentException.class, () -> queue.split(0, 5, 0));
        assertThrows(IllegalArgumentException.class, () -> queue.split(5, 0, 1));
        assertThrows(OutOfRangeException.class, () -> queue.split(0, 6, 1));
        assertThrows(OutOfRangeException.class, () -> queue.bytes(0, 6));
    }

    @Test
    void partsBeginWithSegmentsAndCoverTheRange() {
        open();
        push(0, 400);
        long all = queue.bytes(0, 400);
        assertEquals(queue.stats().writingPosition(), all);
        long[] bounds = queue.split(0, 400, 4 * SEGMENT);
        assertEquals(0, bounds[0]);
        assertEquals(400, bounds[bounds.length - 1]);
        long sum = 0;
        for (int i = 1; i < bounds.length; i++) {
            assertTrue(bounds[i] > bounds[i - 1]);
            long part = queue.bytes(bounds[i - 1], bounds[i]);
            assertTrue(part <= 6 * SEGMENT, "a part of " + part);
            sum += part;
        }
        assertEquals(all, sum);
        assertTrue(bounds.length - 1 >= all / (6 * SEGMENT));
        assertArrayEquals(new long[] {7, 20}, queue.split(7, 20, 1 << 30));
        assertArrayEquals(new long[] {7, 20}, queue.split(7, 20, Long.MAX_VALUE));
        assertArrayEquals(new long[] {7, 7}, queue.split(7, 7, 10));
        long[] small = queue.split(0, 400, 500);
        assertTrue(small.length > bounds.length);
    }

    @Test
    void openToReadSharesAnOpenQueue() {
        open();
        push(0, 3);
        try (MmapQueue reading = MmapQueue.openToRead(temp)) {
            assertEquals(queue.id(), reading.id());
            push(3, 5);
            assertEquals(5, reading.endOffset()); // read from the writer
            assertThrows(ReadOnlyException.class, () -> reading.push(new byte[1]));
            assertThrows(ReadOnlyException.class, () -> reading.offer(new byte[1]));
            assertThrows(ReadOnlyException.class, reading::flush);
            assertThrows(ReadOnlyException.class, reading::gc);
            assertEquals("false", reading.config().asMap().get("read_only"));
            queue.close();
            assertEquals(5, reading.endOffset());
        }
    }

    @Test
    void aQueueThatIsOpenToReadCanBeOpenedToWrite() {
        open();
        push(0, 3);
        queue.close();
        try (MmapQueue reading = MmapQueue.openToRead(temp);
                MmapQueue again = MmapQueue.openToRead(temp)) {
            assertEquals("true", reading.config().asMap().get("read_only"));
            assertThrows(ReadOnlyException.class, () -> reading.push(new byte[1]));
            open();
            push(3, 10);
            try (RecordReader reader = reading.reader(0, Long.MAX_VALUE)) {
                readAll(reader, 100, 1 << 20).assertRange(0, 10);
            }
            assertEquals(10, again.endOffset());
            // A consumer has one owner, also within one process.
            assertEquals(0, reading.consumer().pop().offset());
            assertThrows(MmapQueueException.class, () -> queue.consumer().pop());
        }
        assertEquals(0, queue.consumer().pop().offset());
    }

    @Test
    void openToReadThrowsWithoutAQueue() {
        assertThrows(MmapQueueException.class, () -> MmapQueue.openToRead(temp.resolve("none")));
        assertFalse(temp.resolve("none").toFile().exists());
    }

    @Test
    void everyQueueHasItsOwnId() {
        open();
        try (MmapQueue other = MmapQueue.open(QueueConfig.builder(temp.resolve("other"))
                .segmentSize(SEGMENT)
                .queueCapacitySegments(16)
                .maxInMemSegments(4)
                .build())) {
            assertNotEquals(queue.id(), other.id());
        }
        try (MmapQueue old = MmapQueue.open(QueueConfig.builder(temp.resolve("old"))
                .formatVersion(1)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(16)
                .maxInMemSegments(4)
                .build())) {
            assertThrows(ConfigException.class, old::id);
            assertThrows(ConfigException.class, () -> old.reader(0, 1));
        }
    }

    @Test
    void eachSegmentIsCountedOneTime() {
        open();
        // Records of 1016 bytes with their headers: about 4 to a segment, some across two.
        for (int i = 0; i < 40; i++) {
            queue.push(new byte[1000]);
        }
        int all = queue.stats().segmentsInUse();
        assertEquals(11, all);
        for (int most : new int[] {1, 3, 40}) {
            try (RecordReader reader = queue.reader(0, 40)) {
                assertEquals(0, reader.segments());
                while (reader.read(most, Long.MAX_VALUE, new Kept()) > 0) {
                    assertTrue(reader.segments() >= 1);
                }
                assertEquals(all, reader.segments());
            }
        }
        try (RecordReader first = queue.reader(0, 3);
                RecordReader last = queue.reader(38, 40)) {
            first.read(3, Long.MAX_VALUE, new Kept());
            assertEquals(1, first.segments());
            last.read(1, Long.MAX_VALUE, new Kept());
            assertEquals(1, last.segments());
            last.read(1, Long.MAX_VALUE, new Kept());
            assertEquals(2, last.segments());
            assertEquals(0, first.read(1, Long.MAX_VALUE, new Kept()));
            assertEquals(1, first.segments());
        }
    }
}
