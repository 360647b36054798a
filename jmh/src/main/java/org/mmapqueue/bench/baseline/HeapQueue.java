package org.mmapqueue.bench.baseline;

import java.util.concurrent.ArrayBlockingQueue;
import org.mmapqueue.bench.Shape;
import org.mmapqueue.bench.Subject;

/**
 * java.util.concurrent's ArrayBlockingQueue: threads of one process pass records without a disk. Both sides copy the
 * record, as all subjects do; no checksum.
 */
public final class HeapQueue implements Subject {
    private static final int CAPACITY = 4096;
    private final ArrayBlockingQueue<byte[]> queue = new ArrayBlockingQueue<>(CAPACITY);
    private final int payload;

    /** Makes a queue of 4096 records. */
    public HeapQueue(Shape shape) {
        payload = shape.payload();
    }

    @Override
    public Writer writer() {
        return record -> queue.offer(record.clone());
    }

    @Override
    public Reader reader() {
        byte[] heap = new byte[payload];
        return new Reader() {
            @Override
            public boolean pop() {
                byte[] record = queue.poll();
                if (record == null) {
                    return false;
                }
                System.arraycopy(record, 0, heap, 0, record.length);
                return true;
            }

            @Override
            public void ack() {
                // poll has released the record.
            }
        };
    }

    @Override
    public void close() {
        queue.clear();
    }
}
