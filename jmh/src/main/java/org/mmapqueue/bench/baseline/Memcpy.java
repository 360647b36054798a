package org.mmapqueue.bench.baseline;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import org.mmapqueue.bench.Subject;
import org.mmapqueue.bench.Shape;

/**
 * Copies into anonymous memory and out of it: no file, no header, and a CRC32C of each record on either side or none,
 * so that the two together show what the checksum costs. One thread.
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

    @SuppressWarnings("UnusedVariable") // keeps what is measured from being dropped
    private long sum;

    /**
     * As much memory as the ring has, within reason.
     *
     * @param checked whether checksums are calculated
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
                if (popped == pushed) {
                    return false;
                }
                memory.get(readAt, heap, 0, heap.length);
                check(heap);
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

    // StoredQueue in a field, so that the JIT can not leave it out.
    private void check(byte[] bytes) {
        if (crc != null) {
            crc.reset();
            crc.update(bytes, 0, bytes.length);
            sum += crc.getValue();
        }
    }

    @Override
    public void close() {
        // The buffer goes with its object.
    }
}
