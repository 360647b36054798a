package org.mmapqueue.queue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.EmptyException;

/**
 * Reads a queue, independently of all other consumers. It has a reading position, which moves with pop, and a
 * committed one, which moves with ack; space behind the committed one is used again once all consumers are past it.
 * After the next open it reads on from the committed one.
 *
 * <p>Any number of threads may pop at once; each record goes to one of them.
 */
public final class Consumer {
    private final MmapQueue handle;
    private final QueueCore queue;
    private final ConsumerCore core;

    Consumer(MmapQueue handle, QueueCore queue, ConsumerCore core) {
        this.handle = handle;
        this.queue = queue;
        this.core = core;
    }

    private ConsumerCore core() {
        if (handle.isClosed()) {
            throw new ClosedException("the handle of the queue that consumer " + core.name() + " came from is closed");
        }
        return core;
    }

    /**
     * Which consumer this is.
     *
     * @return its name
     */
    public String name() {
        return core.name();
    }

    /**
     * Pops the next record.
     *
     * @return the record, or null when there is none now
     * @throws org.mmapqueue.errors.CorruptException when what is stored is damaged; the position does not move
     */
    public Message poll() {
        return core().poll();
    }

    /**
     * Pops the next record without an allocation.
     *
     * @param handler is called with the record
     * @return false when there is none now
     * @throws org.mmapqueue.errors.CorruptException when what is stored is damaged; the position does not move
     */
    public boolean poll(MessageHandler handler) {
        return core().poll(1, Long.MAX_VALUE, handler) > 0;
    }

    /**
     * Pops the next record.
     *
     * @return the record
     * @throws EmptyException when there is none now
     * @throws org.mmapqueue.errors.CorruptException when what is stored is damaged; the position does not move
     */
    public Message pop() {
        Message message = core().poll();
        if (message == null) {
            throw new EmptyException("there is nothing to pop for consumer " + core.name());
        }
        return message;
    }

    /**
     * Pops the next record, waiting for one.
     *
     * @param timeout the longest to wait
     * @return the record
     * @throws InterruptedException when interrupted; nothing was popped
     * @throws EmptyException when there was none in time
     * @throws org.mmapqueue.errors.CorruptException when what is stored is damaged; the position does not move
     */
    public Message pop(Duration timeout) throws InterruptedException {
        List<Message> one = popBatch(1, Long.MAX_VALUE, timeout);
        if (one.isEmpty()) {
            throw new EmptyException("there was nothing to pop for consumer " + core.name() + " within " + timeout);
        }
        return one.get(0);
    }

    /**
     * Pops several records; waits for the first one only.
     *
     * @param maxRecords the most records
     * @param maxBytes the most bytes of payload; a first record that is larger is popped all the same
     * @param timeout the longest to wait for the first one
     * @return the records, in order; none when there was none in time
     * @throws InterruptedException when interrupted; nothing was popped
     * @throws org.mmapqueue.errors.CorruptException when the first record is damaged
     */
    public List<Message> popBatch(int maxRecords, long maxBytes, Duration timeout) throws InterruptedException {
        List<Message> batch = new ArrayList<>();
        popBatch(maxRecords, maxBytes, timeout, (offset, timestamp, buffer, start, length) -> {
            byte[] data = new byte[length];
            System.arraycopy(buffer, start, data, 0, length);
            batch.add(new Message(offset, timestamp, data, 1));
        });
        return batch;
    }

    /**
     * Pops several records without an allocation for each; waits for the first one only.
     *
     * @param maxRecords the most records
     * @param maxBytes the most bytes of payload; a first record that is larger is popped all the same
     * @param timeout the longest to wait for the first one
     * @param handler is called with each record, in order
     * @return how many records were popped
     * @throws InterruptedException when interrupted; nothing was popped
     * @throws org.mmapqueue.errors.CorruptException when the first record is damaged
     */
    public int popBatch(int maxRecords, long maxBytes, Duration timeout, MessageHandler handler)
            throws InterruptedException {
        if (maxRecords < 1 || maxBytes < 1) {
            throw new IllegalArgumentException("maxRecords = " + maxRecords + ", maxBytes = " + maxBytes
                    + "; both must be at least 1");
        }
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long deadline = System.nanoTime() + MmapQueue.nanos(timeout);
        while (true) {
            int count = core().poll(maxRecords, maxBytes, handler);
            if (count > 0 || deadline - System.nanoTime() <= 0) {
                return count;
            }
            queue.awaitRecord(core, deadline);
        }
    }

    /**
     * Looks at the next record and leaves it there.
     *
     * @return the record, or null when there is none now
     * @throws org.mmapqueue.errors.CorruptException when what is stored is damaged
     */
    public Message peek() {
        return core().peek();
    }

    /**
     * Says that everything up to and including a record has been dealt with. What was acked before is acked still.
     *
     * @param offset the last record that has been dealt with
     * @throws org.mmapqueue.errors.OutOfRangeException when this consumer has not popped it since the queue was opened
     */
    public void ack(long offset) {
        queue.ack(core(), offset);
    }

    /**
     * The reading position.
     *
     * @return the offset of the record that is popped next
     */
    public long readOffset() {
        return core().readOffset();
    }

    /**
     * The committed position.
     *
     * @return the offset of the first record that is not acked
     */
    public long committedOffset() {
        return core().committedOffset();
    }

    /**
     * How far the consumer is behind.
     *
     * @return records that it has not acked
     */
    public long lag() {
        return Math.max(0, queue.endOffset() - core().committedOffset());
    }
}
