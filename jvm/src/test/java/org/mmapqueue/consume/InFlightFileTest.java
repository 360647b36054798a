package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.OffsetRange;
import org.mmapqueue.config.Settings;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.log.LogEnd;
import org.mmapqueue.meta.InFlightDescriptor;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.QuickDirectory;

class InFlightFileTest {
    /** The wall clock, in ms. */
    private static final long TIME = 1_000_000;

    private static final int ALL = InFlightFile.ALL_RUNS;
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
            inFlight.restore(each < 0 ? InFlight.TIMES_ACKED : each - 1, 0, 1);
        }
    }

    private static void write(InFlightFile file, InFlight inFlight, long reading) throws IOException {
        file.write(file.image(inFlight, inFlight.first(), reading, TIME, ALL));
    }

    private void write(InFlight inFlight) throws IOException {
        write(file, inFlight, READING);
    }

    private void assertRead(long first, int... expected) throws IOException {
        assertRead(file, first, expected);
    }

    private static void assertRead(InFlightFile file, long first, int... expected) throws IOException {
        InFlight found = empty(first);
        InFlightFile.restore(file.read(), first, TIME, found);
        assertEquals(first + expected.length, found.end());
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], found.times(first + i), "record " + i);
        }
    }

    @Test
    void aWrittenFileIsRead() throws IOException {
        InFlight inFlight = table(50, 1, 1, -1, 3);
        inFlight.requeue(50, 0);
        write(inFlight);
        assertRead(50, 1, 1, -1, 3);
        assertRead(50, 1, 1, -1, 3);
        assertEquals(54, InFlightDescriptor.end(file.read()));
        assertEquals(READING, file.read().getLong(InFlightDescriptor.READING));
    }

    @Test
    void recordsBeforeTheTableAreAcked() throws IOException {
        file.write(file.image(table(50, 1, 2), 48, READING, TIME, ALL));
        assertRead(48, -1, -1, 1, 2);
    }

    @Test
    void recordsBeforeTheCommittedOffsetAreSkipped() throws IOException {
        write(table(50, 1, 2, -1, 4));
        assertRead(52, -1, 4);
        assertRead(54);
    }

    @Test
    void restoredRowsAreWrittenAgainWithTheirEndPosition() throws IOException {
        InFlight inFlight = table(50, 5);
        restore(inFlight, 5, -1, 3);
        inFlight.endAt(READING);
        write(file, inFlight, READING - 400);
        assertRead(50, 5, 4, -1, 2);
        assertEquals(READING, file.read().getLong(InFlightDescriptor.READING));
    }

    @Test
    void aSnapshotHasAtMostItsNumberOfRuns() throws IOException {
        InFlight inFlight = empty(50);
        for (int i = 0; i < 10; i++) {
            inFlight.popped(1000 + 10 * i);
        }
        inFlight.ack(51);
        inFlight.ack(53);
        inFlight.ack(54);
        file.write(file.image(inFlight, 50, READING, TIME, 4));
        assertRead(50, 1, -1, 1, -1, -1);
        assertEquals(1050, file.read().getLong(InFlightDescriptor.READING));
        file.write(file.image(inFlight, 50, READING, TIME, 5));
        assertRead(50, 1, -1, 1, -1, -1, 1, 1, 1, 1, 1);
        assertEquals(READING, file.read().getLong(InFlightDescriptor.READING));
    }

    /** More lost records than the ring has room for, and than one run can have. */
    @Test
    void aGapIsWrittenAndRestored() throws IOException {
        InFlight inFlight = table(50, 1);
        long end = 51 + (3L << 31);
        inFlight.passLost(end, 200);
        inFlight.popped(300);
        inFlight.requeue(50, 0);
        write(inFlight);
        assertEquals(end + 1, InFlightDescriptor.end(file.read()));
        InFlight found = empty(50);
        InFlightFile.restore(file.read(), 50, TIME, found);
        assertEquals(end + 1, found.end());
        assertEquals(end - 51, found.ackedAhead());
        assertEquals(1, found.times(50));
        assertEquals(InFlight.TIMES_ACKED, found.times(51));
        assertEquals(InFlight.TIMES_ACKED, found.times(end - 1));
        assertEquals(1, found.times(end));
        assertRead(end - 1, -1, 1);
        file.write(file.image(inFlight, 50, READING, TIME, 1)); // not to the middle of a gap, which has no position
        assertEquals(end, InFlightDescriptor.end(file.read()));
        assertAcked(50, end, 0, 50, 51, end); // several runs
        assertEquals(300, file.read().getLong(InFlightDescriptor.READING));
    }

    /** Restored rows have no position: a snapshot that does not take all of them ends before them. */
    @Test
    void aSnapshotOfAPartOfTheRestoredRowsEndsBeforeThem() throws IOException {
        InFlight inFlight = table(50, 5);
        restore(inFlight, 5, -1, 3);
        file.write(file.image(inFlight, 50, READING, TIME, 2));
        assertRead(50, 5);
        assertEquals(READING, file.read().getLong(InFlightDescriptor.READING));
    }

    @Test
    void delaysEndByTheWallClockButNotLaterThanTheirLength() throws IOException {
        InFlight inFlight = table(50, 1, 1, 1);
        inFlight.requeue(50, 500);
        inFlight.requeue(52, 0);
        write(inFlight);
        long[][] expected = {{TIME, 500}, {TIME + 200, 300}, {TIME + 500, 0}, {TIME + 5000, 0}, {TIME - 9000, 500}};
        for (long[] each : expected) {
            InFlight found = empty(50);
            InFlightFile.restore(file.read(), 50, each[0], found);
            assertEquals(each[1], found.delay(50), "at " + each[0]);
            assertEquals(0, found.delay(51));
            assertEquals(0, found.delay(52));
        }
    }

    private void assertAcked(long committed, long end, long... bounds) throws IOException {
        List<OffsetRange> expected = new ArrayList<>();
        for (int i = 0; i < bounds.length; i += 2) {
            expected.add(new OffsetRange(bounds[i], bounds[i + 1]));
        }
        assertEquals(expected, InFlightFile.acked(file.read(), committed, end));
    }

    @Test
    void acksAreRangesFromTheCommittedOffsetToTheLogEnd() throws IOException {
        assertAcked(0, 100);
        assertAcked(50, 100, 0, 50);
        write(table(50, 1, -1, -1, 2, 3, -1, 1, -1, -1));
        assertAcked(50, 100, 0, 50, 51, 53, 55, 56, 57, 59);
        assertAcked(51, 100, 0, 53, 55, 56, 57, 59);
        assertAcked(52, 100, 0, 53, 55, 56, 57, 59);
        assertAcked(55, 100, 0, 56, 57, 59);
        assertAcked(80, 100, 0, 80);
        assertAcked(50, 58, 0, 50, 51, 53, 55, 56, 57, 58); // before a recovery, which gives 58 to another record
        assertAcked(50, 57, 0, 50, 51, 53, 55, 56);
        assertAcked(49, 100, 0, 49); // moved since
    }

    private void cutAfter(long position, long offset) throws IOException {
        InFlightFile.cutAfter(new LogEnd(position, offset, 0), DiskStorage.INSTANCE, temp, QUEUE);
    }

    @Test
    void recordsPastTheLogEndAreCut() throws IOException {
        InFlightFile other = new InFlightFile(DiskStorage.INSTANCE, temp.resolve("other.inflight"), QUEUE);
        write(table(50, 1, 2, 2, -1, 3));
        write(other, table(50, 1), READING - 200);
        byte[] before = Files.readAllBytes(other.path());
        cutAfter(READING, 55);
        assertRead(50, 1, 2, 2, -1, 3);
        cutAfter(READING - 100, 52);
        assertRead(50, 1, 2);
        assertEquals(READING - 100, file.read().getLong(InFlightDescriptor.READING));
        assertArrayEquals(before, Files.readAllBytes(other.path()));
        cutAfter(READING - 300, 50);
        assertFalse(Files.exists(path));
        assertFalse(Files.exists(other.path()));
        InFlightFile.cutAfter(new LogEnd(0, 0, 0), DiskStorage.INSTANCE, temp.resolve("missing"), QUEUE);
    }

    @Test
    void aFileThatContradictsTheLogEndIsDeleted() throws IOException {
        write(table(50, 1, 2));
        cutAfter(READING - 8, 60);
        assertFalse(Files.exists(path));
    }

    @Test
    void aFileOfAnotherQueueIsIgnored() throws IOException {
        write(table(50, 1));
        MetaFields other = new MetaFields(2, 8, 4096, 1, 3, true, 1000, 0, 1);
        assertNull(new InFlightFile(DiskStorage.INSTANCE, path, other).read());
    }

    /** At worst a record is redelivered, or with fewer attempts; no other record ever counts as acked. */
    @Test
    void aDamagedFileIsIgnored() throws IOException {
        write(table(50, 1, -1, 2, -1, 3));
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
        Directories.resize(path, image.length + 16L);
        assertIgnored("16 bytes more");
    }

    private void assertIgnored(String what) throws IOException {
        assertNull(file.read(), what);
    }

    /** Where every second record is acked, a run is one record: an array can hold fewer than may be in flight. */
    @Test
    void anImageGrowsUpToAllRuns() {
        long most = InFlightDescriptor.RUNS + (long) ALL * InFlightDescriptor.RUN_BYTES;
        int bytes = InFlightDescriptor.RUNS + 16 * InFlightDescriptor.RUN_BYTES;
        while (bytes < most) {
            int grown = InFlightFile.grown(bytes);
            assertTrue(grown > bytes, bytes + " bytes grow to " + grown);
            bytes = grown;
        }
    }

    @Test
    void aDeletedFileIsGone() throws IOException {
        file.delete();
        write(table(50, 1));
        assertTrue(Files.exists(path));
        file.delete();
        assertFalse(Files.exists(path));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4})
    void anyTableIsRestored(int seed) throws IOException {
        SplittableRandom random = new SplittableRandom(seed);
        int[] attempts = new int[1 + random.nextInt(1235)];
        int times = 1;
        for (int i = 0; i < attempts.length; i++) {
            times = random.nextInt(4) > 0 ? times : random.nextInt(5) == 0 ? -1 : 1 + random.nextInt(10_000);
            attempts[i] = i == 0 ? 1 : times;
        }
        write(table(1L << 33, attempts));
        assertRead(1L << 33, attempts);
    }
}
