package org.mmapqueue.bigqueue;

import java.io.IOException;
import java.time.Instant;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;

/** An array in a queue. An index is an offset minus the number of items that {@link #removeAll} has removed. */
public class BigArrayImpl implements IBigArray {
    /** The default page size, in bytes. */
    public static final int DEFAULT_DATA_PAGE_SIZE = 128 << 20;

    /** The smallest page size, in bytes. */
    public static final int MINIMUM_DATA_PAGE_SIZE = 32 << 20;

    /** The name of the consumer at the tail. Its label stores {@link #base}. */
    static final String TAIL = "_tail";

    private final MmapQueue queue;
    private final Consumer tail;
    private final int pageSize;
    /** The offset of index 0. */
    private volatile long base;

    /**
     * Opens an array with pages of {@link #DEFAULT_DATA_PAGE_SIZE}; creates it if none exists.
     *
     * @param arrayDir the directory of the array's directory
     * @param arrayName the name of the array's directory
     * @throws IOException if the array cannot be opened
     */
    public BigArrayImpl(String arrayDir, String arrayName) throws IOException {
        this(arrayDir, arrayName, DEFAULT_DATA_PAGE_SIZE);
    }

    /**
     * Opens an array; creates it if none exists.
     *
     * @param arrayDir the directory of the array's directory
     * @param arrayName the name of the array's directory
     * @param pageSize the largest item, and the least limit of {@link #limitBackFileSize}, in bytes; at least {@link
     *     #MINIMUM_DATA_PAGE_SIZE}
     * @throws IOException if the array cannot be opened
     */
    public BigArrayImpl(String arrayDir, String arrayName, int pageSize) throws IOException {
        this.pageSize = pageSize;
        this.queue = Store.open(arrayDir, arrayName, pageSize);
        try {
            this.tail = Store.io(() -> queue.consumer(TAIL, StartAt.EARLIEST));
            this.base = tail.label().map(Long::parseLong).orElse(0L);
        } catch (IOException | RuntimeException | Error e) {
            queue.close();
            throw e;
        }
    }

    MmapQueue queue() {
        return queue;
    }

    long base() {
        return base;
    }

    /** The offset of an item, or, if {@code orHead} is true, of the head. */
    long offset(long index, boolean orHead) {
        long first = getTailIndex();
        long head = getHeadIndex();
        if (index < first || index > head || index == head && !orHead) {
            throw new IndexOutOfBoundsException(
                    "index " + index + ", allowed: " + first + " to " + (orHead ? head : head - 1));
        }
        return base + index;
    }

    @Override
    public long append(byte[] data) throws IOException {
        return Store.io(() -> queue.push(data)) - base;
    }

    @Override
    public byte[] get(long index) throws IOException {
        return Store.io(() -> queue.get(offset(index, false)).data());
    }

    @Override
    public long getTimestamp(long index) throws IOException {
        return Store.io(() -> millis(offset(index, false)));
    }

    private long millis(long offset) {
        return queue.get(offset).timestampMicros() / 1000;
    }

    @Override
    public long size() {
        return getHeadIndex() - getTailIndex();
    }

    @Override
    public int getDataPageSize() {
        return pageSize;
    }

    @Override
    public long getHeadIndex() {
        return queue.endOffset() - base;
    }

    @Override
    public long getTailIndex() {
        return tail.committedOffset() - base;
    }

    @Override
    public boolean isEmpty() {
        return size() == 0;
    }

    @Override
    public boolean isFull() {
        return false;
    }

    @Override
    public synchronized void removeAll() throws IOException {
        Store.io(() -> {
            long end = queue.endOffset();
            moveTail(end);
            tail.label(Long.toString(end));
            base = end;
        });
    }

    @Override
    public synchronized void removeBeforeIndex(long index) throws IOException {
        Store.io(() -> moveTail(offset(index, false)));
    }

    @Override
    public synchronized void removeBefore(long timestamp) throws IOException {
        Store.io(() -> moveTail(queue.find(Instant.ofEpochMilli(timestamp)).orElse(queue.endOffset())));
    }

    @Override
    public synchronized void limitBackFileSize(long sizeLimit) throws IOException {
        if (sizeLimit >= pageSize && getBackFileSize() > sizeLimit) {
            Store.io(() -> moveTail(firstWithin(sizeLimit - 2L * Store.SEGMENT_BYTES)));
        }
    }

    // The first offset from which the records up to the end take at most this many bytes; both bounds may be within a
    // segment.
    private long firstWithin(long bytes) {
        long low = tail.committedOffset();
        long end = queue.endOffset();
        long high = end;
        while (low < high) {
            long middle = low + (high - low) / 2;
            if (queue.bytes(middle, end) <= bytes) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }

    private void moveTail(long offset) {
        if (offset > tail.committedOffset()) {
            tail.seek(StartAt.offset(offset));
        }
        queue.gc();
    }

    @Override
    public void flush() {
        queue.flush();
    }

    @Override
    public long findClosestIndex(long timestamp) throws IOException {
        return isEmpty() ? NOT_FOUND : Store.io(() -> closest(timestamp) - base);
    }

    private long closest(long timestamp) {
        long first = tail.committedOffset();
        long last = queue.endOffset() - 1;
        long after = Math.max(first, queue.find(Instant.ofEpochMilli(timestamp)).orElse(last));
        return after > first && timestamp - millis(after - 1) < millis(after) - timestamp ? after - 1 : after;
    }

    @Override
    public long getBackFileSize() throws IOException {
        return Store.io(() -> (long) queue.stats().segmentsInUse() * Store.SEGMENT_BYTES);
    }

    @Override
    public int getItemLength(long index) throws IOException {
        return get(index).length;
    }

    @Override
    public void close() throws IOException {
        Store.io(queue::close);
    }
}
