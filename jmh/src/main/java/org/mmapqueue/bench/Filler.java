package org.mmapqueue.bench;

import java.nio.file.Path;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;

/**
 * A process that writes a queue for {@link OpenBenchmark}: it brings it to a size and closes it, or it makes room for a
 * tail, flushes, pushes the tail and dies without a word.
 */
final class Filler {

    private Filler() {}

    /** Writes: the queue's directory, the four sizes of its shape, bytes that are flushed and bytes that are not. */
    public static void main(String[] arguments) {
        Shape shape = new Shape(
                Integer.parseInt(arguments[1]),
                Integer.parseInt(arguments[2]),
                Integer.parseInt(arguments[3]),
                Integer.parseInt(arguments[4]),
                Shape.NO_FLUSHER,
                true);
        long size = Long.parseLong(arguments[5]);
        long tail = Long.parseLong(arguments[6]);
        MmapQueue queue = MmapQueue.open(QueueSubject.config(Path.of(arguments[0]), shape));
        byte[] record = new byte[shape.payload()];
        if (tail == 0) {
            push(queue, record, size / shape.payload());
            queue.close();
            return;
        }
        keep(queue, size / shape.payload());
        queue.flush();
        push(queue, record, tail / shape.payload());
        Runtime.getRuntime().halt(0);
    }

    private static void push(MmapQueue queue, byte[] record, long count) {
        for (long i = 0; i < count; i++) {
            queue.push(record);
        }
    }

    // Acks the oldest records, as many as there are too many.
    private static void keep(MmapQueue queue, long records) {
        Consumer consumer = queue.consumer();
        long tooMany = queue.endOffset() - records - consumer.committedOffset();
        for (long i = 0; i < tooMany; i++) {
            consumer.poll((offset, timestamp, buffer, start, length, attempts) -> {});
        }
        if (tooMany > 0) {
            consumer.ack(consumer.readOffset() - 1);
        }
    }
}
