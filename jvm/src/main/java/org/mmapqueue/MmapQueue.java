package org.mmapqueue;

import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.async.AsyncPops;
import org.mmapqueue.async.AsyncPusher;
import org.mmapqueue.core.Adoption;
import org.mmapqueue.core.OpenQueues;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.ReadOnlyException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.metrics.Sample;
import org.mmapqueue.recovery.QueueDirectory;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.write.Writer;

/**
 * A persistent queue in a directory of memory-mapped files.
 *
 * <pre>{@code
 * try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(Path.of("events")).build())) {
 *     queue.push("one".getBytes(UTF_8));
 *     Message message = queue.consumer().pop();
 *     queue.consumer().ack(message);
 * }
 * }</pre>
 *
 * <p><b>Durability.</b> When push returns, the record survives the death of the process. It survives a loss of power as
 * soon as {@link #flush} or {@link #pushSync} returns, or flush_period has passed. In-flight records are redelivered
 * after the next open.
 *
 * <p><b>Handles.</b> This object is a handle. Opening the same directory again in this process returns another handle
 * of the same queue; closing the last handle closes the queue. Any number of threads may use a handle.
 *
 * <p><b>Errors.</b> Every call throws ClosedException after {@link #close}. A push stores nothing when it throws {@link
 * org.mmapqueue.errors.FullException} (no space within the timeout; without a timeout, at once), {@link
 * org.mmapqueue.errors.TooLargeException} (a record above max_event_size, or a batch above the ring's capacity) or
 * InterruptedException. {@link org.mmapqueue.errors.PoisonedException} means that a flush or an append has failed:
 * close the queue and open it again. A handle of {@link #openToRead}, or with read_only, throws {@link
 * org.mmapqueue.errors.ReadOnlyException} from every call that writes records. Calls that read records throw {@link
 * org.mmapqueue.errors.CorruptException} at a damaged record, and {@link org.mmapqueue.errors.OutOfRangeException} at
 * an offset below {@link #firstOffset} or beyond {@link #endOffset}.
 */
public final class MmapQueue implements AutoCloseable {
    private final QueueCore core;
    private final boolean readOnly;
    private final BooleanSupplier isClosed = this::isClosed;
    private volatile @Nullable Consumer defaultConsumer;
    /** Guarded by this handle's monitor. */
    private @Nullable AsyncPusher async;
    /** Those of the consumers of this handle; guarded by this handle's monitor. */
    private final Set<AsyncPops> pops = new HashSet<>();

    private volatile boolean closed;
    // Guarded by this handle's monitor.
    private boolean isDestroying;
    /** Whether another thread has closed this handle during a destroy, which may be refused. */
    private boolean closesAfterDestroy;

    MmapQueue(QueueCore core, boolean readOnly) {
        this.core = core;
        this.readOnly = readOnly;
    }

    /**
     * Opens the queue in a directory: creates it if none exists, and recovers it if it was not closed.
     *
     * @param config the directory, and the values of the keys
     * @return a handle, which the caller closes
     * @throws org.mmapqueue.errors.LockedException if another process writes the queue
     * @throws org.mmapqueue.errors.ConfigException if a value is out of range, or differs from the directory's
     * @throws org.mmapqueue.errors.CorruptException if the queue is damaged; no file is changed
     * @throws MmapQueueException if a file cannot be opened
     */
    public static MmapQueue open(QueueConfig config) {
        return new MmapQueue(OpenQueues.acquire(config.values()), false);
    }

    /**
     * Opens an existing queue to read it. If this process has the queue open, the handle shares it and its
     * configuration. Otherwise the queue is opened with read_only = true, and any process may write it.
     *
     * @param directory the queue's directory
     * @return a handle that cannot push, which the caller closes
     * @throws org.mmapqueue.errors.ConfigException if the format version is 1 and this process does not write the queue
     * @throws org.mmapqueue.errors.CorruptException if the queue is damaged; no file is changed
     * @throws MmapQueueException if there is no queue, or a file cannot be opened
     */
    public static MmapQueue openToRead(Path directory) {
        return new MmapQueue(OpenQueues.acquireToRead(Objects.requireNonNull(directory, "directory")), true);
    }

    /**
     * Adds a listener, called for each queue that is open in this process, and for each that is opened or closed later.
     *
     * @param listener the listener, kept until it is removed
     */
    public static void addListener(QueueListener listener) {
        OpenQueues.add(Objects.requireNonNull(listener, "listener"));
    }

    /**
     * Removes a listener.
     *
     * @param listener a listener that was added
     */
    public static void removeListener(QueueListener listener) {
        OpenQueues.remove(listener);
    }

    // ---- push

    /**
     * Appends a record.
     *
     * @param data the payload
     * @return the record's offset: 0, 1, 2, …
     */
    public long push(byte[] data) {
        return writer().push(data, 0, data.length);
    }

    /**
     * Appends a record.
     *
     * @param data an array that holds the payload
     * @param from the index of its first byte
     * @param length the number of bytes
     * @return the record's offset
     * @throws IndexOutOfBoundsException if the array does not hold the payload
     */
    public long push(byte[] data, int from, int length) {
        Objects.checkFromIndexSize(from, length, data.length);
        return writer().push(data, from, length);
    }

    /**
     * Appends a record. A payload outside of the heap is copied straight into the log, without a copy in the heap.
     *
     * @param data the payload, from position to limit; the position moves to the limit. It must not change until the
     *     call returns
     * @return the record's offset
     */
    public long push(ByteBuffer data) {
        long offset = writer().push(data);
        data.position(data.limit());
        return offset;
    }

    /**
     * Appends a record; waits for space. Each wait of 5 s is one warning in the log, by {@code
     * org.mmapqueue.write.RoomWait}, that names the slowest consumer and its lag.
     *
     * @param data the payload
     * @param timeout the maximum wait
     * @return the record's offset
     * @throws InterruptedException if interrupted while waiting
     */
    public long push(byte[] data, Duration timeout) throws InterruptedException {
        return writer().push(data, 0, data.length, nanos(timeout), isClosed);
    }

    /**
     * Appends a record as {@link #push(ByteBuffer)} does; waits for space.
     *
     * @param data the payload, from position to limit; the position moves to the limit
     * @param timeout the maximum wait
     * @return the record's offset
     * @throws InterruptedException if interrupted while waiting
     */
    public long push(ByteBuffer data, Duration timeout) throws InterruptedException {
        long offset = writer().push(data, nanos(timeout), isClosed);
        data.position(data.limit());
        return offset;
    }

    /**
     * Appends a record if the ring has space for it. Unlike {@link #push(byte[])}, it throws no exception when the ring
     * is full.
     *
     * @param data the payload
     * @return the record's offset; empty if the ring has no space
     */
    public OptionalLong offer(byte[] data) {
        return offset(writer().offer(data, 0, data.length));
    }

    /**
     * Appends a record; waits for space. Unlike {@link #push(byte[], Duration)}, it throws no exception when the ring
     * is full.
     *
     * @param data the payload
     * @param timeout the maximum wait
     * @return the record's offset; empty if there was no space within the timeout
     * @throws InterruptedException if interrupted while waiting
     */
    public OptionalLong offer(byte[] data, Duration timeout) throws InterruptedException {
        return offset(writer().offer(data, 0, data.length, nanos(timeout), isClosed));
    }

    /**
     * Appends a record, and returns when it is durable. Threads that wait at the same time share an fsync.
     *
     * @param data the payload
     * @param timeout the maximum wait for space
     * @return the record's offset
     * @throws InterruptedException if interrupted while waiting for space
     * @throws org.mmapqueue.errors.PoisonedException if the fsync fails; whether the record is durable is unknown
     */
    public long pushSync(byte[] data, Duration timeout) throws InterruptedException {
        Writer writer = writer();
        long offset = writer.push(data, 0, data.length, nanos(timeout), isClosed);
        writer.awaitDurable();
        return offset;
    }

    /**
     * Appends a record without waiting for space; see {@link #pushAsync(byte[], boolean)}.
     *
     * @param data the payload; it must not change until the future is done
     * @return a future of the record's offset, done when consumers can pop the record
     */
    public CompletableFuture<Long> pushAsync(byte[] data) {
        return pushAsync(data, false);
    }

    /**
     * Appends a record without waiting, neither for space nor for an fsync.
     *
     * <p><b>Threads.</b> The calling thread appends the record if the ring has space; without sync the future is done on
     * return. Otherwise one thread of this handle appends the record as soon as there is space, and fsyncs, once for
     * all records that wait for it. It completes the futures without a lock. Dependents of a future run on that
     * thread, as with any CompletableFuture: code that blocks belongs into the {@code …Async} methods.
     *
     * <p><b>Order.</b> Records that a thread pushes by this method are in the order of its calls. A record that another
     * method pushes may come before one that waits for space.
     *
     * <p><b>Back pressure.</b> At most 16 MiB of payloads wait for space; a single larger one waits alone. Beyond that
     * the future fails with {@link org.mmapqueue.errors.FullException}, and nothing was stored.
     *
     * <p><b>Errors.</b> Every failure completes the future exceptionally. {@link MmapQueue#close} fails the pushes that
     * wait for space with {@link org.mmapqueue.errors.ClosedException}, and fsyncs the others. Cancelling a future has
     * no effect on the push.
     *
     * @param data the payload; it must not change until the future is done
     * @param sync whether the future is done only when the record is durable
     * @return a future of the record's offset
     */
    public CompletableFuture<Long> pushAsync(byte[] data, boolean sync) {
        Objects.requireNonNull(data, "data");
        try {
            return async().push(data, sync);
        } catch (MmapQueueException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /**
     * Appends an atomic batch.
     *
     * @param batch the payloads
     * @return the first record's offset; the others follow it
     */
    public long pushBatch(List<byte[]> batch) {
        return writer().push(Records.of(batch));
    }

    /**
     * Appends an atomic batch; waits for space.
     *
     * @param batch the payloads
     * @param timeout the maximum wait
     * @return the first record's offset; the others follow it
     * @throws InterruptedException if interrupted while waiting
     */
    public long pushBatch(List<byte[]> batch, Duration timeout) throws InterruptedException {
        return pushBatch(Records.of(batch), timeout);
    }

    /**
     * Appends an atomic batch of payloads that are back to back in one array; waits for space.
     *
     * @param buffer the array
     * @param from the index of the first payload's first byte
     * @param lengths the payloads' lengths in bytes
     * @param count the number of payloads
     * @param timeout the maximum wait
     * @return the first record's offset; the others follow it
     * @throws InterruptedException if interrupted while waiting
     */
    public long pushBatch(byte[] buffer, int from, int[] lengths, int count, Duration timeout)
            throws InterruptedException {
        return pushBatch(Records.packed(buffer, from, lengths, count), timeout);
    }

    /**
     * Appends an atomic batch; waits for space.
     *
     * @param batch the payloads; its methods are called without a lock
     * @param timeout the maximum wait
     * @return the first record's offset; the others follow it
     * @throws InterruptedException if interrupted while waiting
     * @throws IllegalArgumentException if a length is negative
     * @throws IndexOutOfBoundsException if an array does not hold its payload
     */
    public long pushBatch(Records batch, Duration timeout) throws InterruptedException {
        return writer().push(HeapRecords.fetch(batch), nanos(timeout), isClosed);
    }

    /**
     * Appends an atomic batch of payloads that are back to back in one array, and returns when it is durable. Threads that
     * wait at the same time share an fsync.
     *
     * @param buffer the array
     * @param from the index of the first payload's first byte
     * @param lengths the payloads' lengths in bytes
     * @param count the number of payloads
     * @param timeout the maximum wait for space
     * @return the first record's offset; the others follow it
     * @throws InterruptedException if interrupted while waiting for space
     * @throws org.mmapqueue.errors.PoisonedException if the fsync fails; whether the batch is durable is unknown
     */
    public long pushBatchSync(byte[] buffer, int from, int[] lengths, int count, Duration timeout)
            throws InterruptedException {
        Writer writer = writer();
        long offset =
                writer.push(HeapRecords.fetch(Records.packed(buffer, from, lengths, count)), nanos(timeout), isClosed);
        writer.awaitDurable();
        return offset;
    }

    // ---- idempotent producers

    /**
     * Appends a batch unless the producer has pushed it before, without sync; see
     * {@link #pushOnce(String, long, Records, Duration, boolean)}.
     *
     * @param producer the producer's name
     * @param sequence the batch's sequence
     * @param batch the payloads
     * @param timeout the maximum wait for space
     * @return the first record's offset; empty if the producer's batch of this or a higher sequence is stored
     * @throws InterruptedException if interrupted while waiting
     */
    public OptionalLong pushOnce(String producer, long sequence, List<byte[]> batch, Duration timeout)
            throws InterruptedException {
        return pushOnce(producer, sequence, Records.of(batch), timeout, false);
    }

    /**
     * Appends a batch unless the producer has pushed it before, without sync; see
     * {@link #pushOnce(String, long, Records, Duration, boolean)}.
     *
     * @param producer the producer's name
     * @param sequence the batch's sequence
     * @param batch the payloads
     * @param timeout the maximum wait for space
     * @return the first record's offset; empty if the producer's batch of this or a higher sequence is stored
     * @throws InterruptedException if interrupted while waiting
     */
    public OptionalLong pushOnce(String producer, long sequence, Records batch, Duration timeout)
            throws InterruptedException {
        return pushOnce(producer, sequence, batch, timeout, false);
    }

    /**
     * Appends a batch unless the producer has pushed it before, which makes retries idempotent: if the process dies at
     * any moment, either both the batch and its sequence are stored, or neither. A producer pushes one batch after the
     * other. Its sequences rise; gaps are allowed. A batch without records stores its sequence, too.
     *
     * <p>A loss of power may remove a batch that no {@link MmapQueue#flush} covers, together with its sequence. Without
     * sync it may also remove the sequence alone, and then a retry stores the batch twice.
     *
     * @param producer the producer's name: 1 to 100 letters, digits, '_', '-' or '.'; must not start with '-' or '.'
     * @param sequence the batch's sequence, 0 or more
     * @param batch the payloads; its methods are called without a lock
     * @param timeout the maximum wait for space
     * @param sync whether to return only when batch and sequence are durable. All pushes wait while the sequence is
     *     fsynced, before the batch becomes visible; the caller also waits for the fsync of the batch
     * @return the first record's offset; empty if the producer's batch of this or a higher sequence is stored
     * @throws InterruptedException if interrupted while waiting for space
     * @throws org.mmapqueue.errors.ConfigException if the name is not allowed, or the format version is 1
     * @throws org.mmapqueue.errors.PoisonedException if an fsync fails; whether the batch is durable is unknown
     * @throws IllegalArgumentException if the sequence or a length is negative
     */
    public OptionalLong pushOnce(String producer, long sequence, Records batch, Duration timeout, boolean sync)
            throws InterruptedException {
        return offset(writer().producers()
                .push(producer, sequence, null, HeapRecords.fetch(batch), nanos(timeout), sync, isClosed));
    }

    /**
     * Appends a batch with a digest unless the producer has pushed it before; otherwise as
     * {@link #pushOnce(String, long, Records, Duration, boolean)}. The digest is stored together with the sequence; a
     * retry can compare it with the batch that it has now.
     *
     * @param producer the producer's name
     * @param sequence the batch's sequence
     * @param digest what {@link #digest} returns later; the queue does not compare it
     * @param batch the payloads; its methods are called without a lock
     * @param timeout the maximum wait for space
     * @param sync whether to return only when batch, sequence and digest are durable
     * @return the first record's offset; empty if the producer's batch of this or a higher sequence is stored
     * @throws InterruptedException if interrupted while waiting for space
     */
    public OptionalLong pushOnce(
            String producer, long sequence, BatchDigest digest, Records batch, Duration timeout, boolean sync)
            throws InterruptedException {
        return offset(writer().producers()
                .push(
                        producer,
                        sequence,
                        Objects.requireNonNull(digest, "digest"),
                        HeapRecords.fetch(batch),
                        nanos(timeout),
                        sync,
                        isClosed));
    }

    /**
     * Returns the digest of a stored batch. The queue retains the digest of each producer's last batch, and mostly
     * those of the two before it.
     *
     * @param producer the producer's name
     * @param sequence the batch's sequence
     * @return the digest; empty if the batch has none, is not retained, or was never pushed
     * @throws org.mmapqueue.errors.ConfigException if the name is not allowed
     */
    public Optional<BatchDigest> digest(String producer, long sequence) {
        return writer().producers().digest(producer, sequence);
    }

    /**
     * Returns the sequence of a producer's last batch.
     *
     * @param producer the producer's name
     * @return the sequence; empty for an unknown producer
     * @throws org.mmapqueue.errors.ConfigException if the name is not allowed
     */
    public OptionalLong lastSequence(String producer) {
        return writer().producers().lastSequence(producer);
    }

    /** {@return the names of the idempotent producers, in alphabetical order} */
    public List<String> producers() {
        return writer().producers().names();
    }

    /**
     * Deletes a producer's sequences permanently. The producer's records stay.
     *
     * @param producer the producer's name
     * @throws org.mmapqueue.errors.ConfigException if no producer has this name
     */
    public void forgetProducer(String producer) {
        writer().producers().forget(producer);
    }

    /**
     * Returns the last batch of each idempotent producer, also for a handle that cannot write.
     *
     * @return in alphabetical order of the names; empty in format version 1
     */
    public List<ProducerStats> producerStats() {
        return core().producerStats();
    }

    // ---- consumers

    /**
     * Returns the consumer {@code default}. If it does not exist, the first pop, seek or label creates it, at the log
     * start; other calls create nothing, so an ack cannot make the queue retain records. Stop its readers before you
     * delete it: the next pop creates it again.
     *
     * @return the consumer, owned by this process from this call on, or from its creation on
     * @throws org.mmapqueue.errors.LockedException if another process owns the consumer
     */
    public Consumer consumer() {
        Consumer known = defaultConsumer;
        if (known == null || closed || known.isClosed()) {
            QueueCore open = core();
            boolean exists = open.consumerNames().contains(Registry.DEFAULT);
            known = exists ? consumer(Registry.DEFAULT, StartAt.EARLIEST) : new Consumer(this, open, Registry.DEFAULT);
            defaultConsumer = known;
        }
        return known;
    }

    /**
     * Returns a consumer; creates it if it does not exist. Each consumer gets every record.
     *
     * @param name 1 to 100 letters, digits, '_', '-' or '.'
     * @param start its position if this call creates it
     * @return the consumer, owned by this process until the consumer or the queue is closed
     * @throws org.mmapqueue.errors.LockedException if another process owns the consumer
     * @throws org.mmapqueue.errors.ConfigException if the name is not allowed
     */
    public Consumer consumer(String name, StartAt start) {
        QueueCore open = core();
        return new Consumer(this, open, open.consumer(name, start, this));
    }

    /**
     * Creates a consumer without owning it: from now on the queue retains records that the consumer has not acked. Does
     * nothing if the consumer exists.
     *
     * @param name 1 to 100 letters, digits, '_', '-' or '.'
     * @param start its position
     * @throws org.mmapqueue.errors.ConfigException if the name is not allowed
     */
    public void createConsumer(String name, StartAt start) {
        core().createConsumer(name, start);
    }

    /**
     * Deletes a consumer, so that the ring may reuse the space that it retained. If this process owns the consumer, it
     * is closed first. After the last consumer was deleted, the queue retains every record from that consumer's
     * committed position on, until it is full.
     *
     * @param name the consumer's name
     * @throws org.mmapqueue.errors.LockedException if another process owns the consumer
     * @throws org.mmapqueue.errors.ConfigException if no consumer has this name, or the format version is 1, in
     *     which the default consumer cannot be deleted
     */
    public void deleteConsumer(String name) {
        core().deleteConsumer(name);
    }

    /** {@return the names of all consumers, whichever process owns them, in alphabetical order} */
    public List<String> consumers() {
        return core().consumerNames();
    }

    /**
     * Whether this process owns a consumer, through any handle.
     *
     * @param name the consumer's name
     * @return whether {@link #consumer(String, StartAt)} was called here, and the consumer was not closed since
     */
    public boolean owns(String name) {
        return core().owns(name);
    }

    /**
     * Checks that no other process owns a consumer, so that this one may open or delete it now. Changes nothing, and
     * creates no consumer.
     *
     * @param consumer the consumer's name
     * @throws org.mmapqueue.errors.LockedException if another process owns the consumer
     */
    public void checkFree(String consumer) {
        core().checkFree(Objects.requireNonNull(consumer, "consumer"));
    }

    /** {@return the progress of each consumer, in the order of {@link #consumers}} */
    public List<ConsumerStats> consumerStats() {
        return core().consumerStats();
    }

    /**
     * Returns which records a consumer has acked, whichever process owns it. The consumer is neither opened nor moved.
     *
     * <p>The first range ends at the committed offset of this moment, or at the first dropped record that the consumer has
     * not passed yet. Acks out of order, after that, are those that the owner has stored last, at a flush (every {@code
     * flush_period}) or a close; in format version 1 there are none. Any thread and any process may call this.
     *
     * <p>Example: the consumer has acked the records 0, 1, 2 and 6.
     *
     * <pre>{@code
     * queue.flush();
     * queue.ackedRanges("audit"); // [OffsetRange[first=0, end=3], OffsetRange[first=6, end=7]]
     * }</pre>
     *
     * @param name the consumer's name
     * @return the ranges in ascending order, none of them empty; no range if no such consumer exists
     * @throws org.mmapqueue.errors.ConfigException if the name is not allowed
     * @throws ClosedException if the queue is closed
     * @throws MmapQueueException if a file of the consumer cannot be read; a damaged file of acks counts as missing
     */
    public List<OffsetRange> ackedRanges(String name) {
        return core().ackedRanges(name);
    }

    /**
     * Returns the damaged ranges that the consumers of this process have skipped ({@code on_damage = skip}) since they
     * were opened.
     *
     * @return by consumer's name, the latest ranges of each, at most a thousand; consumers without damage are left out
     */
    public Map<String, List<DamagedRange>> damagedRanges() {
        return core().damagedRanges();
    }

    // ---- records by offset and time; no consumer moves

    /**
     * {@return whether the queue's archive has what the ring has given up ({@code overflow = archive}): consumers, and
     * reads by offset, then continue there}
     */
    public boolean overflows() {
        return core().records().overflows();
    }

    /**
     * Reads a record. Moves no consumer.
     *
     * @param offset the record's offset
     * @return the record; its attempts are 0
     */
    public Message get(long offset) {
        return core().records().get(offset);
    }

    /**
     * Reads records. Moves no consumer.
     *
     * @param offset the first record's offset
     * @param count the maximum number of records
     * @return the records from the offset on, in order, at least one; their attempts are 0
     */
    public List<Message> getMany(long offset, int count) {
        return core().records().getMany(offset, count);
    }

    /**
     * Reads records without an allocation for each. Moves no consumer.
     *
     * @param offset the first record's offset
     * @param count the maximum number of records
     * @param maxBytes the maximum number of payload bytes; a larger first record is read nevertheless
     * @param handler called with each record, in order, with 0 attempts
     * @return the number of records, at least 1
     */
    public int getMany(long offset, int count, long maxBytes, MessageHandler handler) {
        return core().records().getMany(offset, count, maxBytes, handler);
    }

    /**
     * Returns a reader of a range of offsets. Any number of readers may read at once.
     *
     * @param from the first record's offset, up to {@link #endOffset}
     * @param to the offset after the last record; {@code Long.MAX_VALUE} for a range without end
     * @return the reader, which the caller closes; usable while this handle is open
     * @throws org.mmapqueue.errors.ConfigException in format version 1, which stores no offsets
     */
    public RecordReader reader(long from, long to) {
        return reader(from, to, false);
    }

    /**
     * Returns a reader of a range of offsets, as {@link #reader(long, long)}.
     *
     * @param from the first record's offset, up to {@link #endOffset}
     * @param to the offset after the last record; {@code Long.MAX_VALUE} for a range without end
     * @param skipsDamage whether to continue after damaged records, which {@link RecordReader#damagedRanges} lists,
     *     instead of throwing CorruptException
     * @return the reader, which the caller closes; usable while this handle is open
     * @throws org.mmapqueue.errors.ConfigException in format version 1, which stores no offsets
     */
    public RecordReader reader(long from, long to, boolean skipsDamage) {
        return new RecordReader(core().records().reader(from, to, skipsDamage, this::isClosed));
    }

    /**
     * Splits a range of offsets into parts of about the same size, for a {@link #reader} each. Reads segment headers
     * only. Parts that are larger than a segment begin at the start of one.
     *
     * @param from the first record's offset
     * @param to the offset after the last record
     * @param bytes the size of a part in bytes of the log, at least 1
     * @return the offsets of the parts' first records, ascending, then {@code to}
     */
    public long[] split(long from, long to, long bytes) {
        if (bytes < 1 || to < from) {
            throw new IllegalArgumentException(
                    "from = " + from + ", to = " + to + ", bytes = " + bytes + "; expected from <= to and bytes >= 1");
        }
        return core().records().split(from, to, bytes);
    }

    /**
     * Estimates the size of a range in the log, headers and padding included. Reads segment headers only; within a
     * segment all records are assumed to have the same size.
     *
     * @param from the first record's offset
     * @param to the offset after the last record
     * @return the size in bytes
     */
    public long bytes(long from, long to) {
        return core().records().bytes(from, to);
    }

    /**
     * Finds a record by its timestamp, in the ring or in the archive into which it overflows.
     *
     * @param time a time; records have timestamps in whole µs
     * @return the offset of the first record pushed at that time or later; empty if no such record exists
     * @throws org.mmapqueue.errors.ConfigException if the queue stores no timestamps
     * @throws MmapQueueException if the record may be in the archive, and the archive cannot be read
     */
    public OptionalLong find(Instant time) {
        return core().records().find(time);
    }

    /**
     * {@return the offset of the oldest record that the ring retains; {@link #endOffset} if it retains none. Older records
     * may be in the archive}
     */
    public long firstOffset() {
        return core().log().randomAccess().firstOffset();
    }

    /**
     * Returns the offset after the last record that a repair gave up. From there on each offset up to the log end has a
     * record, so that a difference of offsets is a number of records.
     *
     * @return the offset; 0 if no record was given up
     */
    public long gapsEnd() {
        return core().log().gapsEnd();
    }

    /** {@return the offset of the next record} */
    public long endOffset() {
        return core().endOffset();
    }

    /**
     * Returns the offset up to which records are durable. Works in a process that only reads, too.
     *
     * @return the offset after the last record before the recovery point; at least {@link #firstOffset}
     * @throws org.mmapqueue.errors.ConfigException in format version 1, which stores no offsets
     */
    public long durableOffset() {
        return core().log().durableOffset();
    }

    // ---- the archive

    /**
     * Waits until the archive has a record and all records before it, whichever process ships the queue. In the writing
     * process it first makes them durable. If this process ships the queue, it ships at once, and not only after the
     * ship_period; calls that wait at the same time share a file of the archive.
     *
     * @param offset the record's offset
     * @param timeout the maximum wait
     * @return whether the archive has them
     * @throws org.mmapqueue.errors.ConfigException if no consumer {@code ship} exists, as no process has shipped the
     *     queue; and in format version 1, which cannot be shipped
     * @throws org.mmapqueue.errors.OutOfRangeException if the record has not been pushed
     * @throws org.mmapqueue.errors.DroppedException if a purge, max_age or max_consumer_lag has dropped the record before it
     *     was shipped; the archive may still get it while its segment is not reused
     * @throws org.mmapqueue.errors.MmapQueueException if this process shipped the queue, and shipping has failed
     * @throws InterruptedException if the thread is interrupted while it waits
     */
    public boolean awaitShipped(long offset, Duration timeout) throws InterruptedException {
        return core().shipping().await(offset, nanos(timeout));
    }

    /**
     * Returns what this process has shipped into the archive since the queue was opened.
     *
     * @return the figures; empty if the queue was opened without archive_uri
     */
    public Optional<ShipStats> shipStats() {
        return core().shipping().stats();
    }

    /**
     * Lets a directory replace the host that ships its queue into an archive now, or another copy of the directory: after
     * a disk has moved, a host was renamed, or a backup was restored. It takes effect when this directory is shipped the
     * next time. From then on the other one acks nothing any more, and ends with an error.
     *
     * @param directory the queue's directory
     * @param archive the archive's directory
     * @return false if the archive does not exist, or nobody ships the queue into it
     * @throws org.mmapqueue.errors.LockedException if a process ships this directory, or this one has the queue open
     * @throws MmapQueueException if there is no queue, or the archive cannot be read
     */
    public static boolean takeOver(Path directory, URI archive) {
        try (MmapQueue queue = toChangeShipping(directory)) {
            return queue.core().shipping().takeOver(archive);
        }
    }

    /**
     * Creates an empty queue that continues a partition of an archive, after the host whose queue was shipped as that
     * partition is lost. The new queue has the UUID of the lost one. Its first record gets the offset after the last record
     * of the archive, and no record gets an older timestamp than the newest one there. From now on the lost host acks
     * nothing any more, should it come back: its shipper ends with an error, which names the records that it has not
     * shipped. Consumers and idempotent producers of the lost queue are not in the archive, so the new queue has none.
     *
     * <p>If this fails, the directory has no queue, and the call can be repeated. After a crash the directory has the whole
     * queue, or is marked as incomplete: delete it then, and repeat the call. Thread-safe; of several calls for one
     * partition at once, one alone succeeds.
     *
     * <pre>{@code
     * QueueConfig config = QueueConfig.builder(Path.of("/var/lib/shop/events"))
     *         .archiveUri(URI.create("hdfs://nodes/archive"))
     *         .build();
     * MmapQueue.adopt(config, 7);
     * try (MmapQueue queue = MmapQueue.open(config)) {
     *     queue.push(record);
     * }
     * }</pre>
     *
     * @param config the configuration of the new queue, with archive_uri; archive_host names this host in the archive
     * @param partition the partition's number in the archive
     * @return the offset of the new queue's first record
     * @throws org.mmapqueue.errors.ConfigException if archive_uri is not set, a value is out of range, or the directory
     *     holds other files
     * @throws org.mmapqueue.errors.ArchiveException if there is no archive or no such partition, its newest run is damaged,
     *     or another process has claimed the partition at the same time
     * @throws org.mmapqueue.errors.LockedException if another process creates a queue in this directory
     * @throws MmapQueueException if the directory has a queue, or an incomplete one, or a file cannot be read or written
     */
    public static long adopt(QueueConfig config, int partition) {
        return Adoption.run(config.values(), partition);
    }

    /**
     * Lets a queue be shipped into another archive from now on, from the first record of its ring on. A queue
     * that was shipped once is shipped into the same archive for ever, even if a different one is at its place, until
     * this call claims the queue's partition in another one. If this fails, the queue belongs to its archive as before,
     * and the call can be repeated, also after a crash.
     *
     * <pre>{@code
     * QueueConfig config = QueueConfig.builder(Path.of("/var/lib/shop/events"))
     *         .archiveUri(URI.create("hdfs://nodes/other"))
     *         .build();
     * MmapQueue.changeArchive(config, false);
     * try (MmapQueue queue = MmapQueue.open(config)) {
     *     queue.push(record);
     * }
     * }</pre>
     *
     * <p>Thread-safe.
     *
     * @param config the configuration with which the queue is shipped from now on, with archive_uri; of the other keys
     *     only those of the archive matter here
     * @param takesOver whether this directory replaces the host, or the other copy of it, that ships the queue there: as a
     *     queue that returns to an archive must
     * @return false if the queue is shipped into that archive already
     * @throws org.mmapqueue.errors.ConfigException if archive_uri is not set, or a value is out of range
     * @throws org.mmapqueue.errors.ArchiveException if another host or directory ships the queue there, the archive has
     *     other records than the queue, or no library is there that reads the file system
     * @throws org.mmapqueue.errors.LockedException if a process ships this directory, or this one has the queue open
     * @throws MmapQueueException if there is no queue, a consumer needs records that only the former archive has, or the
     *     archive cannot be read or written
     */
    public static boolean changeArchive(QueueConfig config, boolean takesOver) {
        try (MmapQueue queue = toChangeShipping(config.values().queueDir())) {
            return queue.core().shipping().changeArchive(config.values(), takesOver);
        }
    }

    /**
     * Forgets the archive into which a queue was shipped: it is not shipped any more. To ship it into another archive, call
     * {@link #changeArchive}, which forgets nothing if it fails: after this call even the same archive refuses the queue
     * as that of another directory, until {@link #takeOver}. Consumer {@code ship} stays, and retains the records that were
     * not shipped, until it is deleted.
     *
     * @param directory the queue's directory
     * @return false if the queue was never shipped
     * @throws org.mmapqueue.errors.LockedException if a process ships this directory, or this one has the queue open
     * @throws MmapQueueException if there is no queue, or a file cannot be deleted
     */
    public static boolean leaveArchive(Path directory) {
        try (MmapQueue queue = toChangeShipping(directory)) {
            return queue.core().shipping().leaveArchive();
        }
    }

    private static MmapQueue toChangeShipping(Path directory) {
        return openToRead(directory);
    }

    // ---- the whole queue

    /**
     * {@return the queue's identity, which is generated with the queue and never changes}
     *
     * @throws org.mmapqueue.errors.ConfigException in format version 1, which has none
     */
    public UUID id() {
        return core().id();
    }

    /**
     * Reads the identity of the queue that is in a directory now. It differs from the {@link #id} of an open queue when
     * that queue's directory was replaced. Reads one small file and opens nothing.
     *
     * @param directory the queue's directory
     * @return the identity; empty if there is no queue, or one of format version 1
     * @throws org.mmapqueue.errors.CorruptException if the meta page is damaged
     * @throws MmapQueueException if the file cannot be read
     */
    public static Optional<UUID> idIn(Path directory) {
        return QueueDirectory.idIn(DiskStorage.INSTANCE, directory);
    }

    /**
     * Makes every push and every ack before this call durable.
     *
     * @throws org.mmapqueue.errors.PoisonedException if an fsync fails
     */
    public void flush() {
        writer().flush();
    }

    /**
     * Deletes the ring files that hold no retained record. The writer creates them again when it needs them.
     *
     * @return the bytes of disk space that were released
     */
    public long gc() {
        writer();
        return core().gc();
    }

    /**
     * Acks all records that are in the queue at the call, for all consumers: those never popped, those in flight, and
     * those requeued. A later ack of one of them does nothing. Without a consumer, the queue no longer retains any of
     * them. Records that are pushed during the call stay. Like an ack, it is durable with the next flush.
     *
     * @return the number of records, from the first one that some consumer had not acked
     * @throws org.mmapqueue.errors.LockedException if another process owns a consumer; nothing was acked
     * @throws org.mmapqueue.errors.ConfigException if this process ships the queue into an archive
     * @throws MmapQueueException if this handle cannot write
     */
    public long purge() {
        writer();
        return core().purge();
    }

    /**
     * Closes the queue and deletes its files, and the directory if it is then empty. A later open creates a new queue,
     * with another identity. A kill during the call may leave segments without a meta page, which no open accepts as a
     * queue: delete the directory then.
     *
     * @throws org.mmapqueue.errors.LockedException if another handle of this process, or another process that owns a
     * consumer, has the queue open; the queue stays open then. A process that only reads, without a consumer, holds no
     * lock: it keeps the deleted files open until it closes the queue
     * @throws MmapQueueException if this handle cannot write, or a file cannot be deleted
     */
    public void destroy() {
        writer();
        QueueCore open;
        synchronized (this) {
            open = core();
            closed = true;
            isDestroying = true;
        }
        try {
            OpenQueues.destroy(open);
        } finally {
            boolean isLeft;
            synchronized (this) {
                isDestroying = false;
                closed = open.isClosed();
                isLeft = !closed && closesAfterDestroy;
            }
            if (closed) {
                closeAsync();
            } else if (isLeft) {
                close();
            }
        }
    }

    /**
     * Checks that {@link #destroy} is allowed now, and changes nothing. A program that destroys several queues together
     * checks all of them before the first one is gone.
     *
     * @throws org.mmapqueue.errors.LockedException if another handle of this process, or another process that owns a
     *     consumer, has the queue open
     * @throws MmapQueueException if this handle cannot write
     */
    public void checkUnused() {
        writer();
        OpenQueues.checkUnused(core());
    }

    /** {@return the state of the queue; each figure holds at some moment during the call} */
    public QueueStats stats() {
        return core().stats();
    }

    /**
     * Returns the queue's metrics. Pushes, pops and acks pay nothing for them: each call computes how far cursors have
     * moved. {@link org.mmapqueue.metrics.PrometheusText} writes them as text; the MBean {@code
     * org.mmapqueue:type=Queue,directory="…"} has the same figures.
     *
     * @return the samples of metrics that this process knows, in the order of {@link org.mmapqueue.metrics.Metric}'s
     *     queue metrics,
     *     then for each consumer
     */
    public List<Sample> metrics() {
        return core().metrics();
    }

    /**
     * Returns whether the ring has no room for a record of max_event_size; a smaller record may still fit. If it has
     * room, a push of one record does not throw FullException, unless other threads push at the same time.
     *
     * @return true if the ring is full
     */
    public boolean isFull() {
        return core().isFull();
    }

    /**
     * Describes what retains the ring, as the message of FullException does.
     *
     * @return the slowest consumer, its lag in bytes and, if this process ships for it in vain, since when and why; or that the
     *     queue has no consumer
     */
    public String heldBy() {
        return core().heldBy();
    }

    /** {@return the configuration in force, with a value for every key} */
    public QueueConfig config() {
        return new QueueConfig(core().settings().asConfig(core.directory()));
    }

    /**
     * Closes this handle. Closing the last handle of the process flushes and closes the queue. Idempotent.
     *
     * @throws MmapQueueException if the last flush fails; the next open recovers
     */
    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                closesAfterDestroy |= isDestroying;
                return;
            }
            closed = true;
        }
        try {
            core.forgetUser(this);
            core.signalAll(); // wakes calls that wait through this handle; other handles may keep the queue open
            closeAsync();
        } finally {
            OpenQueues.release(core);
        }
    }

    // ---- the handle

    private Writer writer() {
        QueueCore open = core();
        if (readOnly) {
            throw new ReadOnlyException("the queue in " + open.directory() + " was opened by openToRead");
        }
        return open.writer();
    }

    synchronized AsyncPusher async() {
        Writer writer = writer();
        AsyncPusher pusher = async;
        if (pusher == null) {
            pusher = new AsyncPusher(writer, "mmapqueue-" + core.directory().getFileName() + "-async");
            async = pusher;
        }
        return pusher;
    }

    /** Closes asynchronous pops when this handle is closed. */
    synchronized void add(AsyncPops started) {
        pops.add(started);
    }

    synchronized void remove(AsyncPops ended) {
        pops.remove(ended);
    }

    QueueCore core() {
        if (closed) {
            throw new ClosedException("this handle of the queue is closed");
        }
        return core;
    }

    static long nanos(Duration timeout) {
        if (timeout.isNegative()) {
            return 0;
        }
        try {
            // Half of the range of long, so that a deadline of now + timeout does not overflow.
            return Math.min(timeout.toNanos(), Long.MAX_VALUE / 2);
        } catch (ArithmeticException e) {
            return Long.MAX_VALUE / 2;
        }
    }

    boolean isClosed() {
        return closed;
    }

    // Completes futures without a lock. A push that began before the close has created the pusher by now, or throws.
    private void closeAsync() {
        AsyncPusher pusher;
        synchronized (this) {
            pusher = async;
            pops.forEach(AsyncPops::close);
            pops.clear();
        }
        if (pusher != null) {
            pusher.close();
        }
    }

    private static OptionalLong offset(long pushed) {
        return pushed < 0 ? OptionalLong.empty() : OptionalLong.of(pushed);
    }
}
