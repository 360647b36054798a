package org.mmapqueue.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SegmentRing;

@Timeout(60)
class SwapperTest {
    private static final int SIZE = 4096;

    @TempDir
    Path temp;

    private final TestScopes scopes = new TestScopes();
    private Swapper swapper;

    /** The segments of writer and readers, as the test sets them. */
    private static final class TestScopes implements Scopes {
        private volatile long writing;
        private volatile long[] reading = {};

        @Override
        public long writing() {
            return writing;
        }

        @Override
        public long[] reading() {
            return reading;
        }
    }

    private void make(int max, int capacity) {
        swapper = new Swapper(
                new SegmentRing(DiskStorage.INSTANCE, temp, new Geometry(Format.V2, SIZE, capacity)),
                max,
                true,
                scopes);
    }

    @AfterEach
    void close() throws IOException {
        swapper.close();
        assertEquals(0, swapper.mapped());
    }

    /** The writer rolls into a segment, stores a word there and unpins it. */
    private void write(long id) throws IOException {
        scopes.writing = id;
        Segment segment = swapper.enter(id);
        assertEquals(0, segment.getLong(0), "segment " + id + " begins with zeros");
        segment.putLong(0, id + 1);
        swapper.unpin(segment);
    }

    private void assertHolds(long id) throws IOException {
        Segment segment = swapper.pin(id);
        assertEquals(id, segment.id());
        assertEquals(id + 1, segment.getLong(0));
        swapper.unpin(segment);
    }

    private boolean isMapped(long id) throws IOException {
        int before = swapper.live();
        if (before == 0) {
            return false;
        }
        Segment segment = swapper.pin(id);
        swapper.unpin(segment);
        return swapper.live() == before;
    }

    @Test
    void whatIsMappedStaysUntilTheLimit() throws IOException {
        make(6, 100);
        for (long id = 0; id < 6; id++) {
            write(id);
            assertEquals(id + 1, swapper.live());
        }
        assertTrue(swapper.isFull());
        assertEquals(6, swapper.peak());
        for (long id = 0; id < 6; id++) {
            assertTrue(isMapped(id));
        }
    }

    @Test
    void anEvictionLeavesHalfOfTheLimitLessOneFree() throws IOException {
        make(10, 100);
        for (long id = 0; id < 10; id++) {
            write(id);
        }
        swapper.evictWhenFull();
        assertEquals(10 - (10 / 2 - 1), swapper.live());
        assertFalse(swapper.isFull());
        swapper.evictWhenFull();
        assertEquals(6, swapper.live());
    }

    /** First [reading − max, reading − 1], upwards. */
    @Test
    void theReadScopeGoesFirst() throws IOException {
        make(8, 100);
        for (long id = 0; id < 8; id++) {
            write(id);
        }
        scopes.reading = new long[] {4};
        swapper.evictWhenFull();
        assertEquals(5, swapper.live());
        for (long id = 3; id < 8; id++) {
            assertTrue(isMapped(id), "segment " + id);
        }
    }

    /** Then [writing − max, writing − 1], downwards. */
    @Test
    void theWrittenScopeIsNext() throws IOException {
        make(8, 100);
        for (long id = 0; id < 8; id++) {
            write(id);
        }
        scopes.reading = new long[] {1};
        swapper.evictWhenFull();
        assertEquals(5, swapper.live());
        // Gone: 0 by the read scope, 6 and 5 by the written one.
        for (long id : new long[] {1, 2, 3, 4, 7}) {
            assertTrue(isMapped(id), "segment " + id);
        }
    }

    @Test
    void segmentsOfWriterAndReadersAreNeverEvicted() throws IOException {
        make(4, 100);
        for (long id = 0; id < 4; id++) {
            write(id);
        }
        scopes.reading = new long[] {0, 2};
        for (long id = 4; id < 40; id++) {
            scopes.writing = id - 1;
            Segment segment = swapper.enter(id);
            swapper.unpin(segment);
            assertTrue(isMapped(0) && isMapped(2), "at " + id);
        }
        assertEquals(4, swapper.peak());
    }

    @Test
    void aPinnedSegmentStaysMappedAndGood() throws IOException {
        make(4, 100);
        write(0);
        Segment pinned = swapper.pin(0);
        for (long id = 1; id < 50; id++) {
            write(id);
            assertEquals(1, pinned.getLong(0));
        }
        assertSame(pinned, swapper.pin(0));
        swapper.unpin(pinned);
        swapper.unpin(pinned);
        assertEquals(4, swapper.peak());
    }

    @Test
    void segmentsComeBackWithWhatTheyHeld() throws IOException {
        make(4, 60);
        for (long id = 0; id < 50; id++) {
            write(id);
        }
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 300; i++) {
            long id = random.nextLong(50);
            scopes.reading = new long[] {id};
            assertHolds(id);
            assertTrue(swapper.mapped() <= 4);
        }
        assertEquals(4, swapper.peak());
    }

    @Test
    void aSlotOfALaterGenerationIsAnotherSegmentAndBeginsWithZeros() throws IOException {
        make(4, 3);
        for (long id = 0; id < 20; id++) {
            write(id);
            assertHolds(id);
        }
        Segment last = swapper.pin(19);
        assertEquals("1_segment.dat", last.path().getFileName().toString());
        swapper.unpin(last);
    }

    @Test
    void preallocationMapsAheadBelowTheLimitAndIsDoneOnce() throws IOException {
        make(5, 20);
        write(0);
        for (int i = 0; i < 3; i++) {
            swapper.preallocate(1);
            swapper.preallocate(2);
        }
        assertEquals(1, swapper.live());
        assertEquals(3, swapper.mapped());
        Segment ahead = swapper.enter(1);
        ahead.putLong(0, 7);
        assertEquals(2, swapper.live());
        assertEquals(3, swapper.mapped());
        swapper.preallocate(1); // the writer is in it
        swapper.preallocate(0);
        assertEquals(7, ahead.getLong(0));
        swapper.unpin(ahead);
        assertHolds(0);
    }

    @Test
    void whatIsMappedAheadGivesWayToWhatIsNeeded() throws IOException {
        make(4, 40);
        write(0);
        for (long id = 1; id < 4; id++) {
            swapper.preallocate(id);
        }
        assertEquals(4, swapper.mapped());
        for (long id = 4; id < 12; id++) {
            swapper.preallocate(id);
        }
        assertEquals(4, swapper.mapped());
        for (long id = 1; id < 12; id++) {
            write(id);
        }
        for (long id = 0; id < 12; id++) {
            assertHolds(id);
        }
        assertEquals(4, swapper.peak());
    }

    @Test
    void aSegmentThatIsNotThereIsSaidSo() throws IOException {
        make(4, 40);
        assertThrows(CorruptException.class, () -> swapper.pin(3));
        assertEquals(0, swapper.mapped());
        write(0);
        assertHolds(0);
    }

    @Test
    void aFileOfAnotherSizeIsRefused() throws IOException {
        make(4, 40);
        for (int size : new int[] {0, 100, SIZE - 1, SIZE + 1, 2 * SIZE}) {
            try (RandomAccessFile file =
                    new RandomAccessFile(temp.resolve("7_segment.dat").toFile(), "rw")) {
                file.setLength(size);
            }
            CorruptException refused = assertThrows(CorruptException.class, () -> swapper.pin(7));
            assertTrue(refused.file().endsWith("7_segment.dat"), refused.getMessage());
            assertTrue(refused.getMessage().contains(size + " bytes, expected " + SIZE), refused.getMessage());
        }
        assertEquals(0, swapper.mapped());
        write(0);
    }

    @Test
    void aReaderThatOnlyReadsMakesNoFiles() throws IOException {
        make(4, 40);
        write(0);
        try (Swapper reading = new Swapper(
                new SegmentRing(DiskStorage.INSTANCE, temp, new Geometry(Format.V2, SIZE, 40)), 4, false, scopes)) {
            Segment segment = reading.pin(0);
            assertEquals(1, segment.getLong(0));
            assertThrows(RuntimeException.class, () -> segment.putLong(8, 1));
            reading.unpin(segment);
            assertThrows(CorruptException.class, () -> reading.pin(1));
        }
        assertFalse(temp.resolve("1_segment.dat").toFile().exists());
    }

    @Test
    void twoGenerationsOfOneSlotAreTwoSegmentObjects() throws IOException {
        make(4, 4);
        write(0);
        Segment old = swapper.pin(0);
        swapper.unpin(old);
        for (long id = 1; id <= 4; id++) {
            write(id);
        }
        Segment later = swapper.pin(4);
        assertNotSame(old, later);
        assertEquals(4, later.id());
        swapper.unpin(later);
    }

    @Test
    void syncedSegmentsAreGoodBeforeAndAfter() throws IOException {
        make(4, 6);
        for (long id = 0; id < 30; id++) {
            write(id);
            swapper.force(id, 0, 100);
            if (id >= 3) {
                swapper.force(id - 3, 0, SIZE); // perhaps not mapped any more
            }
            swapper.preallocate(id + 1);
            assertHolds(id);
        }
        assertTrue(swapper.peak() <= 4);
    }

    @Test
    void manyThreadsNeverSeeAWrongSegmentNorMoreThanTheLimit() throws Exception {
        make(7, 30);
        for (long id = 0; id < 30; id++) {
            write(id);
        }
        AtomicReference<Throwable> failure = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            SplittableRandom random = new SplittableRandom(i);
            Thread thread = new Thread(() -> {
                try {
                    for (int round = 0; round < 1500; round++) {
                        assertHolds(random.nextLong(30));
                        assertTrue(swapper.mapped() <= 7);
                    }
                } catch (IOException | RuntimeException | Error e) {
                    failure.set(e);
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (failure.get() != null) {
            throw new AssertionError(failure.get());
        }
        assertTrue(swapper.peak() <= 7);
    }

    /** An access to an unmapped segment crashes the JVM; so the test counts instead of reading first. */
    @Test
    void aPinnedSegmentStaysMappedAfterTheClose() throws IOException {
        make(6, 100);
        write(0);
        write(1);
        Segment pinned = swapper.pin(1);
        swapper.close();
        assertEquals(1, swapper.mapped());
        assertEquals(2, pinned.getLong(0));
        swapper.unpin(pinned);
        assertEquals(0, swapper.mapped());
    }

    @Test
    void afterTheCloseNothingIsMapped() throws IOException {
        make(6, 100);
        write(0);
        swapper.close();
        assertThrows(ClosedException.class, () -> swapper.pin(0));
        assertThrows(ClosedException.class, () -> swapper.pinIfThere(0, new UUID(0, 0)));
        assertThrows(ClosedException.class, () -> swapper.preallocate(1));
        assertThrows(ClosedException.class, () -> swapper.enter(1));
        assertThrows(ClosedException.class, () -> swapper.force(0, 0, 8));
        assertThrows(ClosedException.class, () -> swapper.discard(5, 0));
        assertEquals(0, swapper.mapped());
    }
}
