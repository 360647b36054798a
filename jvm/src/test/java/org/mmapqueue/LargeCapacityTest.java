package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** The ring may have 2³⁰ segments: unused ones take no memory. */
@Timeout(120)
class LargeCapacityTest {
    private static final int MOST_BYTES = 16 << 20;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue open() {
        return MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(1 << 30)
                .maxInMemSegments(6)
                .flushPeriod(Duration.ofMinutes(10))
                .build());
    }

    @Test
    void theLargestRingIsOpenedInLittleMemory() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        try (MmapQueue queue = open()) {
            for (int i = 0; i < 100; i++) {
                queue.push(Payload.numbered(i, 300));
            }
        }
        try (MmapQueue queue = open()) {
            for (int i = 0; i < 100; i++) {
                assertEquals(i, Payload.numberOf(queue.consumer().pop().data()));
            }
            queue.consumer().ackUpTo(99);
            assertTrue(queue.gc() > 0);
            queue.push(Payload.numbered(100, 300));
            assertEquals(100, queue.consumer().pop().offset());
        }
        long bytes = threads.getCurrentThreadAllocatedBytes() - before;
        assertTrue(bytes < MOST_BYTES, bytes + " bytes of the heap");
    }
}
