package org.mmapqueue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.mmapqueue.async.AsyncPusher;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.write.Writer;

/**
 * The producing side of {@link MmapQueue}: push, atomic batches, idempotent producers. Safe for any number of threads.
 */
abstract class QueueProducer {
    private final BooleanSupplier isClosed = this::isClosed;

    /** Returns the writer; throws if this handle is closed or cannot push. */
    abstract Writer writer();

    abstract boolean isClosed();

    /** Returns the asynchronous pusher; throws if this handle is closed or cannot push. */
    abstract AsyncPusher async();

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
     * @param timeout the longest wait
     * @return the record's offset
     * @throws InterruptedException if interrupted while waiting
     */
    public long push(byte[] data, Duration timeout) throws InterruptedException {
        return writer().push(data, 0, data.length, MmapQueue.nanos(timeout), isClosed);
    }

    /**
     * Appends a record as {@link #push(ByteBuffer)} does; waits for space.
     *
     * @param data the payload, from position to limit; the position moves to the limit
     * @param timeout the longest wait
     * @return the record's offset
     * @throws InterruptedException if interrupted while waiting
     */
    public long push(ByteBuffer data, Duration timeout) throws InterruptedException {
        long offset = writer().push(data, MmapQueue.nanos(timeout), isClosed);
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
     * @param timeout the longest wait
     * @return the record's offset; empty if there was no space within the timeout
     * @throws InterruptedException if interrupted while waiting
     */
    public OptionalLong offer(byte[] data, Duration timeout) throws InterruptedException {
        return offset(writer().offer(data, 0, data.length, MmapQueue.nanos(timeout), isClosed));
    }

    /**
     * Appends a record, and returns when it is durable. Threads that wait at the same time share an fsync.
     *
     * @param data the payload
     * @param timeout the longest wait for space
     * @return the record's offset
     * @throws InterruptedException if interrupted while waiting for space
     * @throws org.mmapqueue.errors.PoisonedException if the fsync fails; whether the record is durable is unknown
     */
    public long pushSync(byte[] data, Duration timeout) throws InterruptedException {
        Writer writer = writer();
        long offset = writer.push(data, 0, data.length, MmapQueue.nanos(timeout), isClosed);
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
     * @param timeout the longest wait
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
     * @param timeout the longest wait
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
     * @param timeout the longest wait
     * @return the first record's offset; the others follow it
     * @throws InterruptedException if interrupted while waiting
     * @throws IllegalArgumentException if a length is negative
     * @throws IndexOutOfBoundsException if an array does not hold its payload
     */
    public long pushBatch(Records batch, Duration timeout) throws InterruptedException {
        return writer().push(HeapRecords.fetch(batch), MmapQueue.nanos(timeout), isClosed);
    }

    /**
     * Appends an atomic batch of payloads that are back to back in one array, and returns when it is durable. Threads that
     * wait at the same time share an fsync.
     *
     * @param buffer the array
     * @param from the index of the first payload's first byte
     * @param lengths the payloads' lengths in bytes
     * @param count the number of payloads
     * @param timeout the longest wait for space
     * @return the first record's offset; the others follow it
     * @throws InterruptedException if interrupted while waiting for space
     * @throws org.mmapqueue.errors.PoisonedException if the fsync fails; whether the batch is durable is unknown
     */
    public long pushBatchSync(byte[] buffer, int from, int[] lengths, int count, Duration timeout)
            throws InterruptedException {
        Writer writer = writer();
        long offset = writer.push(
                HeapRecords.fetch(Records.packed(buffer, from, lengths, count)), MmapQueue.nanos(timeout), isClosed);
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
     * @param timeout the longest wait for space
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
     * @param timeout the longest wait for space
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
     * @param timeout the longest wait for space
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
                .push(producer, sequence, null, HeapRecords.fetch(batch), MmapQueue.nanos(timeout), sync, isClosed));
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
     * @param timeout the longest wait for space
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
                        MmapQueue.nanos(timeout),
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

    private static OptionalLong offset(long pushed) {
        return pushed < 0 ? OptionalLong.empty() : OptionalLong.of(pushed);
    }
}
