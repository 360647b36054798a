package org.mmapqueue.bench.other;

import java.nio.ByteBuffer;

import org.mmapqueue.bench.Contender;
import org.mmapqueue.bench.Shape;

/** Copies into anonymous memory and out of it: no file, no checksum, no header. One thread. */
public final class Memcpy implements Contender {
    private static final long MOST_BYTES = 256L << 20;
    private final ByteBuffer memory;
    private final byte[] heap;
    private final int stride;
    private final int end;
    private long pushed;
    private long popped;
    private int writeAt;
    private int readAt;

    /** As much memory as the ring has, within reason. */
    public Memcpy(Shape shape) {
        memory = ByteBuffer.allocateDirect((int) Math.min(MOST_BYTES, shape.ringBytes()));
        heap = new byte[shape.payload()];
        stride = shape.payload() + 7 & ~7;
        end = memory.capacity() - stride;
    }

    @Override
    public Writer writer() {
        return record -> {
            memory.put(writeAt, record, 0, record.length);
            writeAt = writeAt + stride > end ? 0 : writeAt + stride;
            pushed++;
            return true;
        };
    }

    @Override
    public Reader reader() {
        return new Reader() {
            @Override
            public boolean pop() {
                if (popped == pushed) {
                    return false;
                }
                memory.get(readAt, heap, 0, heap.length);
                readAt = readAt + stride > end ? 0 : readAt + stride;
                popped++;
                return true;
            }

            @Override
            public void ack() {
                // The memory is written again whether it was read or not.
            }
        };
    }

    @Override
    public void close() {
        // The buffer goes with its object.
    }
}
