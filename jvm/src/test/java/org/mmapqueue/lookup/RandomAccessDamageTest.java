package org.mmapqueue.lookup;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** The error names the damaged file and position; the other records are read. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RandomAccessDamageTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @Test
    void aDamagedRecordThrowsAndItsNeighboursAreRead() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 20, true)) {
            for (int i = 0; i < 40; i++) {
                queue.push(200);
            }
            // Records of 8 + 8 + 200 bytes.
            Path file = queue.directory().resolve("0_segment.dat");
            int at = 64 + 5 * 216;
            Directories.flip(file, at + 100, 4);
            CorruptException damage = assertThrows(
                    CorruptException.class, () -> queue.randomAccess().get(5, 1, Long.MAX_VALUE));
            assertEquals(file.toString(), damage.file());
            assertEquals(at, damage.position());
            queue.assertRecord(4);
            queue.assertRecord(6);
            assertEquals(3, queue.randomAccess().get(2, 10, Long.MAX_VALUE).size());
            Directories.flip(file, at + 100, 4);
            queue.assertAll();
            assertEquals(10, queue.randomAccess().get(2, 10, Long.MAX_VALUE).size());
        }
    }

    @Test
    void aMissingHeaderIsDamageAndNotTheEnd() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 20, true)) {
            for (int i = 0; i < 40; i++) {
                queue.push(200);
            }
            Path file = queue.directory().resolve("0_segment.dat");
            int at = 64 + 5 * 216;
            long header = Directories.word(file, at);
            Directories.putWord(file, at, 0);
            CorruptException damage = assertThrows(
                    CorruptException.class, () -> queue.randomAccess().get(7, 1, Long.MAX_VALUE));
            assertEquals(at, damage.position());
            assertThrows(CorruptException.class, () -> queue.randomAccess().get(5, 1, Long.MAX_VALUE));
            queue.assertRecord(4);
            queue.assertRecord(39);
            Directories.putWord(file, at, header);
            queue.assertAll();
        }
    }

    @Test
    void aDamagedOrMissingSegmentIsNamed() throws Exception {
        Path file;
        byte[] bytes;
        RandomReadQueue queue = RandomReadQueue.open(temp, 20, true);
        try (queue) {
            for (int i = 0; i < 150; i++) {
                queue.push(200);
            }
            file = queue.directory().resolve("3_segment.dat");
            bytes = Directories.read(file);
            Directories.flip(file, 40, 1);
            RandomAccessReader fresh = queue.fresh();
            assertEquals(
                    file.toString(),
                    assertThrows(CorruptException.class, () -> fresh.get(60, 1, Long.MAX_VALUE))
                            .file());
            Directories.flip(file, 40, 1);
            queue.assertMessage(60, fresh.get(60, 1, Long.MAX_VALUE).get(0));
        }
        Files.delete(file);
        RandomReadQueue again = new RandomReadQueue(queue.directory(), QueueConfig::builder);
        try (again) {
            assertEquals(
                    file.toString(),
                    assertThrows(
                                    CorruptException.class,
                                    () -> again.randomAccess().get(60, 1, Long.MAX_VALUE))
                            .file());
            assertEquals(
                    0, again.randomAccess().get(0, 1, Long.MAX_VALUE).get(0).offset());
            Files.write(file, bytes);
            assertArrayEquals(
                    Payload.of(60, 200),
                    again.randomAccess().get(60, 1, Long.MAX_VALUE).get(0).data());
        }
    }

    /** A binary search passes any damaged header, and finds each record that begins before its segment or after it. */
    @Test
    void aDamagedHeaderHidesTheRecordsOfItsSegmentAlone() {
        try (RandomReadQueue queue = RandomReadQueue.open(temp, 20, true)) {
            for (int i = 0; i < 150; i++) {
                queue.push(200);
            }
            for (int segment = 0; segment < 7; segment++) {
                Path file = queue.directory().resolve(segment + "_segment.dat");
                Directories.flip(file, 40, 1);
                RandomAccessReader fresh = queue.fresh();
                List<Long> found = new ArrayList<>();
                for (long offset = 0; offset < 150; offset++) {
                    try {
                        assertEquals(offset, fresh.get(offset, 1, 1).get(0).offset());
                        found.add(offset);
                    } catch (CorruptException e) {
                        assertEquals(file.toString(), e.file());
                    }
                }
                assertEquals(150 - 4096 / 216, found.size(), 2, found + " without segment " + segment);
                Directories.flip(file, 40, 1);
            }
        }
    }
}
