package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.config.Settings;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.QuickDirectory;

class InFlightFileTest {
    private static final long COMMITTED = 123_456;
    private static final long READING = 133_336;
    private static final MetaFields QUEUE = new MetaFields(2, 8, 4096, 1, 2, true, 1000, 0, 1);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path path;
    private InFlightFile file;

    @BeforeEach
    void setUp() {
        path = temp.resolve("one.inflight");
        file = new InFlightFile(DiskStorage.INSTANCE, path, QUEUE);
    }

    private static InFlight table(long first, int... attempts) {
        InFlight inFlight = empty(first);
        restore(inFlight, attempts);
        while (inFlight.next() < inFlight.end()) {
            if (inFlight.nextState() == InFlight.ACKED) {
                inFlight.passed(0, InFlight.ACKED);
            } else {
                inFlight.popped(0);
            }
        }
        return inFlight;
    }

    private static InFlight empty(long first) {
        InFlight inFlight = new InFlight(new Settings.Delivery(1_000_000, 0, 0, null, false), () -> 0);
        inFlight.reset(first);
        return inFlight;
    }

    // Attempts as they are after the pop; -1 for acked.
    private static void restore(InFlight inFlight, int... attempts) {
        for (int each : attempts) {
            inFlight.restore(each < 0 ? InFlight.TIMES_ACKED : each - 1, 0);
        }
    }

    private static void write(InFlightFile file, InFlight inFlight, long committed, long reading) throws IOException {
        file.write(inFlight, inFlight.first(), committed, reading);
    }

    private void assertTaken(long committed, long first, int... expected) throws IOException {
        assertTaken(file, committed, first, expected);
    }

    private static void assertTaken(InFlightFile file, long committed, long first, int... expected) throws IOException {
        InFlightFile.Saved saved = file.take(committed);
        InFlight found = empty(first);
        saved.restore(found);
        assertEquals(expected.length, saved.records());
        assertEquals(first + expected.length, found.end());
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], found.times(first + i), "record " + i);
        }
    }

    @Test
    void aWrittenFileIsReadOneTime() throws IOException {
        InFlight inFlight = table(50, 1, 1, -1, 3);
        inFlight.requeue(50, 0);
        write(file, inFlight, COMMITTED, READING);
        assertTaken(COMMITTED, 50, 1, 1, -1, 3);
        assertFalse(Files.exists(path));
        assertNull(file.take(COMMITTED));
    }

    @Test
    void recordsBeforeTheTableAreAcked() throws IOException {
        file.write(table(50, 1, 2), 48, COMMITTED, READING);
        assertTaken(COMMITTED, 48, -1, -1, 1, 2);
    }

    @Test
    void nothingInFlightMakesNoFile() throws IOException {
        write(file, table(9), COMMITTED, READING);
        assertFalse(Files.exists(path));
    }

    @Test
    void restoredRowsAreWrittenAgainWithTheirEndPosition() throws IOException {
        InFlight inFlight = table(50, 5);
        restore(inFlight, 5, -1, 3);
        inFlight.endAt(READING);
        write(file, inFlight, COMMITTED, COMMITTED + 16);
        deleteBeyond(READING);
        assertTaken(COMMITTED, 50, 5, 4, -1, 2);
        write(file, inFlight, COMMITTED, COMMITTED + 16);
        deleteBeyond(READING - 8);
        assertFalse(Files.exists(path));
    }

    private void deleteBeyond(long end) throws IOException {
        InFlightFile.deleteBeyond(end, DiskStorage.INSTANCE, temp, QUEUE);
    }

    @Test
    void aFileWithRecordsPastTheLogEndIsDeleted() throws IOException {
        InFlightFile other = new InFlightFile(DiskStorage.INSTANCE, temp.resolve("other.inflight"), QUEUE);
        write(file, table(50, 1, 2), COMMITTED, READING);
        write(other, table(50, 1), COMMITTED, READING - 16);
        deleteBeyond(READING - 16);
        assertFalse(Files.exists(path));
        assertTaken(other, COMMITTED, 50, 1);
        InFlightFile.deleteBeyond(0, DiskStorage.INSTANCE, temp.resolve("missing"), QUEUE);
    }

    @Test
    void aPositionBeforeCommittedIsIgnored() throws IOException {
        write(file, table(50, 1), COMMITTED, COMMITTED - 8);
        assertIgnored("reading before committed");
    }

    @Test
    void aFileOfAnotherPositionOrQueueIsIgnored() throws IOException {
        write(file, table(50, 1), COMMITTED, READING);
        assertNull(file.take(COMMITTED + 8));
        assertFalse(Files.exists(path));
        write(file, table(50, 1), COMMITTED, READING);
        MetaFields other = new MetaFields(2, 8, 4096, 1, 3, true, 1000, 0, 1);
        assertNull(new InFlightFile(DiskStorage.INSTANCE, path, other).take(COMMITTED));
    }

    /** At worst a record is redelivered, or with fewer attempts; no other record ever counts as acked. */
    @Test
    void aDamagedFileIsIgnored() throws IOException {
        write(file, table(50, 1, -1, 2, -1, 3), COMMITTED, READING);
        byte[] image = Files.readAllBytes(path);
        for (int at = 0; at < image.length; at++) {
            Files.write(path, image);
            Directories.flip(path, at, 1 << at % 8);
            assertIgnored("byte " + at);
        }
        for (int length = 0; length < image.length; length++) {
            Files.write(path, image);
            Directories.resize(path, length);
            assertIgnored("length " + length);
        }
        Files.write(path, image);
        Directories.resize(path, image.length + 8L);
        assertIgnored("8 bytes more");
    }

    private void assertIgnored(String what) throws IOException {
        assertNull(file.take(COMMITTED), what);
        assertFalse(Files.exists(path), what);
    }

    @Test
    void aDeletedFileIsGone() throws IOException {
        file.delete();
        write(file, table(50, 1), COMMITTED, READING);
        assertTrue(Files.exists(path));
        file.delete();
        assertFalse(Files.exists(path));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void anyTableIsRestored(int seed) throws IOException {
        SplittableRandom random = new SplittableRandom(seed);
        int[] attempts = new int[1 + random.nextInt((int) (READING - COMMITTED) / 8)];
        int times = 1;
        for (int i = 0; i < attempts.length; i++) {
            times = random.nextInt(4) > 0 ? times : random.nextInt(5) == 0 ? -1 : 1 + random.nextInt(10_000);
            attempts[i] = i == 0 ? 1 : times;
        }
        write(file, table(1L << 33, attempts), COMMITTED, READING);
        assertTaken(COMMITTED, 1L << 33, attempts);
    }
}
