package org.mmapqueue.bigqueue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.RecordReader;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;

/** Implements bigqueue's queue: the front is the consumer {@code default}, and dequeue is a pop with its ack. */
public class BigQueueImpl implements IBigQueue {
    private static final int READ_RECORDS = 256;
    private static final long READ_BYTES = 1 << 20;

    private final MmapQueue queue;
    private final Consumer front;
    private final Object futures = new Object();
    // Guarded by the monitor of futures; no code of the caller runs under it.
    private @Nullable CompletableFuture<byte[]> dequeued;
    private @Nullable CompletableFuture<byte[]> peeked;

    /**
     * Opens a queue with pages of {@link BigArrayImpl#DEFAULT_DATA_PAGE_SIZE}; creates it if none exists.
     *
     * @param queueDir the directory of the queue's directory
     * @param queueName the name of the queue's directory
     * @throws IOException if the queue cannot be opened
     */
    public BigQueueImpl(String queueDir, String queueName) throws IOException {
        this(queueDir, queueName, BigArrayImpl.DEFAULT_DATA_PAGE_SIZE);
    }

    /**
     * Opens a queue; creates it if none exists.
     *
     * @param queueDir the directory of the queue's directory
     * @param queueName the name of the queue's directory
     * @param pageSize the largest item in bytes; at least {@link BigArrayImpl#MINIMUM_DATA_PAGE_SIZE}
     * @throws IOException if the queue cannot be opened
     */
    public BigQueueImpl(String queueDir, String queueName, int pageSize) throws IOException {
        queue = Store.open(queueDir, queueName, pageSize);
        try {
            front = Store.io(() -> queue.consumer("default", StartAt.EARLIEST));
        } catch (IOException | RuntimeException | Error e) {
            queue.close();
            throw e;
        }
    }

    @Override
    public boolean isEmpty() {
        return size() == 0;
    }

    @Override
    public long size() {
        return front.size();
    }

    @Override
    public void enqueue(byte[] data) throws IOException {
        Store.io(() -> queue.push(data));
        complete();
    }

    @Override
    public byte @Nullable [] dequeue() throws IOException {
        return Store.io(() -> {
            Message message = front.poll();
            if (message == null) {
                return null;
            }
            front.ack(message.offset());
            return message.data();
        });
    }

    @Override
    public byte @Nullable [] peek() throws IOException {
        Message message = Store.io(front::peek);
        return message == null ? null : message.data();
    }

    @Override
    public CompletableFuture<byte[]> dequeueAsync() {
        CompletableFuture<byte[]> future;
        synchronized (futures) {
            future = isPending(dequeued) ? dequeued : new CompletableFuture<>();
            dequeued = future;
        }
        complete();
        return future;
    }

    @Override
    public CompletableFuture<byte[]> peekAsync() {
        CompletableFuture<byte[]> future;
        synchronized (futures) {
            future = isPending(peeked) ? peeked : new CompletableFuture<>();
            peeked = future;
        }
        complete();
        return future;
    }

    private static boolean isPending(@Nullable CompletableFuture<byte[]> future) {
        return future != null && !future.isDone();
    }

    /** The first item for a future, or the error of reading it. */
    private record Delivery(
            CompletableFuture<byte[]> future,
            @Nullable Message item,
            @Nullable MmapQueueException failure) {

        // Returns whether the future took the item; the caller may have cancelled it.
        boolean complete() {
            return item != null ? future.complete(item.data()) : future.completeExceptionally(new IOException(failure));
        }
    }

    private static @Nullable Delivery delivery(
            @Nullable CompletableFuture<byte[]> future, Supplier<@Nullable Message> read) {
        if (!isPending(future)) {
            return null;
        }
        try {
            Message item = read.get();
            return item == null ? null : new Delivery(future, item, null);
        } catch (MmapQueueException e) {
            return new Delivery(future, null, e);
        }
    }

    // Completes the pending futures with the first item: first the one that peeks, then the one that removes the item.
    private void complete() {
        Delivery delivery;
        synchronized (futures) {
            delivery = delivery(peeked, front::peek);
            peeked = delivery == null ? peeked : null;
        }
        if (delivery != null) {
            delivery.complete();
        }
        synchronized (futures) {
            delivery = delivery(dequeued, front::poll);
            dequeued = delivery == null ? dequeued : null;
        }
        if (delivery != null) {
            boolean isTaken = delivery.complete();
            if (delivery.item != null && isTaken) {
                front.ack(delivery.item.offset());
            } else if (delivery.item != null) {
                front.release(new long[] {delivery.item.offset()});
                complete(); // a future that was made since has found the queue without this item
            }
        }
    }

    @Override
    public void applyForEach(ItemIterator iterator) throws IOException {
        long next = front.readOffset();
        long end = queue.endOffset();
        while (next < end) {
            long from = next;
            List<byte[]> items = new ArrayList<>();
            next = Store.io(() -> read(from, end, items));
            for (byte[] item : items) {
                iterator.forEach(item);
            }
        }
    }

    // Reads the next items; returns the offset after them.
    private long read(long from, long end, List<byte[]> items) {
        try (RecordReader reader = queue.reader(from, end)) {
            reader.read(READ_RECORDS, READ_BYTES, (offset, timestampMicros, data) -> items.add(data));
            return reader.offset();
        } catch (OutOfRangeException e) {
            return Math.max(from + 1, front.readOffset()); // the item was dequeued by another thread, and deleted
        }
    }

    @Override
    public void removeAll() throws IOException {
        Store.io(() -> front.seek(StartAt.LATEST));
        gc();
    }

    @Override
    public void gc() throws IOException {
        Store.io(queue::gc);
    }

    @Override
    public void flush() {
        queue.flush();
    }

    @Override
    public void close() throws IOException {
        List<CompletableFuture<byte[]>> pending = new ArrayList<>();
        synchronized (futures) {
            if (isPending(peeked)) {
                pending.add(peeked);
            }
            if (isPending(dequeued)) {
                pending.add(dequeued);
            }
        }
        pending.forEach(each -> each.cancel(false));
        Store.io(queue::close);
    }
}
