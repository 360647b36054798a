package org.mmapqueue.bridge;

import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.OptionalLong;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.Records;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.TooLargeException;

/**
 * Records that were copied from a shared buffer into the heap, back to back, and are pushed from there. Pushes return
 * an offset or a {@link Status}. Not thread-safe.
 */
final class LoadedRecords {
    /** Records that are pushed together take at most this fraction of the heap. */
    private static final int HEAP_SHARE = 4;
    /** The largest array that each JVM allocates. */
    private static final int MOST_ARRAY = Integer.MAX_VALUE - 8;

    private final MmapQueue queue;
    private final ByteBuffer memory;
    private byte[] payload = new byte[0];
    private int[] lengths = new int[0];
    private int bytes;
    private int count;

    LoadedRecords(MmapQueue queue, ByteBuffer memory) {
        this.queue = queue;
        this.memory = memory;
    }

    /** Discards the records, and releases memory that exceeds the buffer's size. */
    void clear() {
        bytes = 0;
        count = 0;
        if (payload.length > memory.capacity()) {
            payload = new byte[0];
            lengths = new int[0];
        }
    }

    /**
     * Throws TooLargeException, and discards the records, if with {@code moreBytes} they exceed a quarter of this JVM's
     * heap.
     */
    void checkHeap(int moreBytes) {
        long most = mostBytes();
        if ((long) bytes + moreBytes > most) {
            clear();
            throw new TooLargeException("records that are pushed together go through the heap of the JVM: at most "
                    + most + " bytes with this heap");
        }
    }

    private static long mostBytes() {
        return Math.min(MOST_ARRAY, Runtime.getRuntime().maxMemory() / HEAP_SHARE);
    }

    /** Adds the buffer's records. */
    void add(int moreBytes, int moreRecords) {
        copy(moreBytes);
        if (count + moreRecords > lengths.length) {
            lengths = Arrays.copyOf(lengths, Math.max(count + moreRecords, 2 * lengths.length));
        }
        column(memory, moreBytes).get(lengths, count, moreRecords);
        count += moreRecords;
    }

    /** Replaces the records by the single record of the buffer. */
    void setOne(int length) {
        bytes = 0;
        copy(length);
        count = 1;
    }

    private void copy(int more) {
        int needed = bytes + more;
        if (needed > payload.length) {
            // Doubled, also beyond the buffer: the parts of a large record are copied a few times, not each by each.
            long most = needed > memory.capacity() ? mostBytes() : memory.capacity();
            payload = Arrays.copyOf(payload, (int) Math.max(needed, Math.min(2L * payload.length, most)));
        }
        memory.get(SharedBufferLayout.PAYLOAD, payload, bytes, more);
        bytes = needed;
    }

    /** The column of lengths in a buffer, which follows {@code payloadBytes} bytes of payload. */
    static IntBuffer column(ByteBuffer memory, int payloadBytes) {
        int column = SharedBufferLayout.aligned(SharedBufferLayout.PAYLOAD + payloadBytes);
        return memory.slice(column, memory.capacity() - column)
                .order(memory.order())
                .asIntBuffer();
    }

    /** Pushes all records as one batch. */
    long push(int waitMillis, boolean sync) {
        return count == 1 ? pushOne(waitMillis, sync) : pushBatch(0, lengths, count, waitMillis, sync);
    }

    private long pushOne(int waitMillis, boolean sync) {
        Duration wait = Duration.ofMillis(waitMillis);
        return ChunkPusher.statusOf(() -> {
            if (sync) {
                return queue.pushSync(Arrays.copyOf(payload, bytes), wait);
            }
            try {
                return queue.push(payload, 0, bytes);
            } catch (FullException e) {
                if (waitMillis == 0) {
                    throw e;
                }
                return queue.push(ByteBuffer.wrap(payload, 0, bytes), wait);
            }
        });
    }

    private long pushBatch(int start, int[] sizes, int records, int waitMillis, boolean sync) {
        Duration wait = Duration.ofMillis(waitMillis);
        return ChunkPusher.statusOf(() -> sync
                ? queue.pushBatchSync(payload, start, sizes, records, wait)
                : queue.pushBatch(payload, start, sizes, records, wait));
    }

    /**
     * Pushes the records from {@code from} on as one batch: all of them, or the largest half, quarter, … that has room.
     */
    long pushFrom(int from, int waitMillis, boolean sync) {
        int start = Arrays.stream(lengths, 0, from).sum();
        int[] sizes = from == 0 ? lengths : Arrays.copyOfRange(lengths, from, count);
        for (int next = count - from; ; next /= 2) {
            try {
                long offset = pushBatch(start, sizes, next, next <= 1 ? waitMillis : 0, sync);
                if (offset != Status.FULL || next <= 1) {
                    memory.putInt(SharedBufferLayout.COUNT, next);
                    return offset;
                }
            } catch (TooLargeException e) {
                // The batch is larger than the ring.
                if (next <= 1) {
                    throw e;
                }
            }
        }
    }

    /** Pushes all records as an idempotent producer; also returns {@link Status#DONE}. */
    long pushOnce(String producer, long sequence, int waitMillis, boolean sync) {
        return ChunkPusher.statusOf(() -> {
            OptionalLong offset = queue.pushOnce(
                    producer,
                    sequence,
                    Records.packed(payload, 0, lengths, count),
                    Duration.ofMillis(waitMillis),
                    sync);
            return offset.orElse(Status.DONE);
        });
    }
}
