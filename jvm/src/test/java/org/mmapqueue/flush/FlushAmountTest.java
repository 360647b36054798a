package org.mmapqueue.flush;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;

/** The block size of new files follows the amount of each fsync, for sync pushes or by count. */
class FlushAmountTest {
    private static final int SMALL = SyncedMemory.BLOCK / 8;
    private static final int LARGE = SyncedMemory.BLOCK;
    private static final long NEVER = 1_000_000;

    private final SyncedMemory memory = new SyncedMemory();
    private final Geometry geometry = new Geometry(Format.V2, 1 << 20, 8);

    private void push(int bytes) {
        memory.meta.writing(memory.meta.writing() + bytes);
    }

    @Test
    void syncPushesOfLittle() {
        Flusher flusher = memory.flusher(geometry, NEVER);
        for (int i = 0; i < 100; i++) {
            push(100);
            flusher.awaitDurable(memory.meta.writing());
        }
        assertEquals(SMALL, memory.blocks.next());
    }

    @Test
    void flushesOfLittleThatSomebodyWaitsFor() {
        Flusher flusher = memory.flusher(geometry, NEVER);
        for (int i = 0; i < 100; i++) {
            push(100);
            flusher.flush();
        }
        assertEquals(SMALL, memory.blocks.next());
        for (int i = 0; i < 20; i++) {
            push(10 * LARGE);
            flusher.flushMost();
        }
        assertEquals(LARGE, memory.blocks.next());
    }

    /** A queue with little traffic is fsynced by its period, and may have much at any time. */
    @Test
    void thePeriodTellsNothing() throws IOException {
        Syncer syncer = memory.syncer(geometry);
        for (int i = 0; i < 100; i++) {
            push(100);
            syncer.syncAll();
        }
        assertEquals(LARGE, memory.blocks.next());
    }

    @Test
    void whatIsSyncedOnceIsToldOnce() {
        Flusher flusher = memory.flusher(geometry, NEVER);
        for (int i = 0; i < 100; i++) {
            push(LARGE / 2 + 100);
            flusher.awaitDurable(memory.meta.writing());
            flusher.flush();
        }
        assertEquals(LARGE, memory.blocks.next());
    }
}
