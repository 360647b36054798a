package org.mmapqueue.core;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;

/** A process that holds a queue, or a consumer of it, until its input has a byte or ends. */
final class HolderChild {
    private HolderChild() {}

    /** Arguments: directory, then the name of a consumer to own, which opens the directory only to read. */
    public static void main(String[] args) throws Exception {
        QueueConfig.Builder config = QueueConfig.builder(Path.of(args[0]));
        MmapQueue queue =
                MmapQueue.open(args.length > 1 ? config.readOnly(true).build() : LockTest.config(Path.of(args[0])));
        if (args.length > 1) {
            queue.consumer(args[1], StartAt.EARLIEST);
        } else {
            queue.push("from another process".getBytes(StandardCharsets.UTF_8));
        }
        System.out.println("holding");
        if (System.in.read() >= 0) {
            queue.close();
            System.out.println("closed");
        }
    }
}
