package org.mmapqueue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.consume.Fetcher;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.EmptyException;

/**
 * Reads a queue, independently of all other consumers. It has a reading position, which moves with pop, and a
 * committed one, which moves with ack; space behind the committed one is used again once all consumers are past it.
 * After the next open it reads on from the committed one.
 *
 * <p>Any number of threads may pop at once; each record goes to one of them.
 */
public final class Consumer implements AutoCloseable {
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

    boolean isClosed() {
        return core.isClosed();
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
     * Pops the next record. As every pop, it raises {@link org.mmapqueue.errors.UnackedLimitException} when max_unacked
     * records are popped from the first one on that is not acked, and {@link org.mmapqueue.errors.DroppedException}
     * once after records were dropped for a consumer that was too far behind.
     *
     * @return the record, or null when there is none now
     * @throws org.mmapqueue.errors.CorruptException when what is stored is damaged; the position does not move
     */
    public Message poll() {
        return queue.poll(core());
    }

    /**
     * Pops the next record without an allocation.
     *
     * @param handler is called with the record
     * @return false when there is none now
     * @throws org.mmapqueue.errors.CorruptException when what is stored is damaged; the position does not move
     */
    public boolean poll(MessageHandler handler) {
        ConsumerCore core = core();
        int count = queue.poll(core, 1, Long.MAX_VALUE, false, handler);
        if (count == Fetcher.LIMIT) {
            throw core.limit();
        }
        return count > 0;
    }

    /**
     * Pops the next record.
     *
     * @return the record
     * @throws EmptyException when there is none now
     * @throws org.mmapqueue.errors.CorruptException when what is stored is damaged; the position does not move
     */
    public Message pop() {
        Message message = poll();
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
        try {
            popBatch(
                    maxRecords,
                    maxBytes,
                    timeout,
                    true,
                    (offset, timestamp, data, start, length, attempts) ->
                            batch.add(new Message(offset, timestamp, data, attempts)));
        } catch (OutOfMemoryError e) {
            if (batch.isEmpty()) {
                throw e;
            }
        }
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
        return popBatch(maxRecords, maxBytes, timeout, false, handler);
    }

    private int popBatch(int maxRecords, long maxBytes, Duration timeout, boolean own, MessageHandler handler)
            throws InterruptedException {
        if (maxRecords < 1 || maxBytes < 1) {
            throw new IllegalArgumentException(
                    "maxRecords = " + maxRecords + ", maxBytes = " + maxBytes + "; both must be at least 1");
        }
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long deadline = System.nanoTime() + MmapQueue.nanos(timeout);
        while (true) {
            ConsumerCore core = core();
            int count = queue.poll(core, maxRecords, maxBytes, own, handler);
            if (count > 0) {
                return count;
            }
            if (deadline - System.nanoTime() <= 0) {
                if (count == Fetcher.LIMIT) {
                    throw core.limit();
                }
                return 0;
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
     * Says that everything up to and including a record has been dealt with. What was acked before is acked still; to
     * ack it again does nothing.
     *
     * @param offset the last record that has been dealt with
     * @throws org.mmapqueue.errors.OutOfRangeException when this consumer has not popped it since it was opened or
     *     moved by {@link #seek}; nothing is acked
     */
    public void ack(long offset) {
        queue.ack(core(), offset);
    }

    /**
     * Says that one record has been dealt with, whatever becomes of those before it. Committed is what is acked without
     * a gap. To ack a record again does nothing.
     *
     * @param offset the record
     * @throws org.mmapqueue.errors.OutOfRangeException when this consumer has not popped it since it was opened or
     *     moved by {@link #seek}
     */
    public void ackSingle(long offset) {
        queue.ackSingle(core(), new long[] {offset});
    }

    /**
     * Says that some records have been dealt with, whatever becomes of those between them; see
     * {@link #ackSingle(long)}.
     *
     * @param offsets the records, in any order
     * @throws org.mmapqueue.errors.OutOfRangeException when this consumer has not popped one of them; none is acked
     */
    public void ackSingle(long[] offsets) {
        queue.ackSingle(core(), offsets);
    }

    /**
     * Gives a record back: it is popped again, before records that are new. With max_attempts set, one that has been
     * handed out so often goes to the dead-letter queue instead, and is acked.
     *
     * @param offset the record
     * @throws org.mmapqueue.errors.OutOfRangeException when this consumer has not popped it since it was opened or
     *     moved by {@link #seek}, or has acked it; to give back what has been given back does nothing
     */
    public void nack(long offset) {
        nack(offset, Duration.ZERO);
    }

    /**
     * Gives a record back, to be popped again after some time; see {@link #nack(long)}.
     *
     * @param offset the record
     * @param delay how long it is not popped
     * @throws org.mmapqueue.errors.OutOfRangeException as {@link #nack(long)} does
     */
    public void nack(long offset, Duration delay) {
        queue.nack(core(), offset, MmapQueue.nanos(delay));
    }

    /**
     * Gives records back that nobody has looked at, as if they had not been popped: their attempts do not count. For
     * callers that pop ahead of their users. What is not in flight any more is left as it is.
     *
     * @param offsets the records, in any order
     * @throws org.mmapqueue.errors.OutOfRangeException when this consumer has not popped one of them; none is given
     *     back
     */
    public void unpop(long[] offsets) {
        queue.unpop(core(), offsets);
    }

    /**
     * Goes to another place: reading and committed position both, so that what lies before it counts as acked and what
     * lies behind it as not. What was popped before can be acked no more. Attempts are forgotten, but for
     * {@link StartAt#COMMITTED}, which gives back what was popped and not acked.
     *
     * @param place where to go
     * @throws org.mmapqueue.errors.OutOfRangeException when the record is not retained any more, or not there yet
     * @throws org.mmapqueue.errors.ConfigException for a time in a queue that stores no timestamps
     */
    public void seek(StartAt place) {
        queue.seek(core(), place);
    }

    /**
     * What the consumer is for.
     *
     * @return as {@link #label(String)} was told, by whichever process; empty when it was told nothing
     */
    public String label() {
        return core().label();
    }

    /**
     * Says what the consumer is for, to people who find it later and to their tools: kept with the consumer, durably, and
     * shown by {@link MmapQueue#consumerStats}. Spark's queries say where their checkpoint is.
     *
     * @param text up to 3000 bytes of UTF-8, without control characters; empty for nothing
     * @throws org.mmapqueue.errors.ConfigException for another text, and for the consumer default
     */
    public void label(String text) {
        queue.label(core(), text);
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
     * @return records from the first one that is not acked to the end; some of them may be acked, out of order
     */
    public long lag() {
        return Math.max(0, queue.endOffset() - core().committedOffset());
    }

    /**
     * What is under way.
     *
     * @return records that it has popped and not acked
     */
    public long unacked() {
        return core().unacked();
    }

    /**
     * What there is to pop.
     *
     * @return records that it has not popped, or that were given back
     */
    public long size() {
        return core().size(queue.endOffset());
    }

    /**
     * Gives the consumer up, so that another process can own it; it stays where its committed position is. Any later
     * call, through any handle of this process, raises ClosedException; {@link MmapQueue#consumer(String, StartAt)}
     * takes it up again.
     */
    @Override
    public void close() {
        queue.closeConsumer(core);
    }
}
