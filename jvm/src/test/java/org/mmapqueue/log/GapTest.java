package org.mmapqueue.log;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.RecordReader;
import org.mmapqueue.RecordSink;
import org.mmapqueue.StartAt;
import org.mmapqueue.damage.RecordPositions;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** Every reader passes gaps, which take the place of lost records, and keeps the offsets of all other records. */
class GapTest {
    private static final int SEGMENT = 4096;
    private static final int RECORDS = 120;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path path;
    /** File and byte of each record, by segments. */
    private final List<NavigableMap<Long, Integer>> segments = new ArrayList<>();

    private RecordChecksum checksum;
    private final NavigableSet<Long> lost = new TreeSet<>();

    private static byte[] record(long number) {
        return Payload.of(number, number % 40 == 13 ? 6000 : (int) (number * 31 % 400));
    }

    private QueueConfig config() {
        return QueueConfig.builder(path)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(64)
                .maxEventSize(9000)
                .timestamps(true)
                .retainBytes(1 << 20)
                .build();
    }

    @BeforeEach
    void make() throws Exception {
        path = temp.resolve("queue");
        try (MmapQueue queue = MmapQueue.open(config())) {
            queue.createConsumer("default", StartAt.EARLIEST);
            for (int i = 0; i < RECORDS; i++) {
                queue.push(record(i));
            }
        }
        checksum = new RecordChecksum(
                MetaImage.read(DiskStorage.INSTANCE, path).fields().uuid());
        long offset = 0;
        for (int id = 0; path.resolve(id + "_segment.dat").toFile().exists(); id++) {
            NavigableMap<Long, Integer> records = new TreeMap<>();
            for (int at : RecordPositions.of(path.resolve(id + "_segment.dat"))) {
                if (offset < RECORDS) {
                    records.put(offset++, at);
                }
            }
            segments.add(records);
        }
        assertEquals(RECORDS, offset);
    }

    /**
     * Stores a gap in place of records that start in one segment, and damages what it covers.
     *
     * @param pieces gaps in place of one; the later ones stand for no record
     */
    private void lose(int id, long first, long last, Random random, int pieces) {
        Path file = path.resolve(id + "_segment.dat");
        ByteBuffer bytes = ByteBuffer.wrap(Directories.read(file)).order(ByteOrder.LITTLE_ENDIAN);
        int begin = segments.get(id).get(first);
        int lastAt = segments.get(id).get(last);
        int covered = lastAt - begin + 8 + RecordDescriptor.bodyBytes(bytes.getInt(lastAt));
        int here = Math.min(covered, SEGMENT - begin);
        for (int at = begin; at < begin + here; at++) {
            bytes.put(at, (byte) random.nextInt());
        }
        int at = begin;
        long number = first;
        for (int piece = pieces; piece > 0; piece--) {
            int size = piece == 1 ? begin + covered - at : RecordDescriptor.SMALLEST;
            long count = number == first ? last + 1 - first : 0;
            bytes.putLong(at, checksum.gapHeader(number, count, size - 8));
            bytes.putLong(at + 8, RecordDescriptor.gapSecond(number, count));
            number += count;
            at += size;
        }
        Directories.overwrite(file, 0, bytes.array());
        for (long offset = first; offset <= last; offset++) {
            lost.add(offset);
        }
    }

    private List<Long> intact(long from, long to) {
        List<Long> offsets = new ArrayList<>();
        for (long offset = from; offset < to; offset++) {
            if (!lost.contains(offset)) {
                offsets.add(offset);
            }
        }
        return offsets;
    }

    // Random gaps, among them ones that span segments; neighbours touch each other now and then.
    private void loseSome(Random random) {
        for (int tries = 0; tries < 12 || lost.size() < 4; tries++) {
            int id = random.nextInt(segments.size());
            NavigableMap<Long, Integer> records = segments.get(id);
            if (records.isEmpty()) {
                continue;
            }
            long first = records.firstKey() + random.nextInt(records.size());
            long last = Math.min(records.lastKey(), first + random.nextInt(6));
            boolean splitsSecond = records.get(first) + RecordDescriptor.SMALLEST * 3 > SEGMENT;
            if (lost.subSet(first, true, last, true).isEmpty() && !splitsSecond) {
                int room = records.getOrDefault(last + 1, SEGMENT) - records.get(first);
                lose(id, first, last, random, room >= 3 * RecordDescriptor.SMALLEST ? 1 + random.nextInt(3) : 1);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void everyReaderPassesGaps(int seed) {
        Random random = new Random(seed);
        loseSome(random);
        try (MmapQueue queue = MmapQueue.open(config())) {
            assertEquals(RECORDS, queue.endOffset());
            checkRandomAccess(queue, random);
            assertEquals(intact(0, RECORDS), pop(queue.consumer()));
            assertEquals(RECORDS, queue.consumer().readOffset());
            queue.consumer().ackUpTo(RECORDS - 1);
            assertEquals(RECORDS, queue.consumer().committedOffset());
            for (int i = 0; i < 20; i++) {
                long from = random.nextInt(RECORDS + 1);
                queue.consumer().seek(StartAt.offset(from));
                assertEquals(intact(from, RECORDS), pop(queue.consumer()), "from " + from);
            }
            queue.consumer().seek(StartAt.offset(0));
            assertEquals(RECORDS, queue.push(record(RECORDS)));
        }
        try (MmapQueue queue = MmapQueue.open(config())) {
            assertEquals(intact(0, RECORDS + 1), pop(queue.consumer()));
        }
    }

    private void checkRandomAccess(MmapQueue queue, Random random) {
        for (int i = 0; i < 2 * RECORDS; i++) {
            long offset = i < RECORDS ? i : random.nextInt(RECORDS);
            if (lost.contains(offset)) {
                OutOfRangeException gone = assertThrows(OutOfRangeException.class, () -> queue.get(offset));
                assertTrue(gone.getMessage().contains("a lost record, which a repair has given up"), gone.toString());
            } else {
                assertArrayEquals(record(offset), queue.get(offset).data());
                List<Message> many = queue.getMany(offset, 10);
                Long end = lost.higher(offset);
                long to = Math.min(offset + 10, end == null ? RECORDS : end);
                assertEquals(
                        intact(offset, to), many.stream().map(Message::offset).toList());
            }
        }
        for (int i = 0; i < 40; i++) {
            long from = random.nextInt(RECORDS + 1);
            long to = from + random.nextInt((int) (RECORDS - from) + 1);
            List<Long> read = new ArrayList<>();
            try (RecordReader reader = queue.reader(from, to)) {
                RecordSink sink = (offset, timestamp, data) -> {
                    assertArrayEquals(record(offset), data);
                    read.add(offset);
                };
                while (reader.offset() < to) {
                    reader.read(1 + random.nextInt(9), 1 << 20, sink);
                }
                assertEquals(to, reader.offset());
            }
            assertEquals(intact(from, to), read, from + " to " + to);
        }
        for (long offset : intact(0, RECORDS)) {
            long micros = queue.get(offset).timestampMicros();
            long found = queue.find(Instant.ofEpochMilli(micros / 1000)).orElseThrow();
            assertTrue(found <= offset && queue.get(found).timestampMicros() == micros, found + " for " + offset);
        }
    }

    private static List<Long> pop(Consumer consumer) {
        List<Long> popped = new ArrayList<>();
        for (Message message = consumer.poll(); message != null; message = consumer.poll()) {
            assertArrayEquals(record(message.offset()), message.data());
            popped.add(message.offset());
        }
        return popped;
    }

    @Test
    void aGapAtTheLogEndIsPassed() {
        int id = segments.size() - 1;
        while (segments.get(id).isEmpty()) {
            id--;
        }
        lose(id, Math.max(segments.get(id).firstKey(), RECORDS - 3), RECORDS - 1, new Random(1), 1);
        try (MmapQueue queue = MmapQueue.open(config())) {
            assertEquals(RECORDS, queue.endOffset());
            assertEquals(intact(0, RECORDS), pop(queue.consumer()));
            assertEquals(RECORDS, queue.consumer().readOffset());
            queue.consumer().ackUpTo(RECORDS - 1);
            queue.consumer().seek(StartAt.offset(RECORDS - 1));
            assertEquals(RECORDS, queue.consumer().committedOffset());
            assertThrows(OutOfRangeException.class, () -> queue.get(RECORDS - 1));
            try (RecordReader reader = queue.reader(RECORDS - 1, RECORDS)) {
                assertEquals(RECORDS, reader.offset());
            }
            queue.push(record(RECORDS));
            assertEquals(List.of((long) RECORDS), pop(queue.consumer()));
        }
    }

    @Test
    void aDamagedGapIsDamage() {
        int id = 2;
        while (segments.get(id).size() < 3) {
            id++;
        }
        long first = segments.get(id).firstKey();
        lose(id, first, first + 2, new Random(1), 1);
        Directories.flip(path.resolve(id + "_segment.dat"), segments.get(id).get(first) + 12, 3);
        try (MmapQueue queue = MmapQueue.open(config())) {
            assertThrows(CorruptException.class, () -> pop(queue.consumer()));
            assertEquals(first, queue.consumer().readOffset());
        }
    }
}
