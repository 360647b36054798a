package org.mmapqueue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.async.AsyncPops;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.ArchiveUnavailableException;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.EmptyException;
import org.mmapqueue.errors.OutOfRangeException;

/**
 * Reads a queue, independently of all other consumers. A pop moves the reading position, an ack the committed position.
 * The space of a record may be reused when every consumer has committed it. After the next open a consumer continues at
 * its committed position.
 *
 * <pre>{@code
 * for (Message message : consumer.messages(Duration.ofSeconds(1))) {
 *     handle(message.data());
 *     consumer.ack(message);
 * }
 * }</pre>
 *
 * <p>Any number of threads may pop at once; each record goes to one of them. Every call throws {@link ClosedException}
 * once the consumer, or the handle that returned it, is closed. Offsets of in-flight records are valid until the
 * consumer is closed or moved by {@link #seek}; any other offset throws {@link
 * org.mmapqueue.errors.OutOfRangeException}, and the call has no effect.
 */
public final class Consumer implements AutoCloseable {
    private static final BooleanSupplier NOT_CANCELLED = () -> false;
    private static final Duration FOREVER = Duration.ofSeconds(Long.MAX_VALUE);

    private final MmapQueue handle;
    private final QueueCore queue;
    private final String name;
    private final LazyConsumer lazy;
    /** Guarded by this object's monitor. */
    private @Nullable AsyncPops async;

    /** A consumer that does not exist: a call that pops, moves or labels creates it at the log start. */
    Consumer(MmapQueue handle, QueueCore queue, String name) {
        this(handle, queue, name, null);
    }

    Consumer(MmapQueue handle, QueueCore queue, ConsumerCore core) {
        this(handle, queue, core.name(), core);
    }

    private Consumer(MmapQueue handle, QueueCore queue, String name, @Nullable ConsumerCore opened) {
        this.handle = handle;
        this.queue = queue;
        this.name = name;
        this.lazy = new LazyConsumer(handle, queue, name, opened);
    }

    /** {@return the consumer's name} */
    public String name() {
        return name;
    }

    boolean isClosed() {
        return lazy.isClosed();
    }

    /**
     * Pops the next record. Like every pop, it throws {@link org.mmapqueue.errors.UnackedLimitException} when max_unacked
     * records are popped, counted from the first unacked one. It throws {@link org.mmapqueue.errors.DroppedException}
     * once after records were dropped because the consumer lagged more than max_consumer_lag.
     *
     * @return the record; null if no record is available
     * @throws org.mmapqueue.errors.CorruptException if the record is damaged; the position does not move
     */
    public @Nullable Message poll() {
        return queue.poll(lazy.core());
    }

    /**
     * Pops the next record; waits until one is available. Unlike {@link #pop(Duration)}, it throws no exception when
     * none was available.
     *
     * @param timeout the maximum wait
     * @return the record; null if no record was available within the timeout
     * @throws InterruptedException if interrupted; nothing was popped
     * @throws org.mmapqueue.errors.CorruptException if the record is damaged; the position does not move
     */
    public @Nullable Message poll(Duration timeout) throws InterruptedException {
        List<Message> one = popBatch(1, Long.MAX_VALUE, timeout);
        return one.isEmpty() ? null : one.get(0);
    }

    /**
     * Pops the next record without an allocation.
     *
     * @param handler called with the record
     * @return false if no record is available
     * @throws org.mmapqueue.errors.CorruptException if the record is damaged; the position does not move
     */
    public boolean poll(MessageHandler handler) {
        return queue.poll(lazy.core(), handler);
    }

    /**
     * Pops the next record.
     *
     * @return the record
     * @throws EmptyException if no record is available
     * @throws org.mmapqueue.errors.CorruptException if the record is damaged; the position does not move
     */
    public Message pop() {
        Message message = poll();
        if (message == null) {
            throw new EmptyException("there is nothing to pop for consumer " + name);
        }
        return message;
    }

    /**
     * Pops the next record; waits until one is available.
     *
     * @param timeout the maximum wait
     * @return the record
     * @throws InterruptedException if interrupted; nothing was popped
     * @throws EmptyException if no record was available within the timeout
     * @throws org.mmapqueue.errors.CorruptException if the record is damaged; the position does not move
     */
    public Message pop(Duration timeout) throws InterruptedException {
        Message message = poll(timeout);
        if (message == null) {
            throw new EmptyException("there was nothing to pop for consumer " + name + " within " + timeout);
        }
        return message;
    }

    /**
     * Pops records one by one, for a loop. The iterator ends when no record was available within the timeout; an
     * interrupt ends it, too, and stays pending. Each {@code next} pops one record, or returns the one that {@code
     * hasNext} has popped. An iterator is for one thread; several of them share the records.
     *
     * @param timeout the maximum wait for each record; zero ends the loop at the log end
     * @return the records; its iterators throw what {@link #poll(Duration)} throws
     */
    public Iterable<Message> messages(Duration timeout) {
        Objects.requireNonNull(timeout, "timeout");
        return () -> new Popped(timeout);
    }

    private final class Popped implements Iterator<Message> {
        private final Duration timeout;
        private @Nullable Message next;

        Popped(Duration timeout) {
            this.timeout = timeout;
        }

        @Override
        public boolean hasNext() {
            if (next == null) {
                try {
                    next = poll(timeout);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
            return next != null;
        }

        @Override
        public Message next() {
            if (!hasNext()) {
                throw new NoSuchElementException("there was nothing to pop for consumer " + name);
            }
            Message message = next;
            next = null;
            return message;
        }
    }

    /**
     * Pops the next record as soon as one is available; see {@link #popBatchAsync}.
     *
     * @return a future of the record
     */
    public CompletableFuture<Message> popAsync() {
        return async().pop(1, Long.MAX_VALUE, popped -> popped.get(0));
    }

    /**
     * Pops several records as soon as one is available.
     *
     * <pre>{@code
     * void handleNext() {
     *     consumer.popAsync().thenAcceptAsync(message -> {
     *         handle(message.data());
     *         consumer.ack(message);
     *         handleNext();
     *     });
     * }
     * }</pre>
     *
     * <p><b>Threads.</b> One thread of this consumer pops for the futures in the order of the calls, and completes them
     * without a lock. Dependents of a future run on that thread, as with any CompletableFuture: code that blocks belongs
     * into the {@code …Async} methods.
     *
     * <p><b>Cancelling.</b> A future that is cancelled, or that {@code orTimeout} completes, takes no record: a record
     * that was popped for it is released.
     *
     * <p><b>Errors.</b> Every failure completes the future exceptionally, {@link ClosedException} as soon as the consumer
     * or its handle is closed. At max_unacked the future waits for an ack.
     *
     * @param maxRecords the maximum number of records
     * @param maxBytes the maximum number of payload bytes; a larger first record is popped nevertheless
     * @return a future of the records, in order, at least one
     */
    public CompletableFuture<List<Message>> popBatchAsync(int maxRecords, long maxBytes) {
        checkLimits(maxRecords, maxBytes);
        return async().pop(maxRecords, maxBytes, popped -> popped);
    }

    private synchronized AsyncPops async() {
        AsyncPops pops = async;
        if (pops == null) {
            AsyncPops.Source source = new AsyncPops.Source() {
                @Override
                public List<Message> pop(int maxRecords, long maxBytes, BooleanSupplier isCancelled)
                        throws InterruptedException {
                    return popBatch(maxRecords, maxBytes, FOREVER, isCancelled);
                }

                @Override
                public void release(long[] offsets) {
                    Consumer.this.release(offsets);
                }
            };
            pops = new AsyncPops(source, "mmapqueue-" + queue.directory().getFileName() + "-" + name + "-pops");
            async = pops;
            handle.add(pops);
            if (lazy.isGone()) {
                pops.close();
            }
        }
        return pops;
    }

    /**
     * Pops several records; waits for the first one only.
     *
     * @param maxRecords the maximum number of records
     * @param maxBytes the maximum number of payload bytes; a larger first record is popped nevertheless
     * @param timeout the maximum wait for the first record
     * @return the records, in order; empty if none was available within the timeout
     * @throws InterruptedException if interrupted; nothing was popped
     * @throws org.mmapqueue.errors.CorruptException if the first record is damaged
     */
    public List<Message> popBatch(int maxRecords, long maxBytes, Duration timeout) throws InterruptedException {
        return popBatch(maxRecords, maxBytes, timeout, NOT_CANCELLED);
    }

    private List<Message> popBatch(int maxRecords, long maxBytes, Duration timeout, BooleanSupplier isCancelled)
            throws InterruptedException {
        List<Message> batch = new ArrayList<>();
        try {
            popBatch(maxRecords, maxBytes, timeout, true, addTo(batch), isCancelled);
        } catch (OutOfMemoryError e) {
            throwIfEmpty(batch, e);
        }
        return batch;
    }

    /**
     * Pops several records. Does not wait.
     *
     * @param maxRecords the maximum number of records
     * @param maxBytes the maximum number of payload bytes; a larger first record is popped nevertheless
     * @return the records, in order; empty if none is available
     * @throws org.mmapqueue.errors.CorruptException if the first record is damaged
     */
    public List<Message> pollBatch(int maxRecords, long maxBytes) {
        checkLimits(maxRecords, maxBytes);
        List<Message> batch = new ArrayList<>();
        try {
            polled(maxRecords, maxBytes, true, addTo(batch));
        } catch (OutOfMemoryError e) {
            throwIfEmpty(batch, e);
        }
        return batch;
    }

    private static MessageHandler addTo(List<Message> batch) {
        return (offset, timestamp, data, start, length, attempts) ->
                batch.add(new Message(offset, timestamp, data, attempts));
    }

    // Throws an OutOfMemoryError only if no record was copied; the records that found no memory are released.
    private static void throwIfEmpty(List<Message> batch, OutOfMemoryError error) {
        if (batch.isEmpty()) {
            throw error;
        }
    }

    private int polled(int maxRecords, long maxBytes, boolean own, MessageHandler handler) {
        ConsumerCore core = lazy.core();
        int count = queue.poll(core, maxRecords, maxBytes, own, handler);
        if (count == ConsumerCore.NOT_ALLOWED) {
            throw core.limit();
        }
        return count;
    }

    private static void checkLimits(int maxRecords, long maxBytes) {
        if (maxRecords < 1 || maxBytes < 1) {
            throw new IllegalArgumentException(
                    "maxRecords = " + maxRecords + ", maxBytes = " + maxBytes + "; both must be at least 1");
        }
    }

    /**
     * Pops several records without an allocation for each; waits for the first one only.
     *
     * @param maxRecords the maximum number of records
     * @param maxBytes the maximum number of payload bytes; a larger first record is popped nevertheless
     * @param timeout the maximum wait for the first record
     * @param handler called with each record, in order
     * @return the number of records popped
     * @throws InterruptedException if interrupted; nothing was popped
     * @throws org.mmapqueue.errors.CorruptException if the first record is damaged
     */
    public int popBatch(int maxRecords, long maxBytes, Duration timeout, MessageHandler handler)
            throws InterruptedException {
        return popBatch(maxRecords, maxBytes, timeout, false, handler, NOT_CANCELLED);
    }

    private int popBatch(
            int maxRecords,
            long maxBytes,
            Duration timeout,
            boolean own,
            MessageHandler handler,
            BooleanSupplier isCancelled)
            throws InterruptedException {
        checkLimits(maxRecords, maxBytes);
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long deadline = System.nanoTime() + MmapQueue.nanos(timeout);
        while (true) {
            ConsumerCore core = lazy.core();
            int count = polled(core, maxRecords, maxBytes, own, handler, deadline);
            if (count > 0) {
                return count;
            }
            if (isCancelled.getAsBoolean()) {
                return 0;
            }
            if (deadline - System.nanoTime() <= 0) {
                if (count == ConsumerCore.NOT_ALLOWED) {
                    throw core.limit();
                }
                return 0;
            }
            queue.awaitRecord(core, deadline, () -> lazy.isGone() || isCancelled.getAsBoolean());
        }
    }

    // While the archive cannot be read that has the next record, there is none before the deadline.
    private int polled(
            ConsumerCore core, int maxRecords, long maxBytes, boolean own, MessageHandler handler, long deadline) {
        try {
            return queue.poll(core, maxRecords, maxBytes, own, handler, deadline);
        } catch (ArchiveUnavailableException e) {
            if (deadline - System.nanoTime() <= 0) {
                throw e;
            }
            return 0;
        }
    }

    /**
     * Reads the next record without popping it.
     *
     * @return the record; null if no record is available
     * @throws org.mmapqueue.errors.CorruptException if the record is damaged
     */
    public @Nullable Message peek() {
        ConsumerCore core = lazy.existing();
        return core != null ? core.peek() : peekAtLogStart();
    }

    // For a consumer that does not exist yet. Each retry fails only if the writer reclaimed another segment.
    private @Nullable Message peekAtLogStart() {
        while (true) {
            long first = readOffset();
            if (first >= queue.endOffset()) {
                return null;
            }
            try {
                Message oldest = handle.get(first);
                return new Message(oldest.offset(), oldest.timestampMicros(), oldest.data(), 1); // as a pop
            } catch (OutOfRangeException e) {
                lazy.checkOpen();
            }
        }
    }

    /**
     * Acknowledges one record. The committed position moves up to the first record that is not acked. Does nothing if
     * the record is already acked.
     *
     * @param offset the record
     */
    public void ack(long offset) {
        queue.ack(lazy.existing("ack", offset), offset);
    }

    /**
     * Acknowledges one record that this consumer has popped; see {@link #ack(long)}.
     *
     * @param message the record
     */
    public void ack(Message message) {
        ack(message.offset());
    }

    /**
     * Acknowledges each of these records, or none if one of them was not popped; see {@link #ack(long)}.
     *
     * @param offsets the records, in any order
     */
    public void ack(long[] offsets) {
        ConsumerCore core = offsets.length == 0 ? lazy.existing() : lazy.existing("ack", offsets[0]);
        if (core != null) {
            queue.ack(core, offsets.clone()); // checked before they are acked
        }
    }

    /**
     * Acknowledges every record up to and including one. Does nothing if the record is already acked.
     *
     * @param offset the last record to acknowledge
     */
    public void ackUpTo(long offset) {
        queue.ackUpTo(lazy.existing("ackUpTo", offset), offset);
    }

    /**
     * Acknowledges every record up to and including one that this consumer has popped; see {@link #ackUpTo(long)}.
     *
     * @param message the last record to acknowledge
     */
    public void ackUpTo(Message message) {
        ackUpTo(message.offset());
    }

    /**
     * Negative acknowledgement: requeues a record for redelivery, before newer records. A record that was delivered
     * max_attempts times is moved to the dead-letter queue instead, and is acked. Does nothing if the record is already
     * requeued.
     *
     * @param offset the record
     * @throws org.mmapqueue.errors.OutOfRangeException if the record is not in flight, or is acked
     */
    public void nack(long offset) {
        nack(offset, Duration.ZERO);
    }

    /**
     * Negative acknowledgement of a record that this consumer has popped; see {@link #nack(long)}.
     *
     * @param message the record
     * @throws org.mmapqueue.errors.OutOfRangeException if the record is not in flight, or is acked
     */
    public void nack(Message message) {
        nack(message.offset());
    }

    /**
     * Negative acknowledgement with a delay; see {@link #nack(long)}.
     *
     * @param offset the record
     * @param delay the time before the record is redelivered
     * @throws org.mmapqueue.errors.OutOfRangeException if the record is not in flight, or is acked
     */
    public void nack(long offset, Duration delay) {
        queue.nack(lazy.existing("nack", offset), offset, MmapQueue.nanos(delay));
    }

    /**
     * Negative acknowledgement with a delay; see {@link #nack(long)}.
     *
     * @param message the record
     * @param delay the time before the record is redelivered
     * @throws org.mmapqueue.errors.OutOfRangeException if the record is not in flight, or is acked
     */
    public void nack(Message message, Duration delay) {
        nack(message.offset(), delay);
    }

    /**
     * Moves a record to the dead-letter queue, whatever its attempts: pushes it there durably, then acks it. If that
     * fails, the record is redelivered after a second.
     *
     * @param offset the record
     * @throws org.mmapqueue.errors.ConfigException if dead_letter_dir is not set
     * @throws org.mmapqueue.errors.OutOfRangeException if this consumer has not popped the record, or has acked it
     * @throws org.mmapqueue.errors.MmapQueueException if the dead-letter queue does not take it
     */
    public void deadLetter(long offset) {
        queue.deadLetter(lazy.existing("dead letter", offset), offset);
    }

    /**
     * Makes attempts, acks out of order and delays of in-flight records durable now, and not at the next flush. Unlike a
     * flush, it stores first deliveries, too: after a kill, records that were popped before this call count that
     * delivery as an attempt. Stores at most 65 536 runs of records with equal attempts and acks; later records of a
     * killed process count their attempts from 1. Does nothing for format version 1.
     *
     * @throws org.mmapqueue.errors.MmapQueueException if the file cannot be written
     */
    public void saveDeliveries() {
        queue.saveDeliveries(lazy.core());
    }

    /**
     * Releases in-flight records that were not handled: they are redelivered, and this delivery does not count as an
     * attempt. For callers that pop records in advance. Records that are not in flight stay as they are.
     *
     * @param offsets the records, in any order
     */
    public void release(long[] offsets) {
        ConsumerCore core = offsets.length == 0 ? lazy.existing() : lazy.existing("release", offsets[0]);
        if (core != null) {
            queue.release(core, offsets.clone());
        }
    }

    /**
     * Moves the reading and the committed position: records before the target count as acked, records from it on as not
     * popped. Offsets that were popped before the call cannot be acked any more, and attempts are reset. {@link
     * StartAt#COMMITTED} instead requeues all in-flight records, and keeps their attempts.
     *
     * @param target the new position
     * @throws org.mmapqueue.errors.OutOfRangeException if the record is not retained or does not exist yet
     * @throws org.mmapqueue.errors.ConfigException for a time in a queue that stores no timestamps
     */
    public void seek(StartAt target) {
        queue.seek(lazy.core(), target);
    }

    /**
     * Returns the damaged ranges that this process has skipped since it opened the consumer ({@code on_damage = skip}).
     *
     * @return the latest ranges, at most a thousand, in the order in which they were skipped
     */
    public List<DamagedRange> damagedRanges() {
        return lazy.core().damage().ranges();
    }

    /** {@return the label that some process has set with {@link #label(String)}; empty if none has} */
    public Optional<String> label() {
        return Optional.ofNullable(lazy.existing()).map(ConsumerCore::label).filter(text -> !text.isEmpty());
    }

    /**
     * Stores a description of the consumer for {@link MmapQueue#consumerStats}, durably. Spark's queries store the
     * location of their checkpoint.
     *
     * @param text up to 3000 bytes of UTF-8, without control characters; empty to remove the label
     * @throws org.mmapqueue.errors.ConfigException for another text, and for the consumer default
     */
    public void label(String text) {
        queue.label(lazy.core(), text);
    }

    /** {@return the offset of the next record that is popped for the first time} */
    public long readOffset() {
        ConsumerCore core = lazy.existing();
        return core != null ? core.readOffset() : handle.firstOffset();
    }

    /** {@return the offset of the first record that is not acked} */
    public long committedOffset() {
        ConsumerCore core = lazy.existing();
        return core != null ? core.committedOffset() : handle.firstOffset();
    }

    /** {@return the number of records that are not acked} */
    public long lag() {
        ConsumerCore core = lazy.existing();
        return core != null ? core.lag(queue.endOffset()) : Math.max(0, queue.endOffset() - handle.firstOffset());
    }

    /** {@return the number of records in flight} */
    public long unacked() {
        ConsumerCore core = lazy.existing();
        return core != null ? core.unacked() : 0;
    }

    /** {@return the number of records to pop, requeued ones included} */
    public long size() {
        ConsumerCore core = lazy.existing();
        return core != null ? core.size(queue.endOffset()) : lag();
    }

    /**
     * Releases ownership, so that another process can own the consumer. The consumer keeps its committed position.
     * Every later call throws ClosedException, through any handle of this process. {@link MmapQueue#consumer(String,
     * StartAt)} opens the consumer again. Idempotent.
     *
     * @see #leave()
     */
    @Override
    public void close() {
        lazy.release();
        endAsync();
    }

    /**
     * Closes the consumer, as {@link #close}, unless another open handle of this process has called {@link
     * MmapQueue#consumer} for it. Then only this object is closed, and the consumer stays open for that handle, with its
     * records in flight: requeue or release those that this handle has popped. For code that uses a queue of the program
     * that it runs in, such as a streaming query. Idempotent.
     */
    public void leave() {
        lazy.leave();
        endAsync();
    }

    private void endAsync() {
        AsyncPops pops;
        synchronized (this) {
            pops = async;
        }
        if (pops != null) {
            pops.close();
            handle.remove(pops);
        }
    }
}
