package org.mmapqueue.segment;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class FillBlocksTest {
    private static final int LARGE = 128 << 10;
    private static final int SMALL = 16 << 10;

    private final FillBlocks blocks = new FillBlocks(LARGE);

    private void synced(int times, long bytes) {
        for (int i = 0; i < times; i++) {
            blocks.synced(bytes);
        }
    }

    @Test
    void theyAreLargeAsLongAsNothingIsKnown() {
        assertEquals(LARGE, blocks.next());
        synced(100, 0);
        assertEquals(LARGE, blocks.next());
    }

    @Test
    void syncsOfLittleMakeThemSmallAndThoseOfMuchLarge() {
        synced(100, 1040);
        assertEquals(SMALL, blocks.next());
        blocks.synced(10 << 20);
        assertEquals(LARGE, blocks.next());
        assertEquals(LARGE, blocks.large());
    }

    @Test
    void oneSyncOfLittleAmongThoseOfMuchChangesNothing() {
        synced(20, 10 << 20);
        blocks.synced(100);
        assertEquals(LARGE, blocks.next());
    }

    @Test
    void syncsOfHalfABlockAndMoreLeaveThemLarge() {
        synced(1000, LARGE / 2 + 1000);
        assertEquals(LARGE, blocks.next());
        synced(1000, LARGE / 2 - 1000);
        assertEquals(SMALL, blocks.next());
    }

    @Test
    void smallIsAnEighthOfLargeAtMost() {
        FillBlocks tiny = new FillBlocks(4096);
        for (int i = 0; i < 100; i++) {
            tiny.synced(1);
        }
        assertEquals(512, tiny.next());
    }
}
