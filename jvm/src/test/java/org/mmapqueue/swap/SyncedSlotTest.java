package org.mmapqueue.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SegmentRing;

/** A slot that is fsynced while it is given to its next segment; of segments that are fsynced in more than one part. */
@Timeout(60)
class SyncedSlotTest {
    private static final int SIZE = 17 << 20;
    private static final int CAPACITY = 2;

    @TempDir
    Path temp;

    private final WatchedStorage storage = new WatchedStorage();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private Swapper swapper;

    @BeforeEach
    void make() throws IOException {
        swapper = open();
        for (long id = 0; id < CAPACITY; id++) {
            Segment segment = swapper.enter(id);
            segment.putLong(SIZE - 8, id + 1);
            swapper.unpin(segment);
        }
        swapper.force(0, 0, SIZE);
        assertEquals(0, storage.syncedParts.get()); // the first time it is the file
    }

    private Swapper open() {
        return new Swapper(
                new SegmentRing(storage, temp, new Geometry(Format.V2, SIZE, CAPACITY)), 4, true, new Scopes() {
                    @Override
                    public long writing() {
                        return 1;
                    }

                    @Override
                    public long[] reading() {
                        return new long[0];
                    }
                });
    }

    @AfterEach
    void close() throws IOException {
        swapper.close();
    }

    private Thread preallocator(long id) {
        return new Thread(() -> {
            try {
                swapper.preallocate(id);
            } catch (IOException | RuntimeException | Error e) {
                failure.set(e);
            }
        });
    }

    @Test
    void itIsSyncedInParts() throws IOException {
        swapper.force(0, 4096, SIZE);
        assertEquals(3, storage.syncedParts.get());
    }

    /** It gets the mapping that does not fault page by page, and what it held is not fsynced any further. */
    @Test
    void preallocationWaitsForThePartAndMapsAnew() throws Exception {
        int before = storage.mappings.get();
        Thread preallocator = preallocator(CAPACITY);
        storage.whileSyncingPart = () -> {
            preallocator.start();
            while (preallocator.getState() != Thread.State.WAITING) {
                Thread.onSpinWait();
            }
            assertEquals(before, storage.mappings.get());
        };
        swapper.force(0, 0, SIZE);
        preallocator.join();
        assertNull(failure.get());
        assertEquals(1, storage.syncedParts.get());
        assertEquals(before + 1, storage.mappings.get());
        Segment next = swapper.enter(CAPACITY);
        assertEquals(0, next.getLong(SIZE - 8));
        swapper.unpin(next);
    }

    /** Else the first flush would write-protect all pages after the writing position. */
    @Test
    void aFileThatIsThereGetsItsLengthSyncedBeforeItIsFilled() throws IOException {
        swapper.close();
        swapper = open();
        swapper.startAt(CAPACITY - 1);
        int before = storage.syncedFiles.get();
        storage.whileFilling = () -> assertEquals(before + 1, storage.syncedFiles.get());
        swapper.unpin(swapper.enter(CAPACITY));
        swapper.force(CAPACITY, 0, 4096);
        assertEquals(1, storage.syncedParts.get());
        assertEquals(before + 1, storage.syncedFiles.get());
        storage.whileFilling = () -> {};
        swapper.unpin(swapper.enter(CAPACITY + 1));
        swapper.unpin(swapper.enter(CAPACITY + 2));
        assertEquals(before + 2, storage.syncedFiles.get()); // once for each file
    }

    @Test
    void aShortFileIsSyncedWithItsSegment() throws IOException {
        swapper.close();
        try (FileChannel file = FileChannel.open(temp.resolve("0_segment.dat"), StandardOpenOption.WRITE)) {
            file.truncate(SIZE - 1);
        }
        swapper = open();
        int before = storage.syncedFiles.get();
        swapper.unpin(swapper.enter(CAPACITY));
        assertEquals(before, storage.syncedFiles.get());
        swapper.force(CAPACITY, 0, 4096);
        assertEquals(before + 1, storage.syncedFiles.get());
    }
}
