package org.mmapqueue.typed;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * Converts values to payloads and back. Any number of threads may call it at once.
 *
 * <pre>{@code
 * Codec<Order> codec = Codec.of(json::writeValueAsBytes, data -> json.readValue(data, Order.class));
 * }</pre>
 *
 * @param <T> the values
 */
public interface Codec<T> {

    /**
     * Encodes a value.
     *
     * @param value the value
     * @return its payload, which must not change afterwards
     * @throws IOException if the value cannot be encoded
     */
    byte[] encode(T value) throws IOException;

    /**
     * Decodes a payload.
     *
     * @param data the payload
     * @return its value
     * @throws IOException if the payload is not one of such a value
     */
    T decode(byte[] data) throws IOException;

    /**
     * The first half of a codec.
     *
     * @param <T> the values
     */
    @FunctionalInterface
    interface Encoder<T> {
        /**
         * Encodes a value.
         *
         * @param value the value
         * @return its payload
         * @throws IOException if the value cannot be encoded
         */
        byte[] encode(T value) throws IOException;
    }

    /**
     * The second half of a codec.
     *
     * @param <T> the values
     */
    @FunctionalInterface
    interface Decoder<T> {
        /**
         * Decodes a payload.
         *
         * @param data the payload
         * @return its value
         * @throws IOException if the payload is not one of such a value
         */
        T decode(byte[] data) throws IOException;
    }

    /**
     * Makes a codec of two functions.
     *
     * @param encoder encodes values
     * @param decoder decodes payloads
     * @param <T> the values
     * @return the codec
     */
    static <T> Codec<T> of(Encoder<? super T> encoder, Decoder<? extends T> decoder) {
        return new FunctionCodec<>(encoder, decoder);
    }

    /** {@return the codec of texts in UTF-8; malformed bytes are decoded as U+FFFD} */
    static Codec<String> utf8() {
        return of(text -> text.getBytes(StandardCharsets.UTF_8), data -> new String(data, StandardCharsets.UTF_8));
    }
}
