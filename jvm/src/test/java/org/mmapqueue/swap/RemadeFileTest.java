package org.mmapqueue.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.segment.Segment;

/** A slot's file that was deleted and made again, or is missing, as its writer and its readers see it. */
@Timeout(60)
class RemadeFileTest extends DiscardedFiles {
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
        assertEquals(null, later.headerFault(QUEUE, RING));
        assertEquals(null, old.headerFault(QUEUE, RING));
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
        assertTrue(zeros.headerFault(QUEUE, RING) != null);
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
        assertTrue(first.headerFault(QUEUE, RING) != null);
        writer.discard(0, NOTHING_NEEDED);
        write(CAPACITY);
        assertTrue(first.headerFault(QUEUE, RING) != null);
        reader.unpinAndForget(first);
        assertEquals(1, reader.mapped());
        assertTrue(second.headerFault(QUEUE, RING) != null); // usable still
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
}
