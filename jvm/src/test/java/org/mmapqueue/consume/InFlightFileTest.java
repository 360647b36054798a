package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
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

    private static Window window(long first, int... attempts) {
        Window window = new Window(1_000_000);
        window.reset(first);
        for (int each : attempts) {
            window.add(each < 0 ? Window.ACKED : Window.IN_FLIGHT, Math.max(0, each));
        }
        return window;
    }

    private static void write(InFlightFile file, Window window, SavedInFlight saved, long committed, long reading)
            throws IOException {
        file.write(window, saved, window.first(), committed, reading);
    }

    private static void assertTimes(SavedInFlight saved, long first, int... expected) {
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], saved.times(first + i), "record " + i);
        }
        assertEquals(0, saved.times(first + expected.length));
    }

    @Test
    void aWrittenFileIsReadOneTime() throws IOException {
        Window window = window(50, 1, 1, -1, 3);
        window.mark(50, Window.REQUEUED);
        window.mark(53, Window.DEAD);
        write(file, window, new SavedInFlight(), COMMITTED, READING);
        SavedInFlight found = new SavedInFlight();
        file.take(COMMITTED, 50, found);
        assertTimes(found, 50, 1, 1, SavedInFlight.ACKED, 3);
        assertFalse(Files.exists(path));
        SavedInFlight again = new SavedInFlight();
        file.take(COMMITTED, 50, again);
        assertEquals(50, again.end(50));
    }

    @Test
    void recordsBeforeTheWindowAreAcked() throws IOException {
        file.write(window(50, 1, 2), new SavedInFlight(), 48, COMMITTED, READING);
        SavedInFlight found = new SavedInFlight();
        file.take(COMMITTED, 48, found);
        assertTimes(found, 48, SavedInFlight.ACKED, SavedInFlight.ACKED, 1, 2);
    }

    @Test
    void nothingInFlightMakesNoFile() throws IOException {
        write(file, window(9), new SavedInFlight(), COMMITTED, READING);
        assertFalse(Files.exists(path));
    }

    @Test
    void savedAttemptsAfterTheWindowAreWrittenToo() throws IOException {
        SavedInFlight before = new SavedInFlight();
        before.add(50, 2, 4);
        before.add(50, 1, SavedInFlight.ACKED);
        before.add(50, 1, 2);
        before.endAt(READING);
        assertEquals(4, before.times(50));
        write(file, window(50, 5), before, COMMITTED, READING - 8);
        SavedInFlight found = new SavedInFlight();
        file.take(COMMITTED, 50, found);
        assertTimes(found, 50, 5, 4, SavedInFlight.ACKED, 2);
    }

    @Test
    void savedAttemptsAreWrittenAgainWithTheirEndPosition() throws IOException {
        write(file, window(50, 1, 2, 3), new SavedInFlight(), COMMITTED, READING);
        SavedInFlight found = new SavedInFlight();
        file.take(COMMITTED, 50, found);
        write(file, window(50, 2), found, COMMITTED, COMMITTED + 16);
        deleteBeyond(READING);
        assertTrue(Files.exists(path));
        deleteBeyond(READING - 8);
        assertFalse(Files.exists(path));
    }

    private void deleteBeyond(long end) throws IOException {
        InFlightFile.deleteBeyond(end, DiskStorage.INSTANCE, temp, QUEUE);
    }

    @Test
    void aFileWithRecordsPastTheLogEndIsDeleted() throws IOException {
        InFlightFile other = new InFlightFile(DiskStorage.INSTANCE, temp.resolve("other.inflight"), QUEUE);
        write(file, window(50, 1, 2), new SavedInFlight(), COMMITTED, READING);
        write(other, window(50, 1), new SavedInFlight(), COMMITTED, READING - 16);
        deleteBeyond(READING - 16);
        assertFalse(Files.exists(path));
        SavedInFlight found = new SavedInFlight();
        other.take(COMMITTED, 50, found);
        assertTimes(found, 50, 1);
        InFlightFile.deleteBeyond(0, DiskStorage.INSTANCE, temp.resolve("missing"), QUEUE);
    }

    @Test
    void aPositionBeforeCommittedIsIgnored() throws IOException {
        write(file, window(50, 1), new SavedInFlight(), COMMITTED, COMMITTED - 8);
        assertIgnored("reading before committed");
    }

    @Test
    void aFileOfAnotherPositionOrQueueIsIgnored() throws IOException {
        write(file, window(50, 1), new SavedInFlight(), COMMITTED, READING);
        SavedInFlight found = new SavedInFlight();
        file.take(COMMITTED + 8, 50, found);
        assertEquals(50, found.end(50));
        assertFalse(Files.exists(path));
        write(file, window(50, 1), new SavedInFlight(), COMMITTED, READING);
        MetaFields other = new MetaFields(2, 8, 4096, 1, 3, true, 1000, 0, 1);
        new InFlightFile(DiskStorage.INSTANCE, path, other).take(COMMITTED, 50, found);
        assertEquals(50, found.end(50));
    }

    /** At worst a record is redelivered, or with fewer attempts; no other record ever counts as acked. */
    @Test
    void aDamagedFileIsIgnored() throws IOException {
        write(file, window(50, 1, -1, 2, -1, 3), new SavedInFlight(), COMMITTED, READING);
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
        SavedInFlight found = new SavedInFlight();
        file.take(COMMITTED, 50, found);
        assertEquals(50, found.end(50), what);
        assertFalse(Files.exists(path), what);
    }

    @Test
    void aDeletedFileIsGone() throws IOException {
        file.delete();
        write(file, window(50, 1), new SavedInFlight(), COMMITTED, READING);
        assertTrue(Files.exists(path));
        file.delete();
        assertFalse(Files.exists(path));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void anyWindowIsRestored(int seed) throws IOException {
        SplittableRandom random = new SplittableRandom(seed);
        int[] attempts = new int[1 + random.nextInt((int) (READING - COMMITTED) / 8)];
        int times = 1;
        for (int i = 0; i < attempts.length; i++) {
            times = random.nextInt(4) > 0 ? times : random.nextInt(5) == 0 ? -1 : random.nextInt(10_000);
            attempts[i] = i == 0 ? 1 : times;
        }
        write(file, window(1L << 33, attempts), new SavedInFlight(), COMMITTED, READING);
        SavedInFlight found = new SavedInFlight();
        file.take(COMMITTED, 1L << 33, found);
        assertTimes(found, 1L << 33, attempts);
    }
}
