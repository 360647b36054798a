package org.mmapqueue.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.UUID;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SegmentRing;

/** Slots with files that are made anew because the block size has changed. */
@Timeout(60)
class RefilledSlotTest {
    private static final int SIZE = 1 << 17;
    private static final int LARGE = SIZE;
    private static final int SMALL = LARGE / 8;
    private static final int CAPACITY = 4;
    private static final UUID QUEUE = new UUID(0, 77);
    private static final Geometry RING = new Geometry(Format.V2, SIZE, CAPACITY);

    @TempDir
    Path temp;

    private final WatchedStorage storage = new WatchedStorage();
    private SegmentRing ring;
    private Swapper writer;

    @BeforeEach
    void open() {
        ring = new SegmentRing(storage, temp, RING);
        writer = writer(CAPACITY);
    }

    private Swapper writer(int max) {
        return new Swapper(ring, max, true, new Nowhere());
    }

    @AfterEach
    void close() throws IOException {
        writer.close();
        assertEquals(0, writer.mapped());
    }

    private void write(long id) throws IOException {
        EnteredSegment.write(writer, id, SIZE, QUEUE);
    }

    private void generation(long first) throws IOException {
        for (long id = first; id < first + CAPACITY; id++) {
            write(id);
        }
    }

    private void synced(long bytes) {
        for (int i = 0; i < 100; i++) {
            ring.blocks().synced(bytes);
        }
    }

    private Object file(long id) throws IOException {
        return Files.readAttributes(ring.path(id), BasicFileAttributes.class).fileKey();
    }

    // By another name, so that its number is not given to the new file.
    private void keep(long id) throws IOException {
        Files.createLink(temp.resolve("kept-" + id), ring.path(id));
    }

    @Test
    void theFileIsMadeAnewWhenTheBlocksChangeAndNotAgain() throws Exception {
        generation(0);
        assertEquals(LARGE, storage.blockSize.get());
        Object large = file(0);
        synced(1040);
        keep(0);
        write(CAPACITY);
        assertNotEquals(large, file(0));
        assertEquals(SMALL, storage.blockSize.get());
        assertEquals(SIZE, Files.size(ring.path(0)));
        generation(CAPACITY + 1);
        Object small = file(0);
        generation(2 * CAPACITY + 1);
        assertEquals(small, file(0));
        assertEquals(CAPACITY, writer.mapped());
        synced(10 * LARGE);
        keep(1);
        Object before = file(1);
        write(3 * CAPACITY + 1);
        assertNotEquals(before, file(1));
        assertEquals(LARGE, storage.blockSize.get());
    }

    /** Nobody knows how it was filled, and to make it anew takes a place on the disk that may be gone by then. */
    @Test
    void aFileThatWasFoundStays() throws IOException {
        generation(0);
        writer.close();
        writer = writer(CAPACITY);
        writer.startAt(CAPACITY - 1);
        synced(1040);
        Object found = file(0);
        write(CAPACITY);
        assertEquals(found, file(0));
        assertEquals(SMALL, storage.blockSize.get());
    }

    @Test
    void aFileThatSomebodyHasPinnedStays() throws IOException {
        generation(0);
        Object pinned = file(0);
        synced(1040);
        Segment segment = writer.pin(0);
        writer.preallocate(CAPACITY);
        assertEquals(pinned, file(0));
        writer.unpin(segment);
    }

    @Test
    void whatAReaderHasMappedIsItsOwn() throws IOException {
        generation(0);
        Swapper reader = new Swapper(ring, CAPACITY, false, new Nowhere());
        Segment old = reader.pin(0);
        synced(1040);
        write(CAPACITY);
        assertEquals(1, old.getLong(SIZE - 8));
        reader.unpin(old);
        Segment wrong = reader.pin(CAPACITY);
        if (wrong.headerFault(QUEUE, RING)
                != null) { // still the old file's: as soon as that shows, the new one is taken
            reader.unpinAndForget(wrong);
            wrong = reader.pin(CAPACITY);
        }
        assertNull(wrong.headerFault(QUEUE, RING));
        assertEquals(CAPACITY + 1, wrong.getLong(SIZE - 8));
        reader.unpin(wrong);
        reader.close();
    }

    @Test
    void aFileThatCanNotBeDeletedIsUsedAsItIs() throws IOException {
        generation(0);
        synced(1040);
        Object before = file(0);
        storage.beforeDeleting = () -> {
            throw new IOException("refused");
        };
        write(CAPACITY);
        assertEquals(before, file(0));
    }

    /** What is fsynced would be the old file, and the new one's length would be taken for fsynced. */
    @Test
    void aFileThatIsBeingSyncedWithoutAMappingStays() throws Exception {
        writer.close();
        writer = writer(2);
        generation(0);
        writer.evictWhenFull();
        synced(1040);
        Object before = file(0);
        FutureTask<Void> preallocation = new FutureTask<>(() -> {
            writer.preallocate(CAPACITY);
            return null;
        });
        storage.whileSyncingFile = () -> {
            storage.whileSyncingFile = () -> {};
            new Thread(preallocation, "test-preallocation").start();
            try {
                preallocation.get(30, TimeUnit.SECONDS);
            } catch (Exception e) {
                throw new IOException(e);
            }
        };
        writer.force(0, 0, SIZE);
        assertEquals(before, file(0));
        assertEquals(SMALL, storage.blockSize.get());
    }
}
