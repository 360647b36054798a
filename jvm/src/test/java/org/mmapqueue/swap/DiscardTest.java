package org.mmapqueue.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SegmentRing;

/** Ring files that are deleted and made again, seen by the process that does it and by one that only reads. */
@Timeout(60)
class DiscardTest {
    private static final int SIZE = 4096;
    private static final int CAPACITY = 8;
    private static final int MAX = 6;
    private static final long UUID = 77;

    @TempDir
    Path temp;
    /** As if all that the ring holds were reclaimed. */
    private static final long NOTHING_NEEDED = Long.MAX_VALUE / 2;

    private final WatchedStorage storage = new WatchedStorage();
    private Swapper writer;
    private Swapper reader;

    @BeforeEach
    void open() {
        writer = new Swapper(ring(), MAX, true, new Nowhere());
        reader = new Swapper(ring(), MAX, false, new Nowhere());
    }

    private SegmentRing ring() {
        return new SegmentRing(storage, temp, new Geometry(Format.V2, SIZE, CAPACITY));
    }

    @AfterEach
    void close() throws IOException {
        writer.close();
        reader.close();
        assertEquals(0, writer.mapped());
        assertEquals(0, reader.mapped());
    }

    private Path file(long id) {
        return temp.resolve(id % CAPACITY + "_segment.dat");
    }

    private void write(long id) throws IOException {
        EnteredSegment.write(writer, id, SIZE, UUID);
    }

    private void assertReads(Swapper swapper, long id) throws IOException {
        Segment segment = swapper.pin(id);
        try {
            assertEquals(null, segment.headerFault(UUID));
            assertEquals(id + 1, segment.getLong(SIZE - 8));
        } finally {
            swapper.unpin(segment);
        }
    }

    private static Thread start(FutureTask<?> task) {
        Thread thread = new Thread(task, "test-call");
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Returns when a thread waits for the slot; the queue of the condition is not visible from outside. */
    private static FutureTask<Void> startUntilItWaits(Callable<Void> call) throws InterruptedException {
        FutureTask<Void> task = new FutureTask<>(call);
        Thread thread = start(task);
        while (thread.getState() != Thread.State.WAITING && !task.isDone()) {
            Thread.sleep(1);
        }
        return task;
    }

    @Test
    void whatIsNeededIsSparedUpToWhereTheWriterIsByThen() throws IOException {
        for (long id = 0; id <= CAPACITY + 2; id++) {
            writer.unpin(writer.enter(id));
        }
        // Slots 0, 1 and 2 hold segments of the second generation by now, which a caller who looked earlier does not
        // know.
        for (int slot = 0; slot < CAPACITY; slot++) {
            boolean isReclaimed = slot == 3 || slot == 4;
            assertEquals(isReclaimed ? SIZE : 0, writer.discard(slot, 5), "slot " + slot);
        }
    }

    @Test
    void theFileIsDeletedAndItsMappingFreed() throws IOException {
        write(0);
        write(1);
        assertEquals(2, writer.live());
        assertEquals(SIZE, writer.discard(0, NOTHING_NEEDED));
        assertFalse(Files.exists(file(0)));
        assertEquals(1, writer.live());
        assertEquals(1, writer.mapped());
        assertReads(writer, 1);
        CorruptException missing = assertThrows(CorruptException.class, () -> writer.pin(0));
        assertTrue(missing.getMessage().contains("missing"), missing.getMessage());
    }

    @Test
    void whatIsNotMappedIsDeletedAsWell() throws IOException {
        for (long id = 0; id < CAPACITY; id++) {
            write(id);
            writer.evictWhenFull();
        }
        assertTrue(writer.live() < CAPACITY);
        int deleted = 0;
        for (int slot = 0; slot < CAPACITY; slot++) {
            deleted += writer.discard(slot, NOTHING_NEEDED) == SIZE ? 1 : 0;
        }
        assertEquals(CAPACITY, deleted);
        assertEquals(0, writer.mapped());
        try (var left = Files.list(temp)) {
            assertEquals(0, left.count());
        }
    }

    @Test
    void thereIsNothingToDeleteTwiceOrWhereNothingWas() throws IOException {
        write(0);
        assertEquals(SIZE, writer.discard(0, NOTHING_NEEDED));
        assertEquals(0, writer.discard(0, NOTHING_NEEDED));
        assertEquals(0, writer.discard(5, NOTHING_NEEDED));
    }

    @Test
    void whatTheFileHadIsWhatIsReported() throws IOException {
        Files.write(file(3), new byte[100]);
        assertEquals(100, writer.discard(3, NOTHING_NEEDED));
        assertFalse(Files.exists(file(3)));
    }

    @Test
    void aPinnedSegmentStays() throws IOException {
        write(2);
        Segment pinned = writer.pin(2);
        assertEquals(0, writer.discard(2, NOTHING_NEEDED));
        assertTrue(Files.exists(file(2)));
        assertEquals(3, pinned.getLong(SIZE - 8));
        writer.unpin(pinned);
        assertEquals(SIZE, writer.discard(2, NOTHING_NEEDED));
    }

    @Test
    void aPreallocatedSegmentIsNotDiscarded() throws IOException {
        for (long id = 0; id < CAPACITY; id++) {
            writer.preallocate(id); // the last ones find no place to be mapped
        }
        assertEquals(MAX, writer.mapped());
        for (int slot = 0; slot < CAPACITY; slot++) {
            assertEquals(0, writer.discard(slot, NOTHING_NEEDED), "slot " + slot);
            assertTrue(Files.exists(file(slot)));
        }
        for (long id = 0; id < CAPACITY; id++) {
            write(id);
        }
    }

    @Test
    void whatIsBeingFilledStays() throws Exception {
        storage.whileFilling = () -> assertEquals(0, writer.discard(1, NOTHING_NEEDED));
        writer.preallocate(1);
        assertTrue(Files.exists(file(1)));
        write(1);
        assertReads(writer, 1);
    }

    /** No pin protects an unmapped file while it is fsynced: an fsync of the file made anew would not reach the old one. */
    @Test
    void whatIsBeingSyncedUnmappedStays() throws Exception {
        write(0);
        writer.close();
        AtomicBoolean isSynced = new AtomicBoolean();
        storage.whileSyncingFile = () -> {
            isSynced.set(true);
            assertEquals(0, writer.discard(0, NOTHING_NEEDED));
            assertTrue(Files.exists(file(0)));
        };
        writer.force(0, 0, SIZE);
        assertTrue(isSynced.get());
        storage.whileSyncingFile = () -> {};
        assertEquals(SIZE, writer.discard(0, NOTHING_NEEDED));
    }

    private void discardZeroWhileThisWaits(Callable<Void> call) throws Exception {
        FutureTask<?>[] waiting = new FutureTask<?>[1];
        storage.beforeDeleting = () -> {
            try {
                waiting[0] = startUntilItWaits(call);
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            assertFalse(waiting[0].isDone());
        };
        assertEquals(SIZE, writer.discard(0, NOTHING_NEEDED));
        waiting[0].get(30, TimeUnit.SECONDS);
    }

    @Test
    void closingWaitsUntilTheFileIsGone() throws Exception {
        for (long id = 0; id < 4; id++) {
            write(id);
        }
        discardZeroWhileThisWaits(() -> {
            writer.close();
            return null;
        });
        assertFalse(Files.exists(file(0)));
    }

    @Test
    void preallocationWaitsUntilTheFileIsDeleted() throws Exception {
        write(0);
        discardZeroWhileThisWaits(() -> {
            writer.preallocate(CAPACITY);
            return null;
        });
        assertEquals(SIZE, Files.size(file(0)));
        write(CAPACITY);
        assertReads(writer, CAPACITY);
    }

    @Test
    void aFileMadeAgainIsAllZerosAndItsEntrySynced() throws IOException {
        write(0);
        writer.force(0, 0, SIZE);
        int synced = storage.syncedDirectories.get();
        assertEquals(SIZE, writer.discard(0, NOTHING_NEEDED));
        writer.syncEntries();
        assertEquals(synced + 1, storage.syncedDirectories.get());
        write(CAPACITY);
        writer.force(CAPACITY, 0, SIZE);
        assertEquals(synced + 2, storage.syncedDirectories.get());
        assertReads(writer, CAPACITY);
    }

    /** A generation with no new file costs no fsync of the directory; in the first one of a process there may be old ones. */
    @Test
    void entriesAreSyncedOnceAfterAFileWasMade() throws IOException {
        write(0);
        writer.force(0, 0, SIZE);
        assertEquals(1, storage.syncedDirectories.get());
        writer.force(0, 0, SIZE);
        write(CAPACITY);
        writer.force(CAPACITY, 0, SIZE);
        assertEquals(1, storage.syncedDirectories.get());
        write(CAPACITY + 1);
        writer.force(CAPACITY + 1, 0, SIZE);
        assertEquals(2, storage.syncedDirectories.get());
        // What this process finds may have been made by one that was killed before it fsynced the entry.
        try (Swapper next = new Swapper(ring(), MAX, true, new Nowhere())) {
            next.force(CAPACITY, 0, SIZE);
            assertEquals(3, storage.syncedDirectories.get());
            next.force(CAPACITY, 0, SIZE);
            assertEquals(3, storage.syncedDirectories.get());
        }
    }

    @Test
    void aSyncOfEntriesThatFailsIsTriedAgain() throws IOException {
        write(0);
        storage.beforeSyncingDirectory = () -> {
            throw new IOException("injected");
        };
        assertThrows(IOException.class, () -> writer.force(0, 0, SIZE));
        assertThrows(IOException.class, writer::syncEntries);
        assertEquals(0, storage.syncedDirectories.get());
        storage.beforeSyncingDirectory = () -> {};
        writer.force(0, 0, SIZE);
        assertEquals(1, storage.syncedDirectories.get());
    }

    @Test
    void toSyncWhatWasDeletedIsNoErrorButWhatIsMissingIs() throws IOException {
        write(0);
        write(1);
        write(3);
        writer.discard(0, NOTHING_NEEDED);
        writer.force(0, 0, SIZE);
        writer.discard(1, NOTHING_NEEDED);
        writer.discard(3, NOTHING_NEEDED);
        write(CAPACITY + 1);
        writer.force(1, 0, SIZE);
        writer.discard(1, NOTHING_NEEDED);
        assertThrows(NoSuchFileException.class, () -> writer.force(4, 0, SIZE));
        write(CAPACITY + 3);
        writer.close();
        Files.delete(file(3));
        assertThrows(NoSuchFileException.class, () -> writer.force(CAPACITY + 3, 0, SIZE));
    }

    @Test
    void aFileThatCanNotBeDeletedIsAsGoodAsBefore() throws IOException {
        write(0);
        storage.beforeDeleting = () -> {
            throw new IOException("injected");
        };
        assertThrows(IOException.class, () -> writer.discard(0, NOTHING_NEEDED));
        assertEquals(0, writer.mapped());
        assertReads(writer, 0);
        storage.beforeDeleting = () -> {};
        assertEquals(SIZE, writer.discard(0, NOTHING_NEEDED));
        assertEquals(0, writer.mapped());
    }

    @Test
    void onlySlotsOfTheRingAndOnlyByTheWriter() throws IOException {
        write(0);
        assertThrows(IndexOutOfBoundsException.class, () -> writer.discard(-1, NOTHING_NEEDED));
        assertThrows(IndexOutOfBoundsException.class, () -> writer.discard(CAPACITY, NOTHING_NEEDED));
        assertThrows(IllegalStateException.class, () -> reader.discard(0, NOTHING_NEEDED));
        assertTrue(Files.exists(file(0)));
    }

    @Test
    void aReaderSeesTheFileThatWasMadeAgain() throws IOException {
        for (long generation = 0; generation < 5; generation++) {
            long id = generation * CAPACITY + 3;
            write(id);
            assertReads(reader, id);
            assertEquals(SIZE, writer.discard(3, NOTHING_NEEDED));
            assertReads(reader, id); // it has it still
        }
        // One mapping, of the last generation: the ones before would keep the blocks of deleted files.
        assertEquals(1, reader.mapped());
        assertThrows(CorruptException.class, () -> reader.pin(5 * CAPACITY + 3));
    }

    @Test
    void aReadersPinOfAnOldGenerationIsNotLentToALaterOne() throws IOException {
        write(1);
        Segment old = reader.pin(1);
        writer.discard(1, NOTHING_NEEDED);
        write(1 + CAPACITY);
        Segment later = reader.pin(1 + CAPACITY);
        assertNotSame(old, later);
        assertEquals(null, later.headerFault(UUID));
        assertEquals(null, old.headerFault(UUID));
        assertEquals(2, reader.mapped());
        reader.unpin(old);
        reader.unpin(later);
        assertReads(reader, 1 + CAPACITY);
        assertEquals(1, reader.mapped());
    }

    @Test
    void aReaderMeetsAFileThatIsMissingShortOrEmpty() throws IOException {
        write(0);
        writer.discard(0, NOTHING_NEEDED);
        assertThrows(CorruptException.class, () -> reader.pin(CAPACITY));
        storage.whileFilling = () -> {
            CorruptException half = assertThrows(CorruptException.class, () -> reader.pin(CAPACITY));
            assertTrue(half.getMessage().contains(SIZE / 2 + " bytes"), half.getMessage());
        };
        writer.preallocate(CAPACITY);
        Segment zeros = reader.pin(CAPACITY);
        assertTrue(zeros.headerFault(UUID) != null);
        reader.unpinAndForget(zeros);
        assertEquals(0, reader.mapped());
        write(CAPACITY);
        assertReads(reader, CAPACITY);
    }

    /** The mapped file is deleted: only a new mapping shows the new one. */
    @Test
    void whatWasNotTheSegmentIsNotKeptForIt() throws IOException {
        write(0);
        Segment first = reader.pin(CAPACITY);
        Segment second = reader.pin(CAPACITY);
        assertSame(first, second);
        assertTrue(first.headerFault(UUID) != null);
        writer.discard(0, NOTHING_NEEDED);
        write(CAPACITY);
        assertTrue(first.headerFault(UUID) != null);
        reader.unpinAndForget(first);
        assertEquals(1, reader.mapped());
        assertTrue(second.headerFault(UUID) != null); // usable still
        reader.unpin(second);
        assertReads(reader, CAPACITY);
    }

    @Test
    void theWriterHasNothingToForget() throws IOException {
        write(0);
        Segment segment = writer.pin(0);
        writer.unpinAndForget(segment);
        assertEquals(1, writer.mapped());
        assertSame(segment, writer.pin(0));
        writer.unpin(segment);
    }

    @Test
    void aReaderKeepsToTheLimitOverManyGenerations() throws IOException {
        for (long id = 0; id < 10 * CAPACITY; id++) {
            write(id);
            writer.evictWhenFull();
            assertReads(reader, id);
            for (long back = Math.max(0, id - CAPACITY + 1); back < id; back += 2) {
                assertReads(reader, back);
            }
            assertTrue(reader.mapped() <= MAX);
        }
        assertTrue(reader.peak() <= MAX);
    }

    @Test
    void manyThreadsPreallocateDiscardAndRead() throws Exception {
        int generations = 60;
        AtomicBoolean ended = new AtomicBoolean();
        FutureTask<Void> discarding = new FutureTask<>(() -> {
            while (!ended.get()) {
                for (int slot = 1; slot < CAPACITY; slot += 2) {
                    writer.discard(slot, NOTHING_NEEDED); // nobody looks at these once they are written
                }
            }
            return null;
        });
        start(discarding);
        try {
            for (long id = 0; id < (long) generations * CAPACITY; id++) {
                writer.preallocate(id + 1);
                Segment segment = writer.enter(id);
                assertEquals(0, segment.getLong(0));
                segment.writeHeader(UUID, 1, id, 0, 0);
                segment.putLong(SIZE - 8, id + 1);
                if (id % 2 == 0) {
                    writer.unpin(segment);
                    assertReads(reader, id);
                } else {
                    assertReads(reader, id);
                    writer.unpin(segment);
                }
                writer.evictWhenFull();
                assertTrue(writer.mapped() <= MAX);
            }
        } finally {
            ended.set(true);
        }
        discarding.get(30, TimeUnit.SECONDS);
        for (int slot = 1; slot < CAPACITY; slot += 2) {
            writer.discard(slot, NOTHING_NEEDED);
            assertFalse(Files.exists(file(slot)));
        }
        for (int slot = 2; slot < CAPACITY; slot += 2) {
            assertReads(reader, (generations - 1L) * CAPACITY + slot);
        }
    }
}
