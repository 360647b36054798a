package org.mmapqueue.spark.read.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Small ranges share tasks: few tasks, none too large, all in order. */
class TaskPackingTest {
    private static final long OPEN = TaskPacking.OPEN_BYTES;
    private static final long MOST = 128L << 20;

    private static List<List<Long>> pack(List<Long> sizes, long most, int least) {
        return new TaskPacking(most, least).pack(sizes, Long::longValue);
    }

    @Test
    void aThousandSmallRangesNeedFewTasks() {
        List<Long> sizes = Collections.nCopies(1000, 2000L);
        assertEquals(8, pack(sizes, MOST, 8).size());
        int onTwoCores = pack(sizes, MOST, 2).size();
        assertTrue(onTwoCores <= 8, "" + onTwoCores);
    }

    @Test
    void fewRangesAreNotPackedBelowTheLeastNumber() {
        assertEquals(3, pack(List.of(1L, 1L, 10 * OPEN), MOST, 3).size());
        assertEquals(5, pack(List.of(1L, 1L, 1L, 1L, 10 * OPEN), MOST, 5).size());
        assertEquals(1, pack(List.of(1L, 1L, 1L), MOST, 1).size());
        assertEquals(List.of(), pack(List.of(), MOST, 4));
    }

    @Test
    void randomRanges() {
        Random random = new Random(7);
        for (int round = 0; round < 2000; round++) {
            List<Long> sizes = LongStream.range(0, 1 + random.nextInt(200))
                    .map(i -> random.nextInt(10) == 0 ? random.nextInt(200 << 20) : random.nextInt(10_000))
                    .boxed()
                    .toList();
            int least = 1 + random.nextInt(20);
            List<List<Long>> tasks = pack(sizes, MOST, least);
            assertEquals(sizes, tasks.stream().flatMap(List::stream).toList());
            assertTrue(tasks.size() >= Math.min(least, sizes.size()), tasks.size() + " of " + least);
            for (List<Long> task : tasks) {
                long bytes = task.stream().mapToLong(each -> each + OPEN).sum();
                assertTrue(!task.isEmpty() && (task.size() == 1 || bytes <= MOST), "" + task);
            }
        }
    }
}
