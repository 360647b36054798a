package org.mmapqueue.bigqueue;

import java.io.IOException;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;

/** Implements bigqueue's fan-out queue: a reader is the consumer of that name, and the items are an array. */
public class FanOutQueueImpl implements IFanOutQueue {
    private final BigArrayImpl array;
    private final MmapQueue queue;

    /**
     * Opens a queue with pages of {@link BigArrayImpl#DEFAULT_DATA_PAGE_SIZE}; creates it if none exists.
     *
     * @param queueDir the directory of the queue's directory
     * @param queueName the name of the queue's directory
     * @throws IOException if the queue cannot be opened
     */
    public FanOutQueueImpl(String queueDir, String queueName) throws IOException {
        this(queueDir, queueName, BigArrayImpl.DEFAULT_DATA_PAGE_SIZE);
    }

    /**
     * Opens a queue; creates it if none exists.
     *
     * @param queueDir the directory of the queue's directory
     * @param queueName the name of the queue's directory
     * @param pageSize as for {@link BigArrayImpl#BigArrayImpl(String, String, int)}
     * @throws IOException if the queue cannot be opened
     */
    public FanOutQueueImpl(String queueDir, String queueName, int pageSize) throws IOException {
        array = new BigArrayImpl(queueDir, queueName, pageSize);
        queue = array.queue();
    }

    // The consumer of a reader, moved to the array's tail if it was before the tail.
    private Consumer front(String fanoutId) {
        if (fanoutId.equals(BigArrayImpl.TAIL)) {
            throw new IllegalArgumentException("fan-out id " + fanoutId + " is the array's own; allowed: any other");
        }
        StartAt first = StartAt.offset(array.base() + array.getTailIndex());
        try {
            Consumer consumer = queue.consumer(fanoutId, first);
            if (consumer.readOffset() < first.value()) {
                consumer.seek(first);
            }
            return consumer;
        } catch (ConfigException e) {
            throw new IllegalArgumentException("invalid fan-out id: " + e.getMessage(), e);
        }
    }

    @Override
    public boolean isEmpty(String fanoutId) throws IOException {
        return size(fanoutId) == 0;
    }

    @Override
    public boolean isEmpty() {
        return array.isEmpty();
    }

    @Override
    public long enqueue(byte[] data) throws IOException {
        return array.append(data);
    }

    @Override
    public byte @Nullable [] dequeue(String fanoutId) throws IOException {
        return Store.io(() -> {
            Consumer consumer = front(fanoutId);
            Message message = consumer.poll();
            if (message == null) {
                return null;
            }
            consumer.ack(message.offset());
            return message.data();
        });
    }

    private @Nullable Message first(String fanoutId) throws IOException {
        return Store.io(() -> front(fanoutId).peek());
    }

    @Override
    public byte @Nullable [] peek(String fanoutId) throws IOException {
        Message message = first(fanoutId);
        return message == null ? null : message.data();
    }

    @Override
    public int peekLength(String fanoutId) throws IOException {
        Message message = first(fanoutId);
        return message == null ? -1 : message.data().length;
    }

    @Override
    public long peekTimestamp(String fanoutId) throws IOException {
        Message message = first(fanoutId);
        return message == null ? -1 : message.timestampMicros() / 1000;
    }

    @Override
    public byte[] get(long index) throws IOException {
        return array.get(index);
    }

    @Override
    public int getLength(long index) throws IOException {
        return array.getItemLength(index);
    }

    @Override
    public long getTimestamp(long index) throws IOException {
        return array.getTimestamp(index);
    }

    @Override
    public long size(String fanoutId) throws IOException {
        return Store.io(() -> front(fanoutId).size());
    }

    @Override
    public long size() {
        return array.size();
    }

    @Override
    public void flush() {
        array.flush();
    }

    @Override
    public void removeBefore(long timestamp) throws IOException {
        array.removeBefore(timestamp);
        moveFronts();
    }

    @Override
    public void limitBackFileSize(long sizeLimit) throws IOException {
        array.limitBackFileSize(sizeLimit);
        moveFronts();
    }

    @Override
    public void removeAll() throws IOException {
        array.removeAll();
        moveFronts();
    }

    // Also moves readers that no call has named since the open: they retain items, too.
    private void moveFronts() throws IOException {
        Store.io(() -> {
            queue.consumers().stream()
                    .filter(name -> !name.equals(BigArrayImpl.TAIL))
                    .forEach(this::front);
            queue.gc();
        });
    }

    @Override
    public long getBackFileSize() throws IOException {
        return array.getBackFileSize();
    }

    @Override
    public long findClosestIndex(long timestamp) throws IOException {
        if (timestamp == LATEST) {
            return array.getHeadIndex();
        }
        return timestamp == EARLIEST ? array.getTailIndex() : array.findClosestIndex(timestamp);
    }

    @Override
    public void resetQueueFrontIndex(String fanoutId, long index) throws IOException {
        Store.io(() -> front(fanoutId).seek(StartAt.offset(array.offset(index, true))));
    }

    @Override
    public long getFrontIndex() {
        return array.getTailIndex();
    }

    @Override
    public long getFrontIndex(String fanoutId) throws IOException {
        return Store.io(() -> front(fanoutId).readOffset() - array.base());
    }

    @Override
    public long getRearIndex() {
        return array.getHeadIndex();
    }

    @Override
    public void close() throws IOException {
        array.close();
    }
}
