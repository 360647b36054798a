package org.mmapqueue.core;

import java.nio.file.Path;
import java.time.Duration;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.support.Payload;

/** A process that pops, checks and acks with one consumer while another one writes; prints the range it read. */
final class ReaderChild {
    private ReaderChild() {}

    /** Arguments: directory, consumer, number of the record after which it ends. */
    public static void main(String[] args) throws Exception {
        QueueConfig config =
                QueueConfig.builder(Path.of(args[0])).readOnly(true).build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            Consumer consumer = queue.consumer(args[1], StartAt.EARLIEST);
            long end = Long.parseLong(args[2]);
            System.out.println("from " + consumer.readOffset());
            while (consumer.readOffset() < end) {
                int most = (int) Math.min(37, end - consumer.readOffset());
                for (Message message : consumer.popBatch(most, Long.MAX_VALUE, Duration.ofSeconds(60))) {
                    if (Payload.numberOf(message.data()) != message.offset()) {
                        throw new IllegalStateException("offset " + message.offset());
                    }
                }
                consumer.ackUpTo(consumer.readOffset() - 1);
            }
            if (queue.stats().peakMappedSegments() > queue.stats().capacitySegments()) {
                throw new IllegalStateException("mapped " + queue.stats());
            }
            System.out.println("to " + consumer.committedOffset() + " end " + (queue.endOffset() >= end));
        }
    }
}
