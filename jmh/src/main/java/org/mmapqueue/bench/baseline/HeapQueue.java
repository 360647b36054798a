package org.mmapqueue.bench.baseline;

import java.util.concurrent.ArrayBlockingQueue;
import org.mmapqueue.bench.Subject;
import org.mmapqueue.bench.Shape;

/**
 * java.util.concurrent's ArrayBlockingQueue with copies of the records on the heap: what threads of one process can
 * pass each other without any disk. Copied on either side, as the others copy; no checksum.
 */
public final class HeapQueue implements Subject {
    private static final int CAPACITY = 4096;
    private final ArrayBlockingQueue<byte[]> queue = new ArrayBlockingQueue<>(CAPACITY);
    private final int payload;

    /** A queue of some thousand records. */
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
                // poll has let go of it.
            }
        };
    }

    @Override
    public void close() {
        queue.clear();
    }
}
