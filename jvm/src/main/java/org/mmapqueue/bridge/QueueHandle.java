package org.mmapqueue.bridge;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.json.Json;
import org.mmapqueue.metrics.PrometheusText;
import org.mmapqueue.write.RoomWait;

/** An open queue for py4j, which refers to consumers by number. Thread-safe. */
public final class QueueHandle {
    private final MmapQueue queue;
    private final java.util.function.Consumer<QueueHandle> onClose;
    private final ConsumerNumbers consumers = new ConsumerNumbers();

    QueueHandle(MmapQueue queue, java.util.function.Consumer<QueueHandle> onClose) {
        this.queue = queue;
        this.onClose = onClose;
    }

    /**
     * Opens a consumer; creates it if it does not exist.
     *
     * @param name the consumer's name
     * @param start the position of a new consumer: a target of {@link #seek}, except "committed"
     * @return the consumer's number
     * @throws ConfigException for another text
     * @throws MmapQueueException as {@link MmapQueue#consumer(String, StartAt)} does
     */
    public int consumer(String name, String start) {
        return consumers.add(queue.consumer(name, SeekTargets.parse(start)));
    }

    /**
     * Creates a consumer without opening it.
     *
     * @param name the consumer's name
     * @param start the position, as for {@link #consumer(String, String)}
     * @throws ConfigException for another text
     * @throws MmapQueueException as {@link MmapQueue#createConsumer} does
     */
    public void createConsumer(String name, String start) {
        queue.createConsumer(name, SeekTargets.parse(start));
    }

    /**
     * Deletes a consumer.
     *
     * @param name the consumer's name
     * @throws MmapQueueException as {@link MmapQueue#deleteConsumer} does
     */
    public void deleteConsumer(String name) {
        queue.deleteConsumer(name);
    }

    /** {@return the names of all consumers, as JSON} */
    public String consumers() {
        return Json.of(queue.consumers());
    }

    /** {@return the statistics of all consumers, as JSON} */
    public String consumerStats() {
        return Json.of(queue.consumerStats());
    }

    /**
     * {@return the offsets that a consumer has acked, as JSON}
     *
     * @param name the consumer's name
     * @throws MmapQueueException as {@link MmapQueue#ackedRanges} does
     */
    public String ackedRanges(String name) {
        return Json.of(queue.ackedRanges(name));
    }

    /**
     * Closes a consumer. Idempotent. The number is not reused.
     *
     * @param consumer the consumer's number
     */
    public void closeConsumer(int consumer) {
        consumers.close(consumer);
    }

    Consumer consumer(int number) {
        return consumers.get(number);
    }

    MmapQueue queue() {
        return queue;
    }

    /**
     * Maps a file as a shared buffer.
     *
     * @param path the file; it may be deleted when this returns
     * @param size the file's size in bytes
     * @param nonce the file's first bytes in hexadecimal digits, which identify the file
     * @return the buffer; null when the file cannot be mapped, or the path names another file for this process
     */
    public SharedBuffer mappedBuffer(String path, int size, String nonce) {
        ByteBuffer memory = SharedBufferMapping.map(path, size, nonce);
        return memory == null ? null : new SharedBuffer(this, memory);
    }

    /**
     * Makes a buffer in the heap, for when no memory can be shared. {@link SharedBuffer#write} and {@link
     * SharedBuffer#read} access it.
     *
     * @param size the size in bytes
     * @return the buffer
     */
    public SharedBuffer heapBuffer(int size) {
        return new SharedBuffer(this, ByteBuffer.allocate(size));
    }

    /**
     * Acks a record and all before it.
     *
     * @param consumer the consumer's number
     * @param offset the record's offset
     * @throws MmapQueueException as {@link Consumer#ackUpTo(long)} does
     */
    public void ackUpTo(int consumer, long offset) {
        consumer(consumer).ackUpTo(offset);
    }

    /**
     * Acks one record alone.
     *
     * @param consumer the consumer's number
     * @param offset the record's offset
     * @throws MmapQueueException as {@link Consumer#ack(long)} does
     */
    public void ack(int consumer, long offset) {
        consumer(consumer).ack(offset);
    }

    /**
     * Acks single records, also more than a shared buffer holds.
     *
     * @param consumer the consumer's number
     * @param packed the offsets, 64 bits each, in native byte order
     * @throws MmapQueueException as {@link Consumer#ack(long[])} does; none is acked
     */
    public void ackMany(int consumer, byte[] packed) {
        consumer(consumer).ack(unpacked(packed));
    }

    /**
     * Requeues a record.
     *
     * @param consumer the consumer's number
     * @param offset the record's offset
     * @param delayMicros the delay of redelivery, in µs
     * @throws MmapQueueException as {@link Consumer#nack(long, Duration)} does
     */
    public void nack(int consumer, long offset, long delayMicros) {
        consumer(consumer).nack(offset, Duration.of(delayMicros, ChronoUnit.MICROS));
    }

    /**
     * Releases records: they are redelivered, and this delivery does not count as an attempt.
     *
     * @param consumer the consumer's number
     * @param packed the offsets, as for {@link #ackMany}
     * @throws MmapQueueException as {@link Consumer#release} does; none is released
     */
    public void release(int consumer, byte[] packed) {
        consumer(consumer).release(unpacked(packed));
    }

    private static long[] unpacked(byte[] packed) {
        long[] offsets = new long[packed.length / Long.BYTES];
        ByteBuffer.wrap(packed).order(ByteOrder.nativeOrder()).asLongBuffer().get(offsets);
        return offsets;
    }

    /**
     * Moves a consumer.
     *
     * @param consumer the consumer's number
     * @param target "earliest", "latest", "committed", "offset:" and a number, or "time:" and µs since 1970
     * @throws ConfigException for another text
     * @throws MmapQueueException as {@link Consumer#seek} does
     */
    public void seek(int consumer, String target) {
        consumer(consumer).seek(SeekTargets.parse(target));
    }

    /**
     * {@return the offset of the first record that a consumer has not acked}
     *
     * @param consumer the consumer's number
     */
    public long committedOffset(int consumer) {
        return consumer(consumer).committedOffset();
    }

    /**
     * {@return the number of records that a consumer has not acked}
     *
     * @param consumer the consumer's number
     */
    public long lag(int consumer) {
        return consumer(consumer).lag();
    }

    /**
     * {@return the number of records that a consumer can pop, requeued ones included}
     *
     * @param consumer the consumer's number
     */
    public long size(int consumer) {
        return consumer(consumer).size();
    }

    /**
     * {@return the number of records that a consumer has popped, and neither acked nor requeued}
     *
     * @param consumer the consumer's number
     */
    public long unacked(int consumer) {
        return consumer(consumer).unacked();
    }

    /** {@return the offset of the oldest retained record; {@link #endOffset} when no record is retained} */
    public long firstOffset() {
        return queue.firstOffset();
    }

    /** {@return the offset of the next record} */
    public long endOffset() {
        return queue.endOffset();
    }

    /**
     * Finds a record by its timestamp.
     *
     * @param micros µs since 1970
     * @return the offset of the first record that was pushed then or later, or {@link Status#EMPTY} when no such record
     *     exists
     * @throws MmapQueueException as {@link MmapQueue#find} does
     */
    public long find(long micros) {
        return queue.find(Instant.EPOCH.plus(micros, ChronoUnit.MICROS)).orElse(Status.EMPTY);
    }

    /**
     * Deletes ring files that hold no retained record.
     *
     * @return the bytes of disk space that were released
     */
    public long gc() {
        return queue.gc();
    }

    /**
     * Acks all records of all consumers.
     *
     * @return the number of records, from the first one that some consumer had not acked
     */
    public long purge() {
        return queue.purge();
    }

    /** Closes this handle, which must be the only one, and deletes the queue's files. */
    public void destroy() {
        queue.destroy();
        onClose.accept(this);
    }

    /** {@return the damaged ranges that consumers have skipped, by the consumer's name, as JSON} */
    public String damagedRanges() {
        return Json.of(queue.damagedRanges());
    }

    /** {@return 1 if the ring has no room for a record of max_event_size, otherwise 0} */
    public int full() {
        return queue.isFull() ? 1 : 0;
    }

    /**
     * {@return the last sequence number of an idempotent producer; {@link Status#EMPTY} for an unknown one}
     *
     * @param producer the producer's name
     * @throws MmapQueueException as {@link MmapQueue#lastSequence} does
     */
    public long lastSequence(String producer) {
        return queue.lastSequence(producer).orElse(Status.EMPTY);
    }

    /** {@return the names of all idempotent producers, as JSON} */
    public String producers() {
        return Json.of(queue.producers());
    }

    /** {@return the last batches of all idempotent producers, as JSON} */
    public String producerStats() {
        return Json.of(queue.producerStats());
    }

    /**
     * Deletes the sequences of an idempotent producer.
     *
     * @param producer the producer's name
     * @throws MmapQueueException as {@link MmapQueue#forgetProducer} does
     */
    public void forgetProducer(String producer) {
        queue.forgetProducer(producer);
    }

    /** Makes all records durable that were pushed before this call. */
    public void flush() {
        queue.flush();
    }

    /** {@return what retains the ring, as {@link MmapQueue#heldBy}} */
    public String heldBy() {
        return queue.heldBy();
    }

    /**
     * Warns of a wait for room.
     *
     * @param seconds the wait so far
     * @return the text of the warning
     */
    public String noRoom(long seconds) {
        return RoomWait.warning(seconds, queue.config().queueDir(), queue.heldBy());
    }

    /** {@return the statistics of the queue, as JSON} */
    public String stats() {
        return Json.of(queue.stats());
    }

    /** {@return the metrics of the queue, in the text format of Prometheus} */
    public String metrics() {
        return PrometheusText.of(queue.config().queueDir(), queue.metrics());
    }

    /** {@return the configuration in effect, texts by key, as JSON} */
    public String config() {
        return Json.of(queue.config().asMap());
    }

    /** {@return the offset after the last durable record} */
    public long durableOffset() {
        return queue.durableOffset();
    }

    /**
     * Waits until the archive has a record and all records before it.
     *
     * @param offset the record's offset
     * @param millis the maximum wait, in ms
     * @return 1 if the archive has them, 0 after the wait
     * @throws MmapQueueException as {@link MmapQueue#awaitShipped} does
     * @throws InterruptedException if the thread is interrupted
     */
    public int awaitShipped(long offset, int millis) throws InterruptedException {
        return queue.awaitShipped(offset, Duration.ofMillis(millis)) ? 1 : 0;
    }

    /** {@return the state of shipping as JSON; null if this process does not ship} */
    public String shipStats() {
        return Json.of(queue.shipStats());
    }

    /** Closes this handle, and wakes the calls that wait through it. Idempotent. */
    public void close() {
        onClose.accept(this);
        queue.close();
    }
}
