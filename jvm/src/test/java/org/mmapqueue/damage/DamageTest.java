package org.mmapqueue.damage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Progress;

/** A damaged directory gives an error with a position, or exactly the pushed records. */
@Timeout(120)
class DamageTest {
    private static final int SEGMENT = 4096;
    private static final int RECORDS = 40;

    @TempDir(factory = QuickDirectory.class)
    Path temp;
    /** A queue over four segments, everything flushed, the first three records acked. */
    private Path clean;
    /** The same, killed; the last records have not been flushed. */
    private Path killed;

    private int copies;

    private static QueueConfig config(Path at) {
        return QueueConfig.builder(at)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(10)
                .maxInMemSegments(6)
                .maxEventSize(6000)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    private static byte[] record(int number) {
        return Payload.of(number, number == 12 ? 5000 : number * 37 % 300);
    }

    @BeforeEach
    void make() {
        clean = temp.resolve("clean");
        MmapQueue queue = MmapQueue.open(config(clean));
        queue.createConsumer("named", StartAt.EARLIEST);
        for (int i = 0; i < RECORDS; i++) {
            if (i == RECORDS - 8) {
                Payload.drain(queue);
                queue.consumer().ack(2);
                queue.flush();
            }
            queue.push(record(i));
        }
        killed = Directories.copy(clean, temp.resolve("killed"));
        queue.close();
    }

    private Path copy(Path from) {
        return Directories.copy(from, temp.resolve("copy-" + copies++));
    }

    private static List<byte[]> records(int from, int to) {
        List<byte[]> records = new ArrayList<>();
        for (int i = from; i < to; i++) {
            records.add(record(i));
        }
        return records;
    }

    /** The open throws with a position in this file, and changes no byte. */
    private static CorruptException assertRefused(Path at, String file) {
        Map<String, String> before = Directories.fingerprint(at);
        CorruptException refused = assertThrows(CorruptException.class, () -> MmapQueue.open(config(at)));
        assertTrue(refused.file().endsWith(file), refused.getMessage());
        assertTrue(refused.getMessage().contains(refused.file()), refused.getMessage());
        assertEquals(before, Directories.fingerprint(at));
        return refused;
    }

    /** The open or a pop throws with a position; the records before are right. */
    private static int assertTruthOrError(Path at) {
        int right = 3;
        try (MmapQueue queue = MmapQueue.open(config(at))) {
            assertTrue(queue.endOffset() <= RECORDS, "end " + queue.endOffset());
            Consumer consumer = queue.consumer();
            assertEquals(3, consumer.readOffset());
            for (Message message = consumer.poll(); message != null; message = consumer.poll()) {
                Payload.assertMessages(right, records(right, right + 1), List.of(message));
                right++;
            }
            assertEquals(right, queue.endOffset());
            queue.push(new byte[10]);
            Payload.assertMessages(right, List.of(new byte[10]), Payload.drain(consumer));
        } catch (CorruptException e) {
            assertTrue(e.file().startsWith(at.toString()), e.getMessage());
            assertTrue(e.position() >= 0 && e.position() <= SEGMENT, e.getMessage());
        }
        return right;
    }

    /** Damage to the mark of a clean close only causes one more recovery. */
    @Test
    void everyByteOfTheMetaPage() {
        int harmless = 0;
        for (int at = 0; at < 1024; at++) {
            Path damaged = copy(clean);
            Directories.flip(damaged.resolve("meta.dat"), at, 1 << at % 8);
            boolean fixed = at < 8 || at >= 72 && at < 148;
            if (fixed) {
                CorruptException refused = assertRefused(damaged, "meta.dat");
                assertTrue(refused.position() < 148, refused.getMessage());
            } else {
                int right = assertTruthOrError(damaged);
                harmless += right == RECORDS ? 1 : 0;
                boolean mirrored = at >= 8 && at < 40;
                assertTrue(right == RECORDS || at >= 512 || mirrored, "byte " + at + " gives " + right + " records");
            }
            Directories.delete(damaged);
        }
        assertTrue(harmless > 800, "harmless " + harmless);
    }

    @ParameterizedTest
    @ValueSource(strings = {"clean", "killed"})
    void bytesOfEverySegment(String which) {
        Path whole = temp.resolve(which);
        int found = 0;
        int tried = 0;
        for (Path segment : Directories.segments(whole)) {
            for (int at = 0; at < SEGMENT; at += at < 64 ? 1 : 23) {
                Path damaged = copy(whole);
                Directories.flip(damaged.resolve(segment.getFileName()), at, 1 << at % 8);
                tried++;
                found += assertTruthOrError(damaged) < RECORDS ? 1 : 0;
                Directories.delete(damaged);
            }
        }
        assertTrue(found > tried / 4, "found " + found + " of " + tried);
    }

    /** Whole pages of zeros, as a file system may leave them. */
    @ParameterizedTest
    @ValueSource(strings = {"clean", "killed"})
    void wipedSegments(String which) {
        for (Path segment : Directories.segments(temp.resolve(which))) {
            Path damaged = copy(temp.resolve(which));
            Directories.overwrite(damaged.resolve(segment.getFileName()), 0, new byte[SEGMENT]);
            assertTruthOrError(damaged);
        }
    }

    @Test
    void damageBelowTheWatermarkIsRefusedWhereTheLogBegins() {
        // The segment of the recovery point: its records lead to it.
        long watermark = Directories.word(killed.resolve("meta.dat"), 576);
        String file = watermark / SEGMENT + "_segment.dat";
        Path damaged = copy(killed);
        Directories.overwrite(damaged.resolve(file), 0, new byte[64]);
        CorruptException refused = assertRefused(damaged, file);
        assertEquals(0, refused.position());

        Path torn = copy(killed);
        int first = (int) Directories.word(torn.resolve(file), 56);
        assertTrue(first < watermark % SEGMENT);
        Directories.putWord(torn.resolve(file), first, 0);
        assertRefused(torn, file);
    }

    @Test
    void aPopOfADamagedRecordThrowsEachTimeAndDoesNotAdvance() {
        Path damaged = copy(clean);
        // Payload of record 5 in segment 0: records before are 8 + 8 + (length up to 8).
        int at = 64;
        for (int i = 0; i < 5; i++) {
            at += 16 + (record(i).length + 7 & ~7);
        }
        Directories.flip(damaged.resolve("0_segment.dat"), at + 16 + 3, 1);
        try (MmapQueue queue = MmapQueue.open(config(damaged))) {
            Payload.assertMessages(
                    3,
                    records(3, 5),
                    List.of(queue.consumer().pop(), queue.consumer().pop()));
            for (int i = 0; i < 3; i++) {
                CorruptException found = assertThrows(CorruptException.class, queue.consumer()::pop);
                assertTrue(found.file().endsWith("0_segment.dat"), found.getMessage());
                assertEquals(at, found.position());
                assertThrows(CorruptException.class, queue.consumer()::peek);
                assertEquals(5, queue.consumer().readOffset());
            }
            queue.consumer().ack(4);
        }
    }

    @Test
    void aBatchEndsBeforeADamagedRecord() throws InterruptedException {
        Path damaged = copy(clean);
        Directories.flip(damaged.resolve("1_segment.dat"), 2000, 1); // inside of record 12, which goes through 1
        try (MmapQueue queue = MmapQueue.open(config(damaged))) {
            Payload.assertMessages(3, records(3, 12), queue.consumer().popBatch(100, Long.MAX_VALUE, Duration.ZERO));
            assertThrows(CorruptException.class, () -> queue.consumer().popBatch(100, Long.MAX_VALUE, Duration.ZERO));
            assertEquals(12, queue.consumer().readOffset());
        }
    }

    @Test
    void missingFiles() throws Exception {
        Path noMeta = copy(clean);
        Files.delete(noMeta.resolve("meta.dat"));
        CorruptException refused = assertRefused(noMeta, "meta.dat");
        assertTrue(refused.getMessage().contains("missing"), refused.getMessage());

        for (Path segment : Directories.segments(clean)) {
            Path damaged = copy(clean);
            Files.delete(damaged.resolve(segment.getFileName()));
            assertTruthOrError(damaged);
        }
        Path noLast = copy(killed);
        long watermark = Directories.word(killed.resolve("meta.dat"), 576);
        Files.delete(noLast.resolve(watermark / SEGMENT + "_segment.dat"));
        assertRefused(noLast, watermark / SEGMENT + "_segment.dat");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 64, 2048, 4095, 4097, 8192})
    void filesOfAnotherLength(int length) {
        Path meta = copy(clean);
        Directories.resize(meta.resolve("meta.dat"), length);
        CorruptException refused = assertRefused(meta, "meta.dat");
        assertTrue(
                refused.getMessage().contains(Math.min(length, 80) < 80 ? "has " + length : "expected 4096"),
                refused.getMessage());

        Path consumer = copy(clean);
        Directories.resize(consumer.resolve("consumers").resolve("named.dat"), length);
        assertRefused(consumer, "named.dat");

        long writing = Directories.word(clean.resolve("meta.dat"), 512);
        Path last = copy(clean);
        Directories.resize(last.resolve(writing / SEGMENT + "_segment.dat"), length);
        assertRefused(last, writing / SEGMENT + "_segment.dat");

        Path first = copy(clean);
        Directories.resize(first.resolve("0_segment.dat"), length);
        try (MmapQueue queue = MmapQueue.open(config(first))) {
            CorruptException found = assertThrows(CorruptException.class, queue.consumer()::pop);
            assertTrue(found.file().endsWith("0_segment.dat"), found.getMessage());
        } catch (CorruptException e) {
            assertTrue(e.file().endsWith("0_segment.dat"), e.getMessage());
        }
        assertEquals(length, Directories.read(first.resolve("0_segment.dat")).length);
    }

    /** Satellite cuts a meta page that is not its own to 80 bytes before it refuses it. */
    @Test
    void aMetaPageThatSatelliteHasCutIsNamedAsSuch() {
        Path cut = copy(clean);
        Directories.resize(cut.resolve("meta.dat"), 80);
        CorruptException refused = assertRefused(cut, "meta.dat");
        assertTrue(refused.getMessage().contains("Satellite"), refused.getMessage());
    }

    @Test
    void segmentsAndConsumersOfAnotherQueue() {
        Path other = temp.resolve("other");
        try (MmapQueue queue = MmapQueue.open(config(other))) {
            queue.createConsumer("named", StartAt.EARLIEST);
            for (int i = 0; i < RECORDS; i++) {
                queue.push(record(i));
            }
        }
        long last = Directories.word(clean.resolve("meta.dat"), 512) / SEGMENT;
        for (long slot = 0; slot <= last; slot++) {
            Path damaged = copy(clean);
            Directories.overwrite(
                    damaged.resolve(slot + "_segment.dat"), 0, Directories.read(other.resolve(slot + "_segment.dat")));
            CorruptException found = assertThrows(CorruptException.class, () -> {
                try (MmapQueue queue = MmapQueue.open(config(damaged))) {
                    Payload.drain(queue);
                }
            });
            assertTrue(found.getMessage().contains("another queue"), found.getMessage());
        }
        Path damaged = copy(clean);
        Directories.overwrite(
                damaged.resolve("consumers").resolve("named.dat"),
                0,
                Directories.read(other.resolve("consumers").resolve("named.dat")));
        CorruptException refused = assertRefused(damaged, "named.dat");
        assertTrue(refused.getMessage().contains("another queue"), refused.getMessage());
    }

    @Test
    void bytesOfAConsumersPage() {
        for (int at = 0; at < 256; at++) {
            Path damaged = copy(clean);
            Directories.flip(damaged.resolve("consumers").resolve("named.dat"), at, 1 << at % 8);
            if (at < 36) {
                assertRefused(damaged, "named.dat");
            } else {
                try (MmapQueue queue = MmapQueue.open(config(damaged))) {
                    Consumer named = queue.consumer("named", StartAt.EARLIEST);
                    long first = named.readOffset();
                    Payload.assertMessages(first, records((int) first, RECORDS), Payload.drain(named));
                } catch (CorruptException e) {
                    assertTrue(at >= 128 && at < 136, "byte " + at + ": " + e.getMessage());
                }
            }
            Directories.delete(damaged);
        }
    }

    @Test
    void cursorsOutOfOrderAreRefused() {
        long writing = Directories.word(clean.resolve("meta.dat"), 512);
        long[][] wrong = {
            {576, writing + 8},
            {640, writing + 8},
            {704, writing + 8},
            {704, 0},
            {512, -8},
            {640, -8},
            {576, -8},
            {640, Long.MIN_VALUE},
            {512, Long.MAX_VALUE},
            {512, writing + 11L * SEGMENT}
        };
        for (long[] each : wrong) {
            Path damaged = copy(clean);
            Directories.putWord(damaged.resolve("meta.dat"), (int) each[0], each[1]);
            CorruptException refused = assertRefused(damaged, "");
            assertTrue(refused.position() >= 0, refused.getMessage());
        }
    }

    @Test
    void aCursorWithoutARecordBeforeItThrows() {
        Path damaged = copy(clean);
        long writing = Directories.word(clean.resolve("meta.dat"), 512);
        Directories.putWord(damaged.resolve("meta.dat"), 512, writing - 8);
        Directories.putWord(damaged.resolve("meta.dat"), 576, writing - 8);
        for (int mirror : new int[] {8, 24}) {
            Directories.putWord(damaged.resolve("meta.dat"), mirror, (writing - 8) / SEGMENT);
            Directories.putWord(damaged.resolve("meta.dat"), mirror + 8, (writing - 8) % SEGMENT);
        }
        Directories.putWord(damaged.resolve("meta.dat"), 704, Directories.word(clean.resolve("meta.dat"), 640));
        assertRefused(damaged, writing / SEGMENT + "_segment.dat");
    }

    /** Records that were pushed since then are not overwritten. */
    @Test
    void aMetaPageOfAnEarlierCleanCloseIsRefused() {
        byte[] earlier = Directories.read(clean.resolve("meta.dat"));
        try (MmapQueue queue = MmapQueue.open(config(clean))) {
            queue.push(record(RECORDS));
        }
        Directories.overwrite(clean.resolve("meta.dat"), 0, earlier);
        CorruptException refused = assertRefused(clean, "_segment.dat");
        assertTrue(refused.getMessage().contains("meta.dat is older"), refused.getMessage());
        Repairer.repairInPlace(clean, Progress.NONE);
        try (MmapQueue queue = MmapQueue.open(config(clean))) {
            assertEquals(RECORDS + 1, queue.endOffset());
            Payload.assertMessages(RECORDS, records(RECORDS, RECORDS + 1), List.of(queue.get(RECORDS)));
        }
    }

    /** The log ends at a segment's end, or is empty; the next record is in another file. */
    @Test
    void aMetaPageOfAnEarlierCleanCloseAtASegmentsEndIsRefused() {
        for (int fill : new int[] {0, SEGMENT - 64 - 16}) {
            Path at = temp.resolve("ends-" + fill);
            try (MmapQueue queue = MmapQueue.open(config(at))) {
                if (fill > 0) {
                    queue.push(new byte[fill]);
                }
            }
            assertEquals(fill > 0 ? SEGMENT : 0, Directories.word(at.resolve("meta.dat"), 512));
            byte[] earlier = Directories.read(at.resolve("meta.dat"));
            MmapQueue.open(config(at)).close();
            try (MmapQueue queue = MmapQueue.open(config(at))) {
                queue.push(record(7));
            }
            Directories.overwrite(at.resolve("meta.dat"), 0, earlier);
            CorruptException refused = assertRefused(at, fill > 0 ? "1_segment.dat" : "0_segment.dat");
            assertTrue(refused.getMessage().contains("meta.dat is older"), refused.getMessage());
            Repairer.repairInPlace(at, Progress.NONE);
            try (MmapQueue queue = MmapQueue.open(config(at))) {
                assertEquals(fill > 0 ? 2 : 1, queue.endOffset());
            }
        }
    }

    @Test
    void anImpossibleCursorOfAConsumerThrowsWithItsFile() {
        for (Path from : List.of(clean, killed)) {
            for (int at : new int[] {128, 256}) {
                Path damaged = copy(from);
                Directories.flip(damaged.resolve("consumers/named.dat"), at + 7, 0x80);
                assertEquals(128, assertRefused(damaged, "consumers/named.dat").position());
            }
        }
    }

    /** All cursors 0 are in order, and those of an empty queue: the next push would overwrite the log. */
    @Test
    void aLostSectorOfCursorsIsRefused() {
        Path damaged = copy(clean);
        for (int at = 512; at < 1024; at += 8) {
            Directories.putWord(damaged.resolve("meta.dat"), at, 0);
        }
        assertEquals(512, assertRefused(damaged, "meta.dat").position());
    }

    @Test
    void aDirectoryThatIsNoQueueIsNotChanged() throws Exception {
        Path file = Files.writeString(temp.resolve("file"), "text");
        ConfigException notADirectory = assertThrows(ConfigException.class, () -> MmapQueue.open(config(file)));
        assertEquals("queue_dir", notADirectory.key());
        Path foreign = Files.createDirectory(temp.resolve("foreign"));
        Files.writeString(foreign.resolve("report.txt"), "text");
        ConfigException refused = assertThrows(ConfigException.class, () -> MmapQueue.open(config(foreign)));
        assertEquals("queue_dir", refused.key());
        assertTrue(refused.getMessage().contains("report.txt"), refused.getMessage());
        assertEquals(1, Directories.fingerprint(foreign).size());
        assertEquals(false, Files.exists(foreign.resolve("lock")));
        Files.createDirectory(temp.resolve("empty"));
        MmapQueue.open(config(temp.resolve("empty"))).close();
    }

    /** A wrong length must not become an allocation. */
    @Test
    void aHugeLengthIsNotAllocated() {
        Path damaged = copy(killed);
        long watermark = Directories.word(killed.resolve("meta.dat"), 576);
        Path segment = damaged.resolve(watermark / SEGMENT + "_segment.dat");
        long header = Directories.word(segment, (int) (watermark % SEGMENT));
        Directories.putWord(segment, (int) (watermark % SEGMENT), header | 0x7FF_FFFFL);
        assertEquals(RECORDS - 8, assertTruthOrError(damaged));

        Path first = copy(clean);
        try (MmapQueue queue = MmapQueue.open(config(clean))) {
            assertEquals(6000, Integer.parseInt(queue.config().asMap().get("max_event_size")));
        }
        Directories.putWord(first.resolve("meta.dat"), 640, 64);
        Directories.putWord(
                first.resolve("0_segment.dat"), 64, Directories.word(first.resolve("0_segment.dat"), 64) | 0x7FF_FFFFL);
        MmapQueueException found = assertThrows(MmapQueueException.class, () -> {
            try (MmapQueue queue = MmapQueue.open(config(first))) {
                queue.consumer().pop();
            }
        });
        assertEquals(CorruptException.class, found.getClass());
    }
}
