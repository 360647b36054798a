package org.mmapqueue.typed;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;

/**
 * A view of a {@link MmapQueue} whose payloads are encoded values.
 *
 * <pre>{@code
 * TypedQueue<Order> orders = TypedQueue.of(queue, codec);
 * orders.push(order);
 * TypedConsumer<Order> billing = orders.consumer("billing", StartAt.EARLIEST);
 * for (TypedMessage<Order> message : billing.messages(Duration.ofSeconds(1))) {
 *     bill(message.value());
 *     billing.ack(message);
 * }
 * }</pre>
 *
 * <p>Each method does what the queue's method of the same name does, and throws the same exceptions; {@link #queue} has
 * all others. A value that the codec cannot encode throws {@link UncheckedIOException}, and nothing is stored. The codec
 * is called without a lock. The view has no state and is not closed: any number of threads and of views may use one
 * queue.
 *
 * @param <T> the values
 */
public final class TypedQueue<T> {
    private final MmapQueue queue;
    private final Codec<T> codec;

    private TypedQueue(MmapQueue queue, Codec<T> codec) {
        this.queue = queue;
        this.codec = codec;
    }

    /**
     * Makes a view of a queue.
     *
     * @param queue the queue, which the caller closes
     * @param codec converts the values
     * @param <T> the values
     * @return the view
     */
    public static <T> TypedQueue<T> of(MmapQueue queue, Codec<T> codec) {
        return new TypedQueue<>(Objects.requireNonNull(queue, "queue"), Objects.requireNonNull(codec, "codec"));
    }

    /** {@return the queue} */
    public MmapQueue queue() {
        return queue;
    }

    private byte[] encoded(T value) {
        try {
            return codec.encode(value);
        } catch (IOException e) {
            throw new UncheckedIOException("a value could not be encoded: " + e, e);
        }
    }

    private List<byte[]> encoded(List<? extends T> values) {
        List<byte[]> payloads = new ArrayList<>(values.size());
        for (T value : values) {
            payloads.add(encoded(value));
        }
        return payloads;
    }

    /**
     * Appends a record.
     *
     * @param value the value
     * @return the record's offset
     */
    public long push(T value) {
        return queue.push(encoded(value));
    }

    /**
     * Appends a record; waits for space.
     *
     * @param value the value
     * @param timeout the maximum wait
     * @return the record's offset
     * @throws InterruptedException if interrupted while waiting
     */
    public long push(T value, Duration timeout) throws InterruptedException {
        return queue.push(encoded(value), timeout);
    }

    /**
     * Appends a record if the ring has space for it.
     *
     * @param value the value
     * @return the record's offset; empty if the ring has no space
     */
    public OptionalLong offer(T value) {
        return queue.offer(encoded(value));
    }

    /**
     * Appends a record without waiting for space. The calling thread encodes the value.
     *
     * @param value the value
     * @return a future of the record's offset
     */
    public CompletableFuture<Long> pushAsync(T value) {
        return queue.pushAsync(encoded(value));
    }

    /**
     * Appends an atomic batch.
     *
     * @param values the values
     * @return the first record's offset; the others follow it
     */
    public long pushBatch(List<? extends T> values) {
        return queue.pushBatch(encoded(values));
    }

    /**
     * Appends an atomic batch; waits for space.
     *
     * @param values the values
     * @param timeout the maximum wait
     * @return the first record's offset; the others follow it
     * @throws InterruptedException if interrupted while waiting
     */
    public long pushBatch(List<? extends T> values, Duration timeout) throws InterruptedException {
        return queue.pushBatch(encoded(values), timeout);
    }

    /**
     * Reads a record. Moves no consumer.
     *
     * @param offset the record's offset
     * @return the record; its attempts are 0
     */
    public TypedMessage<T> get(long offset) {
        return new TypedMessage<>(queue.get(offset), codec);
    }

    /** {@return a view of the consumer {@code default}} */
    public TypedConsumer<T> consumer() {
        return new TypedConsumer<>(queue.consumer(), codec);
    }

    /**
     * Returns a view of a consumer; creates the consumer if it does not exist.
     *
     * @param name the consumer's name
     * @param start its position if this call creates it
     * @return the view
     */
    public TypedConsumer<T> consumer(String name, StartAt start) {
        return new TypedConsumer<>(queue.consumer(name, start), codec);
    }
}
