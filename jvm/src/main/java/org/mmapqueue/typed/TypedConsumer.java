package org.mmapqueue.typed;

import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;

/**
 * A view of a {@link Consumer} that pops values. Each method does what the consumer's method of the same name does, and
 * throws the same exceptions; {@link #consumer} has all others. The view has no state: any number of threads and of
 * views may use one consumer.
 *
 * @param <T> the values
 */
public final class TypedConsumer<T> {
    private final Consumer consumer;
    private final Codec<T> codec;

    TypedConsumer(Consumer consumer, Codec<T> codec) {
        this.consumer = consumer;
        this.codec = codec;
    }

    /** {@return the consumer, which the caller may close} */
    public Consumer consumer() {
        return consumer;
    }

    /**
     * Returns a record that was popped by {@link #consumer} as one of this view, for instance that of a future of
     * {@link Consumer#popAsync}.
     *
     * @param message the record
     * @return the same record with its value
     */
    public TypedMessage<T> typed(Message message) {
        return new TypedMessage<>(message, codec);
    }

    private @Nullable TypedMessage<T> orNull(@Nullable Message message) {
        return message == null ? null : typed(message);
    }

    /** {@return the next record, popped; null if no record is available} */
    public @Nullable TypedMessage<T> poll() {
        return orNull(consumer.poll());
    }

    /**
     * Pops the next record; waits until one is available.
     *
     * @param timeout the maximum wait
     * @return the record; null if no record was available within the timeout
     * @throws InterruptedException if interrupted; nothing was popped
     */
    public @Nullable TypedMessage<T> poll(Duration timeout) throws InterruptedException {
        return orNull(consumer.poll(timeout));
    }

    /**
     * Pops the next record; waits until one is available.
     *
     * @param timeout the maximum wait
     * @return the record
     * @throws InterruptedException if interrupted; nothing was popped
     * @throws org.mmapqueue.errors.EmptyException if no record was available within the timeout
     */
    public TypedMessage<T> pop(Duration timeout) throws InterruptedException {
        return typed(consumer.pop(timeout));
    }

    /**
     * Pops several records; waits for the first one only.
     *
     * @param maxRecords the maximum number of records
     * @param maxBytes the maximum number of payload bytes; a larger first record is popped nevertheless
     * @param timeout the maximum wait for the first record
     * @return the records, in order; empty if none was available within the timeout
     * @throws InterruptedException if interrupted; nothing was popped
     */
    public List<TypedMessage<T>> popBatch(int maxRecords, long maxBytes, Duration timeout) throws InterruptedException {
        return consumer.popBatch(maxRecords, maxBytes, timeout).stream()
                .map(this::typed)
                .toList();
    }

    /**
     * Pops records one by one, for a loop.
     *
     * @param timeout the maximum wait for each record; zero ends the loop at the log end
     * @return the records
     */
    public Iterable<TypedMessage<T>> messages(Duration timeout) {
        Iterable<Message> messages = consumer.messages(timeout);
        return () -> {
            Iterator<Message> each = messages.iterator();
            return new Iterator<>() {
                @Override
                public boolean hasNext() {
                    return each.hasNext();
                }

                @Override
                public TypedMessage<T> next() {
                    return typed(each.next());
                }
            };
        };
    }

    /** {@return the next record, which is not popped; null if no record is available} */
    public @Nullable TypedMessage<T> peek() {
        return orNull(consumer.peek());
    }

    /**
     * Acknowledges one record.
     *
     * @param message the record
     */
    public void ack(TypedMessage<T> message) {
        consumer.ack(message.offset());
    }

    /**
     * Acknowledges every record up to and including one.
     *
     * @param message the last record to acknowledge
     */
    public void ackUpTo(TypedMessage<T> message) {
        consumer.ackUpTo(message.offset());
    }

    /**
     * Negative acknowledgement: requeues a record for redelivery, before newer records.
     *
     * @param message the record
     */
    public void nack(TypedMessage<T> message) {
        consumer.nack(message.offset());
    }

    /**
     * Negative acknowledgement with a delay.
     *
     * @param message the record
     * @param delay the time before the record is redelivered
     */
    public void nack(TypedMessage<T> message, Duration delay) {
        consumer.nack(message.offset(), delay);
    }
}
