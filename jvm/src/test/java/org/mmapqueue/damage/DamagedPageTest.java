package org.mmapqueue.damage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Progress;

/** Damage to the meta page and to consumers' pages. */
@Timeout(120)
class DamagedPageTest extends DamagedQueues {
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
            {512, -8},
            {576, -8},
            {512, Long.MAX_VALUE},
            {512, writing + 11L * SEGMENT}
        };
        for (long[] each : wrong) {
            assertRefused("meta.dat", (int) each[0], each[1]);
        }
        for (long committed : new long[] {writing + 8, -8, Long.MIN_VALUE}) {
            assertRefused("consumers/default.dat", 128, committed);
        }
    }

    private void assertRefused(String file, int at, long value) {
        Path damaged = copy(clean);
        Directories.putWord(damaged.resolve(file), at, value);
        CorruptException refused = assertRefused(damaged, "");
        assertTrue(refused.position() >= 0, refused.getMessage());
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
        Repairer.repairInPlace(clean, false, Progress.NONE);
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
            Repairer.repairInPlace(at, false, Progress.NONE);
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
}
