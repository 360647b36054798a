package org.mmapqueue.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.segment.Segment;

/** Ring files that are deleted and made again, seen by the process that does it and by one that only reads. */
@Timeout(60)
class DiscardTest extends DiscardedFiles {
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
        reopen();
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
        reopen();
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
                segment.writeHeader(QUEUE, CAPACITY, 1, id, 0, 0);
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
