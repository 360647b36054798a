package org.mmapqueue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import org.mmapqueue.support.Payload;

/**
 * Pushes until one round of pushes allocates nothing, and prints how much each round allocated. The JVM compiles in the
 * foreground. Earlier rounds run code that is not optimised yet and allocates the object with the state of a checksum.
 */
final class AllocationChild {
    static final int ROUNDS = 20;
    static final int RECORDS = 5000;
    // All rounds fit into one segment: a roll allocates.
    private static final int SEGMENT = 256 << 20;
    private static final int LENGTH = 1000;

    private AllocationChild() {}

    public static void main(String[] arguments) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(Path.of(arguments[0]))
                .segmentSize(SEGMENT)
                .queueCapacitySegments(4)
                .maxInMemSegments(4)
                .build())) {
            byte[] record = Payload.of(1, LENGTH);
            long bytes = -1;
            for (int round = 0; round < ROUNDS && bytes != 0; round++) {
                long before = threads.getCurrentThreadAllocatedBytes();
                push(queue, record);
                bytes = threads.getCurrentThreadAllocatedBytes() - before;
                System.out.println(bytes);
            }
        }
    }

    private static void push(MmapQueue queue, byte[] record) {
        for (int i = 0; i < RECORDS; i++) {
            queue.push(record);
        }
    }
}
