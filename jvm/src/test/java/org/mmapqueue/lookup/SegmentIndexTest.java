package org.mmapqueue.lookup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The sparse index of one segment, and the bounded set of indexes. */
class SegmentIndexTest {
    /** Odd, so that offsets counted from 0 instead of the base fail. */
    private static final long BASE = 5_000_000_003L;

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 7, 8, 9, 1000, 16_384, 65_536, 65_537, 150_000})
    void everyFloorIsAnEntryCloselyBefore(int records) {
        SplittableRandom random = new SplittableRandom(records);
        int[] offsets = new int[records + 1];
        long[] timestamps = new long[records + 1];
        offsets[0] = 64;
        timestamps[0] = 1000;
        SegmentIndex index = new SegmentIndex(7, BASE, 1000, 64);
        for (int i = 1; i <= records; i++) {
            offsets[i] = offsets[i - 1] + 8 * (1 + random.nextInt(10));
            timestamps[i] = timestamps[i - 1] + Math.max(0, random.nextInt(4) - 2);
            index.add(BASE + i, offsets[i], timestamps[i]);
            if (i == 100 || i == records / 2) {
                index.shrink();
            }
        }
        int spacing = records <= 8 ? 8 : 16;
        if (records >= 100) {
            spacing = 32; // halved twice, which leaves room for 262 144 records
        }
        for (int tries = 0; tries < 2000; tries++) {
            int wanted = tries == 0 ? 0 : tries == 1 ? records : random.nextInt(records + 1);
            int entry = index.floorOfOffset(BASE + wanted);
            int at = (int) (index.offset(entry) - BASE);
            assertTrue(at <= wanted && at > wanted - spacing, "record " + wanted + " from " + at);
            assertEquals(offsets[at], index.at(entry));
            assertEquals(timestamps[at], index.timestamp(entry));

            entry = index.floorOfByte(offsets[wanted] + random.nextInt(2) * 4);
            at = (int) (index.offset(entry) - BASE);
            assertTrue(at <= wanted && at > wanted - spacing, "offset of " + wanted + " from " + at);

            entry = index.floorOfTime(timestamps[wanted]);
            at = (int) (index.offset(entry) - BASE);
            assertTrue(at == 0 || timestamps[at] < timestamps[wanted], "time of " + wanted + " from " + at);
            int next = Math.min(records, at + spacing);
            assertTrue(timestamps[next] >= timestamps[wanted] || next == records, "time of " + wanted + " from " + at);
        }
        assertEquals(BASE + records, index.offset(index.last()));
        assertEquals(0, index.floorOfByte(0));
        assertTrue(index.room() <= 8192);
    }

    @Test
    void memoryIsBoundedAndTheLatestIndexesStay() {
        SegmentIndexes indexes = new SegmentIndexes();
        SegmentIndex first = new SegmentIndex(0, 0, 0, 64);
        indexes.put(first);
        for (int id = 1; id < 1500; id++) {
            assertNull(indexes.get(id));
            SegmentIndex index = new SegmentIndex(id, BASE, 0, 64);
            indexes.put(index);
            for (int i = 1; i < 10_000; i++) {
                index.add(BASE + i, 64 + 8 * i, 0);
            }
            assertSame(index, indexes.get(id));
            assertSame(first, indexes.get(0), "used often");
            assertTrue(indexes.size() <= 820, "size " + indexes.size());
        }
        assertTrue(indexes.size() > 400, "size " + indexes.size());
        assertNotNull(indexes.get(1499));
        assertNull(indexes.get(1));
        indexes.remove(1499);
        indexes.remove(1);
        assertNull(indexes.get(1499));
        indexes.clear();
        assertNull(indexes.get(0));
        assertEquals(0, indexes.size());
    }

    @Test
    void manyIndexesGetSparserBeforeOneIsDropped() {
        SegmentIndexes indexes = new SegmentIndexes();
        for (int id = 0; id < 300; id++) {
            SegmentIndex index = new SegmentIndex(id, BASE, 0, 64);
            indexes.put(index);
            for (int i = 1; i < 65_000; i++) {
                index.add(BASE + i, 64 + 8 * i, 0);
            }
        }
        assertEquals(300, indexes.size());
        long room = 0;
        for (int id = 0; id < 300; id++) {
            int each = indexes.get(id).room();
            assertTrue(each >= 512, "room " + each);
            room += each;
        }
        assertTrue(room <= 1 << 19 && room > 1 << 18, "room " + room);
    }

    @Test
    void manySmallIndexesAreKept() {
        SegmentIndexes indexes = new SegmentIndexes();
        for (int id = 0; id < 50_000; id++) {
            indexes.put(new SegmentIndex(id, BASE, 0, 64));
        }
        assertTrue(indexes.size() > 10_000 && indexes.size() < 30_000, "size " + indexes.size());
        for (int id = 0; id < 50_000; id++) {
            indexes.remove(id);
        }
        assertEquals(0, indexes.size());
        // Removed indexes do not count.
        for (int id = 0; id < 10_000; id++) {
            indexes.put(new SegmentIndex(id, BASE, 0, 64));
        }
        assertEquals(10_000, indexes.size());
    }
}
