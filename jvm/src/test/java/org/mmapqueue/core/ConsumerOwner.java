package org.mmapqueue.core;

import java.io.IOException;
import java.nio.file.Path;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;

/** A process that owns a consumer until it reads a line. Arguments: the directory, the consumer's name. */
final class ConsumerOwner {
    private ConsumerOwner() {}

    public static void main(String[] arguments) throws IOException {
        try (MmapQueue queue = MmapQueue.open(
                QueueConfig.builder(Path.of(arguments[0])).readOnly(true).build())) {
            queue.consumer(arguments[1], StartAt.EARLIEST);
            System.out.println("owns");
            while (System.in.read() != '\n') {
                // until the parent has looked
            }
        }
    }
}
