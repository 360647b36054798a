package org.mmapqueue.bench.baseline;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import org.mmapqueue.bench.Shape;
import org.mmapqueue.bench.Subject;

/**
 * Copies into anonymous memory and out of it: no file and no header. With and without a CRC32C on both sides it shows the
 * cost of the checksum. Not thread-safe.
 */
public final class Memcpy implements Subject {
    private static final long MOST_BYTES = 256L << 20;
    private final CRC32C crc;
    private final ByteBuffer memory;
    private final byte[] heap;
    private final int stride;
    private final int end;
    private long pushed;
    private long popped;
    private int writeAt;
    private int readAt;

    @SuppressWarnings("UnusedVariable") // a store that the JIT compiler cannot remove
    private long sum;

    @SuppressWarnings("UnusedVariable") // a store that the JIT compiler cannot remove
    private byte[] kept;

    /**
     * Allocates the memory: the size of the ring, at most 256 MiB.
     *
     * @param checked whether checksums are computed
     */
    public Memcpy(Shape shape, boolean checked) {
        crc = checked ? new CRC32C() : null;
        memory = ByteBuffer.allocateDirect((int) Math.min(MOST_BYTES, shape.ringBytes()));
        heap = new byte[shape.payload()];
        stride = shape.payload() + 7 & ~7;
        end = memory.capacity() - stride;
    }

    @Override
    public Writer writer() {
        return record -> {
            check(record);
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
                return pop(heap);
            }

            @Override
            public boolean popMessage() {
                byte[] own = new byte[heap.length];
                kept = own;
                return pop(own);
            }

            private boolean pop(byte[] target) {
                if (popped == pushed) {
                    return false;
                }
                memory.get(readAt, target, 0, target.length);
                check(target);
                readAt = readAt + stride > end ? 0 : readAt + stride;
                popped++;
                return true;
            }

            @Override
            public void ack() {
                // Writing does not wait for reading.
            }
        };
    }

    // The field keeps the JIT compiler from removing the computation.
    private void check(byte[] bytes) {
        if (crc != null) {
            crc.reset();
            crc.update(bytes, 0, bytes.length);
            sum += crc.getValue();
        }
    }

    @Override
    public void close() {
        // The garbage collector frees the buffer.
    }
}
