package org.mmapqueue.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class SlotSetTest {
    private static final int LAST = (1 << 30) - 1;

    @Test
    void anOrdinarySetSaysTheSame() {
        SplittableRandom random = new SplittableRandom(7);
        SlotSet slots = new SlotSet();
        Set<Integer> expected = new HashSet<>();
        for (int step = 0; step < 50_000; step++) {
            int number = random.nextInt(20) == 0 ? LAST - random.nextInt(10) : random.nextInt(20_000);
            assertEquals(expected.contains(number), slots.contains(number));
            if (random.nextBoolean()) {
                slots.add(number);
                expected.add(number);
            } else {
                slots.remove(number);
                expected.remove(number);
            }
            assertEquals(expected.contains(number), slots.contains(number));
        }
    }

    @Test
    void aHighNumberTakesNoMoreMemoryThanALowOne() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        SlotSet slots = new SlotSet();
        slots.add(LAST);
        FilledFiles filled = new FilledFiles();
        filled.made(LAST, 4096);
        assertTrue(slots.contains(LAST));
        assertTrue(filled.isOtherwise(LAST, 8192));
        assertFalse(filled.isOtherwise(LAST, 4096));
        assertFalse(filled.isOtherwise(0, 8192));
        filled.made(LAST, 8192);
        assertFalse(filled.isOtherwise(LAST, 8192));
        long bytes = threads.getCurrentThreadAllocatedBytes() - before;
        assertTrue(bytes < 1 << 20, bytes + " bytes of the heap");
    }
}
