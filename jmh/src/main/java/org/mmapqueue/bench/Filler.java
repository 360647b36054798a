package org.mmapqueue.bench;

import java.nio.file.Path;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;

/**
 * A process that writes a queue for {@link OpenBenchmark}. It either fills the queue to a size and closes it, or makes
 * room for a tail, flushes, pushes the tail and halts.
 */
final class Filler {

    private Filler() {}

    /**
     * Writes the queue.
     *
     * @param arguments directory of the queue; payload, segment bytes, capacity, mapped; flushed bytes; bytes of the tail
     */
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
        trim(queue, size / shape.payload());
        queue.flush();
        push(queue, record, tail / shape.payload());
        Runtime.getRuntime().halt(0);
    }

    private static void push(MmapQueue queue, byte[] record, long count) {
        for (long i = 0; i < count; i++) {
            queue.push(record);
        }
    }

    // Acks the oldest records, until no more than {@code records} are left.
    private static void trim(MmapQueue queue, long records) {
        Consumer consumer = queue.consumer();
        long tooMany = queue.endOffset() - records - consumer.committedOffset();
        for (long i = 0; i < tooMany; i++) {
            consumer.poll((offset, timestamp, buffer, start, length, attempts) -> {});
        }
        if (tooMany > 0) {
            consumer.ackUpTo(consumer.readOffset() - 1);
        }
    }
}
