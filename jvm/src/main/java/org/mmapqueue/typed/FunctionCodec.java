package org.mmapqueue.typed;

import java.io.IOException;
import java.util.Objects;

/** Two functions as a codec. */
record FunctionCodec<T>(Encoder<? super T> encoder, Decoder<? extends T> decoder) implements Codec<T> {
    FunctionCodec {
        Objects.requireNonNull(encoder, "encoder");
        Objects.requireNonNull(decoder, "decoder");
    }

    @Override
    public byte[] encode(T value) throws IOException {
        return encoder.encode(value);
    }

    @Override
    public T decode(byte[] data) throws IOException {
        return decoder.decode(data);
    }
}
