package org.mmapqueue.jmx;

import java.nio.file.Path;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;

/** A process without the module java.management pushes a record into a queue; it prints whether it has the module. */
final class WithoutManagement {
    private WithoutManagement() {}

    public static void main(String[] args) {
        System.out.println(ModuleLayer.boot().findModule("java.management").isPresent());
        try (MmapQueue queue =
                MmapQueue.open(QueueConfig.builder(Path.of(args[0])).build())) {
            queue.push(new byte[1]);
            System.out.println(queue.endOffset());
        }
    }
}
