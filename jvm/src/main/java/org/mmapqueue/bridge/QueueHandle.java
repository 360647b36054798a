package org.mmapqueue.bridge;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.mmapqueue.Consumer;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueStats;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.MmapQueueException;

/** One opened queue, its consumers known by small numbers. Safe for any number of threads. */
public final class QueueHandle {
    // More than what either format stores beside the payload of a record, and in each segment.
    private static final int RECORD_OVERHEAD = 64;
    private static final int SEGMENT_OVERHEAD = 128;

    private final MmapQueue queue;
    private final int maxEventSize;
    private final java.util.function.Consumer<QueueHandle> onClose;
    // Nothing is ever taken out: a consumer's place is its number.
    private final List<Consumer> consumers = new ArrayList<>();

    QueueHandle(MmapQueue queue, java.util.function.Consumer<QueueHandle> onClose) {
        this.queue = queue;
        this.maxEventSize = Integer.parseInt(queue.config().asMap().get("max_event_size"));
        this.onClose = onClose;
    }

    /**
     * A consumer.
     *
     * @param name its name; made when it does not exist
     * @param start where it begins when it is made now, as {@link #seek} takes it but for "committed"
     * @return its number, for the calls that take one
     * @throws ConfigException for another start
     * @throws MmapQueueException as {@link MmapQueue#consumer(String, StartAt)} does
     */
    public int consumer(String name, String start) {
        Consumer consumer = queue.consumer(name, Places.of(start));
        synchronized (consumers) {
            consumers.add(consumer);
            return consumers.size() - 1;
        }
    }

    /**
     * Makes a consumer for another process.
     *
     * @param name its name
     * @param start where it begins, as for {@link #consumer(String, String)}
     * @throws ConfigException for another start
     * @throws MmapQueueException as {@link MmapQueue#createConsumer} does
     */
    public void createConsumer(String name, String start) {
        queue.createConsumer(name, Places.of(start));
    }

    /**
     * Forgets a consumer.
     *
     * @param name its name
     * @throws MmapQueueException as {@link MmapQueue#deleteConsumer} does
     */
    public void deleteConsumer(String name) {
        queue.deleteConsumer(name);
    }

    /**
     * The consumers that the queue has.
     *
     * @return their names, one a line
     */
    public String consumers() {
        return String.join("\n", queue.consumers());
    }

    /**
     * How far each consumer is.
     *
     * @return a line for each: the components of {@link ConsumerStats} as name=value, with spaces between; the label
     *     comes last, and may have spaces
     */
    public String consumerStats() {
        return queue.consumerStats().stream()
                .map(stats -> Figures.of(stats, " "))
                .collect(Collectors.joining("\n"));
    }

    /**
     * Gives a consumer up; a second time does nothing. Its number is not given to another one.
     *
     * @param consumer the consumer's number
     */
    public void closeConsumer(int consumer) {
        Consumer found;
        synchronized (consumers) {
            found = consumers.set(consumer, null);
        }
        if (found != null) {
            found.close();
        }
    }

    Consumer consumer(int number) {
        Consumer found;
        synchronized (consumers) {
            found = consumers.get(number);
        }
        if (found == null) {
            throw new ClosedException("the consumer was closed");
        }
        return found;
    }

    MmapQueue queue() {
        return queue;
    }

    /**
     * Maps a file as a stage.
     *
     * @param path the file; it may be deleted as soon as this returns
     * @param size its size in bytes
     * @param nonce what its first bytes are, in hexadecimal digits: shows that this process sees the same file
     * @return the stage, or null when this process can not map the file or sees another one in its place
     */
    public Stage mappedStage(String path, int size, String nonce) {
        ByteBuffer memory = SharedBufferMapping.map(path, size, nonce);
        return memory == null ? null : new Stage(this, memory);
    }

    /**
     * A stage in the heap, for where no memory can be shared: {@link Stage#write} and {@link Stage#read} reach it.
     *
     * @param size its size in bytes
     * @return the stage
     */
    public Stage heapStage(int size) {
        return new Stage(this, ByteBuffer.allocate(size));
    }

    /**
     * Acks all records up to and including one.
     *
     * @param consumer the consumer's number
     * @param offset the record's offset
     * @throws MmapQueueException as {@link Consumer#ack} does
     */
    public void ack(int consumer, long offset) {
        consumer(consumer).ack(offset);
    }

    /**
     * Acks one record, whatever becomes of those before it.
     *
     * @param consumer the consumer's number
     * @param offset the record's offset
     * @throws MmapQueueException as {@link Consumer#ackSingle(long)} does
     */
    public void ackSingle(int consumer, long offset) {
        consumer(consumer).ackSingle(offset);
    }

    /**
     * Acks some records, each of them alone; for more than a stage holds.
     *
     * @param consumer the consumer's number
     * @param packed their offsets, 64 bits each, in the byte order of the machine
     * @throws MmapQueueException as {@link Consumer#ackSingle(long[])} does; none is acked
     */
    public void ackMany(int consumer, byte[] packed) {
        consumer(consumer).ackSingle(unpacked(packed));
    }

    /**
     * Gives a record back.
     *
     * @param consumer the consumer's number
     * @param offset the record's offset
     * @param delayMicros µs until it may be popped again
     * @throws MmapQueueException as {@link Consumer#nack(long, Duration)} does
     */
    public void nack(int consumer, long offset, long delayMicros) {
        consumer(consumer).nack(offset, Duration.of(delayMicros, ChronoUnit.MICROS));
    }

    /**
     * Gives records back as if they had not been popped.
     *
     * @param consumer the consumer's number
     * @param packed their offsets, as for {@link #ackMany}
     * @throws MmapQueueException as {@link Consumer#unpop} does; none is given back
     */
    public void unpop(int consumer, byte[] packed) {
        consumer(consumer).unpop(unpacked(packed));
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
     * @param place where to: "earliest", "latest", "committed", "offset:" and a number, or "time:" and µs since 1970
     * @throws ConfigException for another text
     * @throws MmapQueueException as {@link Consumer#seek} does
     */
    public void seek(int consumer, String place) {
        consumer(consumer).seek(Places.of(place));
    }

    /**
     * How many records a consumer has not acked.
     *
     * @param consumer the consumer's number
     * @return records from the committed offset to the end
     */
    public long lag(int consumer) {
        return consumer(consumer).lag();
    }

    /**
     * How many records there are for a consumer to pop.
     *
     * @param consumer the consumer's number
     * @return records that it has not popped, or has given back
     */
    public long size(int consumer) {
        return consumer(consumer).size();
    }

    /**
     * How many records a consumer has popped and not acked.
     *
     * @param consumer the consumer's number
     * @return a number
     */
    public long unacked(int consumer) {
        return consumer(consumer).unacked();
    }

    /**
     * The oldest record that is retained.
     *
     * @return its offset; {@link #endOffset} when there is none
     */
    public long firstOffset() {
        return queue.firstOffset();
    }

    /**
     * The end.
     *
     * @return the offset that the next record gets
     */
    public long endOffset() {
        return queue.endOffset();
    }

    /**
     * Finds a record by its time.
     *
     * @param micros µs since 1970
     * @return the offset of the first record that was pushed then or later, or {@link Status#EMPTY} when there is none
     * @throws MmapQueueException as {@link MmapQueue#find} does
     */
    public long find(long micros) {
        return queue.find(micros).orElse(Status.EMPTY);
    }

    /**
     * Gives free ring files back to the disk.
     *
     * @return bytes that the disk has got back
     */
    public long gc() {
        return queue.gc();
    }

    /**
     * Whether a record of max_event_size would find no room now. As long as it would, no push is refused.
     *
     * @return 1 for yes, 0 for no
     */
    public int full() {
        QueueStats stats = queue.stats();
        long end = (stats.lowWatermark() / stats.segmentSize() + stats.capacitySegments()) * stats.segmentSize();
        return end - stats.writingPosition() < spaceNeeded(stats.segmentSize()) ? 1 : 0;
    }

    /** At most, wherever in a segment it begins. */
    private long spaceNeeded(int segmentSize) {
        long record = (long) maxEventSize + RECORD_OVERHEAD;
        return record + (record / (segmentSize - SEGMENT_OVERHEAD) + 2) * SEGMENT_OVERHEAD;
    }

    /**
     * What a producer has pushed last.
     *
     * @param producer its name
     * @return the sequence, or {@link Status#EMPTY} when nothing of it is known
     * @throws MmapQueueException as {@link MmapQueue#lastSequence} does
     */
    public long lastSequence(String producer) {
        return queue.lastSequence(producer).orElse(Status.EMPTY);
    }

    /**
     * The producers that have pushed batches once.
     *
     * @return their names, one a line
     */
    public String producers() {
        return String.join("\n", queue.producers());
    }

    /**
     * Forgets what a producer has pushed.
     *
     * @param producer its name
     * @throws MmapQueueException as {@link MmapQueue#forgetProducer} does
     */
    public void forgetProducer(String producer) {
        queue.forgetProducer(producer);
    }

    /** Fsyncs all that was pushed so far to the disk. */
    public void flush() {
        queue.flush();
    }

    /**
     * What holds the ring.
     *
     * @return a text for people, as {@link QueueStats#heldBy} gives it
     */
    public String heldBy() {
        return queue.stats().heldBy();
    }

    /**
     * The state of the queue.
     *
     * @return the components of {@link QueueStats}, by name: lines of key=value
     */
    public String stats() {
        return Figures.of(queue.stats(), "\n");
    }

    /**
     * The configuration in force.
     *
     * @return keys and values by turns, joined by NUL characters
     */
    public String config() {
        Map<String, String> values = queue.config().asMap();
        return values.entrySet().stream()
                .map(entry -> entry.getKey() + Bridge.SEPARATOR + entry.getValue())
                .collect(Collectors.joining(Bridge.SEPARATOR));
    }

    /** Closes this handle; a second time does nothing. Calls that wait through it are woken. */
    public void close() {
        onClose.accept(this);
        queue.close();
    }
}
