package org.mmapqueue.jmx;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import javax.management.ObjectName;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;

/** A process that opens a queue and prints how many MBeans it has for queues. */
final class BeanCount {
    private BeanCount() {}

    public static void main(String[] args) throws Exception {
        try (MmapQueue queue =
                MmapQueue.open(QueueConfig.builder(Path.of(args[0])).build())) {
            queue.push(new byte[1]);
            System.out.println(ManagementFactory.getPlatformMBeanServer()
                    .queryNames(new ObjectName("org.mmapqueue:*"), null)
                    .size());
        }
    }
}
