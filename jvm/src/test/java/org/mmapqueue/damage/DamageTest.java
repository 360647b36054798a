package org.mmapqueue.damage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;

/** A damaged directory gives an error with a position, or exactly the pushed records. */
@Tag("long-form")
@Timeout(120)
class DamageTest extends DamagedQueues {
    /** Bytes from one damaged byte to the next, after a header. */
    private static final int STEP = 11 * Integer.getInteger("faults.step", 5);

    @ParameterizedTest
    @ValueSource(strings = {"clean", "killed"})
    void bytesOfEverySegment(String which) {
        Path whole = temp.resolve(which);
        int found = 0;
        int tried = 0;
        for (Path segment : Directories.segments(whole)) {
            for (int at = 0; at < SEGMENT; at += at < 64 ? 1 : STEP) {
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
            queue.consumer().ackUpTo(4);
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
        Directories.putWord(first.resolve("consumers/default.dat"), 128, 64);
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
