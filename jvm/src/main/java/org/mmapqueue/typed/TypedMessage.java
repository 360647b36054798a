package org.mmapqueue.typed;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.Optional;
import org.mmapqueue.Message;

/**
 * A record whose payload is an encoded value. Immutable. {@link #value} decodes, not the pop, so a payload that cannot
 * be decoded stops no consumer: it can be acked, requeued, or moved elsewhere as bytes.
 *
 * @param <T> the values
 */
public final class TypedMessage<T> {
    private final Message message;
    private final Codec<T> codec;

    TypedMessage(Message message, Codec<T> codec) {
        this.message = message;
        this.codec = codec;
    }

    /**
     * Decodes the payload; each call decodes it again.
     *
     * @return the value
     * @throws UncheckedIOException if the codec throws an IOException
     */
    public T value() {
        try {
            return codec.decode(message.data());
        } catch (IOException e) {
            throw new UncheckedIOException("the record at offset " + offset() + " could not be decoded: " + e, e);
        }
    }

    /** {@return the record itself} */
    public Message message() {
        return message;
    }

    /** {@return the record's offset: 0, 1, 2, …} */
    public long offset() {
        return message.offset();
    }

    /** {@return when the record was pushed; empty when the queue stores no timestamps} */
    public Optional<Instant> timestamp() {
        return message.timestamp();
    }

    /** {@return the number of deliveries, this one included; 0 for a record read without a consumer} */
    public int attempts() {
        return message.attempts();
    }

    /** {@return the text of the record; the value is not decoded} */
    @Override
    public String toString() {
        return message.toString();
    }
}
