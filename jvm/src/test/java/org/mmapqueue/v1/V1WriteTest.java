package org.mmapqueue.v1;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** Version 1 directories of our own making, looked at byte by byte. */
@Timeout(120)
class V1WriteTest {
    private static final int SEGMENT = 4096;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path directory() {
        return temp.resolve("queue");
    }

    /** A small queue of version 1. */
    static QueueConfig.Builder config(Path at) {
        return QueueConfig.builder(at)
                .formatVersion(1)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(6)
                .maxEventSize(9000)
                .flushPeriod(Duration.ofMinutes(10));
    }

    private QueueConfig.Builder config() {
        return config(directory());
    }

    private V1DirectoryReader reader() {
        return new V1DirectoryReader(directory(), SEGMENT);
    }

    private static void assertSame(List<byte[]> expected, List<byte[]> found) {
        assertEquals(expected.size(), found.size());
        for (int i = 0; i < expected.size(); i++) {
            assertArrayEquals(expected.get(i), found.get(i), "record " + i);
        }
    }

    private static List<Long> position(long id, long offset) {
        return List.of(id, offset);
    }

    @Test
    void aNewDirectoryHoldsWhatSatelliteMakes() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.push(Payload.of(1, 100));
        }
        try (Stream<Path> files = Files.list(directory())) {
            Set<String> names = files.map(file -> file.getFileName().toString())
                    .filter(name -> !name.endsWith("_segment.dat"))
                    .collect(Collectors.toSet());
            assertEquals(Set.of("meta.dat", "lock"), names);
        }
        assertTrue(Files.exists(directory().resolve("0_segment.dat")));
        for (Path segment : Directories.segments(directory())) {
            assertEquals(SEGMENT, Files.size(segment));
        }
        V1DirectoryReader reader = reader();
        assertEquals(6, reader.capacity());
        assertEquals(position(0, 108), reader.writing());
        assertEquals(position(0, 108), reader.watermark());
        assertEquals(position(0, 0), reader.committed());
        assertEquals(position(0, 0), reader.reading());
        assertSame(List.of(Payload.of(1, 100)), reader.pop());
    }

    @Test
    void theCursorsAreStoredAsTheyMove() {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.push(Payload.of(1, 4000));
            queue.push(Payload.of(2, 100));
            queue.push(Payload.of(3, 50));
            assertEquals(position(1, 4008 + 108 - SEGMENT + 58), reader().writing());
            assertEquals(position(0, 0), reader().watermark());
            queue.consumer().pop();
            queue.consumer().pop();
            assertEquals(position(1, 20), reader().reading());
            assertEquals(position(0, 0), reader().committed());
            queue.consumer().ackUpTo(0);
            assertEquals(position(0, 4008), reader().committed());
            queue.flush();
            assertEquals(reader().writing(), reader().watermark());
        }
    }

    /** A record that ends 0 to 16 bytes before the end of its segment, and the next one after it. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 6, 7, 8, 9, 15, 16})
    void lengthsNeverStraddleAndPositionsAreStoredAsSatelliteDoes(int left) {
        List<byte[]> expected = new ArrayList<>();
        expected.add(Payload.of(1, SEGMENT - 8 - left));
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.push(expected.get(0));
            assertEquals(left == 0 ? position(1, 0) : position(0, SEGMENT - left), reader().writing());
            queue.consumer().pop();
            queue.consumer().ackUpTo(0);
            assertEquals(reader().writing(), reader().committed());
        }
        assertSame(List.of(), reader().pop());
        // Opened in the gap, closed again, opened and written to.
        MmapQueue.open(config().build()).close();
        assertSame(List.of(), reader().pop());
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.push(Payload.of(2, 30));
            long start = left >= 8 ? SEGMENT - left : SEGMENT;
            long end = start + 38;
            assertEquals(position(end / SEGMENT, end % SEGMENT), reader().writing());
            queue.push(Payload.of(3, 0));
        }
        assertSame(List.of(Payload.of(2, 30), new byte[0]), reader().pop());
    }

    @Test
    void recordsOverManySegmentsAndGenerations() {
        List<byte[]> expected = new ArrayList<>();
        int number = 0;
        for (int round = 0; round < 40; round++) {
            try (MmapQueue queue = MmapQueue.open(config().build())) {
                Payload.assertMessages(0, expected, Payload.drain(queue));
                if (!expected.isEmpty()) {
                    queue.consumer().ackUpTo(expected.size() - 1);
                    expected.clear();
                }
                for (int i = 0; i < 1 + round % 3; i++) {
                    byte[] payload = Payload.of(number, number * 1777 % 6000);
                    number++;
                    queue.push(payload);
                    expected.add(payload);
                }
            }
            assertSame(expected, reader().pop());
        }
        assertTrue(reader().writing().get(0) > 12, "generations: " + reader().writing());
    }

    @Test
    void anAtomicBatchReadsAsItsRecords() {
        List<byte[]> batch = List.of(Payload.of(1, 3000), Payload.of(2, 0), Payload.of(3, 4000), Payload.of(4, 5));
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.pushBatch(batch);
        }
        assertSame(batch, reader().pop());
    }

    /** Satellite refuses a push when writing.id ≥ committed.id + C − 1 − floor(max / S). */
    @ParameterizedTest
    @CsvSource({"6, 9000", "6, 4000", "4, 1000", "10, 20000", "3, 100", "4, 4096"})
    void theMarginThatSatelliteNeedsIsKept(int capacity, int maxEvent) {
        QueueConfig config =
                config().queueCapacitySegments(capacity).maxEventSize(maxEvent).build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            for (int generation = 0; generation < 3; generation++) {
                int pushed = 0;
                try {
                    while (true) {
                        queue.push(Payload.of(pushed, Math.min(maxEvent, 900)));
                        pushed++;
                    }
                } catch (FullException e) {
                    long limit = reader().committed().get(0) + capacity - 1 - maxEvent / SEGMENT;
                    long writing = queue.stats().writingPosition();
                    // The last push began below the limit; it may have gone beyond it by its own length.
                    assertTrue((writing - 909) / SEGMENT <= limit, "writing " + writing + ", limit " + limit);
                    assertTrue(pushed > 0, "nothing could be pushed");
                }
                long last = -1;
                for (Message message : Payload.drain(queue)) {
                    last = message.offset();
                }
                queue.consumer().ackUpTo(last);
            }
        }
    }

    /** Whatever is accepted at open can be worked with. */
    @ParameterizedTest
    @CsvSource({"2, 1000", "3, 5000", "4, 4096", "4, 12000", "3, 8000", "2, 1"})
    void aRingThatIsTooSmallForItsLargestRecordIsRefusedAtOpen(int capacity, int maxEvent) {
        QueueConfig config =
                config().queueCapacitySegments(capacity).maxEventSize(maxEvent).build();
        MmapQueue queue;
        try {
            queue = MmapQueue.open(config);
        } catch (ConfigException e) {
            assertTrue(Set.of("max_event_size", "queue_capacity_segments").contains(e.key()), e.getMessage());
            assertTrue(!Files.exists(directory().resolve("meta.dat")));
            return;
        }
        try (queue) {
            for (int i = 0; i < 20; i++) {
                byte[] largest = Payload.of(i, maxEvent);
                queue.push(largest);
                assertArrayEquals(largest, queue.consumer().peek().data());
                queue.consumer().ackUpTo(queue.consumer().pop().offset());
            }
        }
    }

    @Test
    void damageIsRefusedAndLeftAsItIs() {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            for (int i = 0; i < 10; i++) {
                queue.push(Payload.of(i, 1000));
            }
        }
        Path whole = Directories.copy(directory(), temp.resolve("whole"));
        List<Runnable> damages = List.of(
                () -> Directories.putWord(directory().resolve("0_segment.dat"), 0, -1),
                () -> Directories.putWord(directory().resolve("0_segment.dat"), 1008, 9001),
                () -> Directories.putWord(directory().resolve("1_segment.dat"), 944, 7),
                () -> Directories.putWord(directory().resolve("meta.dat"), 72, 0),
                () -> Directories.putWord(directory().resolve("meta.dat"), 72, -6),
                () -> Directories.putWord(directory().resolve("meta.dat"), 0, 3),
                () -> Directories.putWord(directory().resolve("meta.dat"), 32, SEGMENT),
                () -> Directories.putWord(directory().resolve("meta.dat"), 24, 1000),
                () -> Directories.putWord(directory().resolve("meta.dat"), 40, -1),
                () -> Directories.putWord(directory().resolve("meta.dat"), 48, 16),
                () -> Directories.resize(directory().resolve("meta.dat"), 79),
                () -> Directories.resize(directory().resolve("meta.dat"), 81),
                () -> Directories.resize(directory().resolve("1_segment.dat"), 2048),
                () -> Directories.resize(directory().resolve("1_segment.dat"), 2 * SEGMENT),
                () -> Directories.resize(directory().resolve("0_segment.dat"), 0));
        for (int i = 0; i < damages.size(); i++) {
            Directories.delete(directory());
            Directories.copy(whole, directory());
            damages.get(i).run();
            Map<String, String> before = Directories.fingerprint(directory());
            CorruptException refused = assertThrows(
                    CorruptException.class,
                    () -> MmapQueue.open(
                            QueueConfig.builder(directory()).maxEventSize(9000).build()),
                    "damage " + i);
            assertTrue(refused.file().startsWith(directory().toString()), refused.getMessage());
            assertEquals(before, Directories.fingerprint(directory()));
        }
    }

    @Test
    void aMissingSegmentIsDamage() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            for (int i = 0; i < 10; i++) {
                queue.push(Payload.of(i, 1000));
            }
        }
        Files.delete(directory().resolve("1_segment.dat"));
        Map<String, String> before = Directories.fingerprint(directory());
        CorruptException refused = assertThrows(CorruptException.class, () -> MmapQueue.open(config().build()));
        assertTrue(refused.file().endsWith("1_segment.dat"), refused.getMessage());
        assertEquals(before, Directories.fingerprint(directory()));
    }

    @Test
    void namedConsumersAndTimestampsAreNotPartOfVersion1() {
        ConfigException stamps = assertThrows(
                ConfigException.class,
                () -> MmapQueue.open(config().timestamps(true).build()));
        assertEquals("timestamps", stamps.key());
        assertTrue(!Files.exists(directory().resolve("meta.dat")));
        try (MmapQueue queue = MmapQueue.open(config().timestamps(false).build())) {
            queue.push(new byte[1]);
            assertEquals(0, queue.consumer().pop().timestampMicros());
            ConfigException refused =
                    assertThrows(ConfigException.class, () -> queue.consumer("other", StartAt.EARLIEST));
            assertEquals("consumer", refused.key());
        }
    }
}
