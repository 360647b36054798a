package org.mmapqueue.archive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.mmapqueue.archive.files.LocalFiles;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.support.ArchiveRuns;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.StoredLog;

/** A damaged byte of a run, or a truncated one, is an error or skipped records; never a wrong record. */
@Tag("long-form")
class RunDamageTest {
    private static final int HEADER = 64;
    /** Bytes from one damaged byte, or one length, to the next. */
    private static final int STEP = Integer.getInteger("faults.step", 5);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private StoredLog log;
    private LocalFiles files;
    private RunName middle;
    private byte[] intact;

    private Path damaged() {
        return temp.resolve(middle.file(0));
    }

    private void publish(ArchiveCodec codec) throws IOException {
        files = new LocalFiles(temp);
        log = StoredLog.random(new Random(5), 90, 300, 0);
        ArchiveRuns.publish(files, log, 0, 20, codec);
        middle = ArchiveRuns.publish(files, log, 20, 70, codec);
        ArchiveRuns.publish(files, log, 70, 90, codec);
        intact = Files.readAllBytes(damaged());
    }

    /** The offsets that are read; each record is compared. */
    private Set<Long> read(boolean skips) {
        ArchivePartition partition = new ArchivePartition(files, 0, log.queue);
        partition.refresh();
        Set<Long> offsets = new TreeSet<>();
        try (ArchiveReader reader = partition.reader(0, 90, skips)) {
            while (reader.read(7, 1000, (offset, timestamp, data) -> {
                        assertArrayEquals(log.record(offset).array(), data);
                        assertEquals(log.record(offset).timestampMicros(), timestamp);
                        assertTrue(offsets.add(offset));
                    })
                    > 0) {
                // the next ones
            }
            assertEquals(90, reader.offset());
            long skipped = reader.damagedRanges().stream()
                    .mapToLong(range -> range.lastOffset() - range.firstOffset() + 1)
                    .sum();
            assertEquals(skipped, reader.lost());
            for (long offset = 0; offset < 90; offset++) {
                long number = offset;
                boolean lost = reader.damagedRanges().stream()
                        .anyMatch(range -> range.firstOffset() <= number && number <= range.lastOffset());
                assertEquals(!lost && !log.record(offset).isGap(), offsets.contains(offset));
            }
        }
        return offsets;
    }

    private void assertFoundOrHarmless(byte[] bytes, String what, boolean mustBeFound) throws IOException {
        Files.write(damaged(), bytes);
        Set<Long> whole = new TreeSet<>();
        for (long offset = 0; offset < 90; offset++) {
            if (!log.record(offset).isGap()) {
                whole.add(offset);
            }
        }
        Set<Long> found = read(true);
        for (long offset : whole) {
            assertTrue(found.contains(offset) || 20 <= offset && offset < 70, what);
        }
        try {
            assertEquals(whole, read(false), what);
            assertFalse(mustBeFound, what);
        } catch (CorruptException e) {
            assertTrue(e.file().endsWith(middle.toString()), e.getMessage());
        }
    }

    @ParameterizedTest
    @EnumSource(ArchiveCodec.class)
    void aDamagedByteIsFound(ArchiveCodec codec) throws IOException {
        publish(codec);
        Random random = new Random(9);
        for (int at = 0; at < intact.length; at += at < HEADER ? 1 : STEP) {
            byte[] bytes = intact.clone();
            bytes[at] ^= (byte) (1 << random.nextInt(8));
            // The index has a copy of the header; readers read that one.
            assertFoundOrHarmless(bytes, "byte " + at, at >= HEADER);
        }
    }

    @ParameterizedTest
    @EnumSource(ArchiveCodec.class)
    void aTruncationIsFound(ArchiveCodec codec) throws IOException {
        publish(codec);
        for (int length = 0; length < intact.length; length += length < HEADER ? 1 : STEP) {
            assertFoundOrHarmless(Arrays.copyOf(intact, length), "length " + length, true);
        }
    }

    @ParameterizedTest
    @EnumSource(ArchiveCodec.class)
    void aDamagedBlockLosesItsRecordsAlone(ArchiveCodec codec) throws IOException {
        publish(codec);
        byte[] bytes = intact.clone();
        bytes[HEADER + 48 + 3] ^= 1;
        Files.write(damaged(), bytes);
        Set<Long> found = read(true);
        assertTrue(found.stream().anyMatch(offset -> 20 < offset && offset < 70));
        assertFalse(found.contains(20L));
    }
}
