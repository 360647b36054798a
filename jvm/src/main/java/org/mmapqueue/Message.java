package org.mmapqueue;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Optional;

/**
 * A record that was read. Two messages are equal if offset, timestamp, attempts and payload bytes are equal.
 *
 * @param offset the record's offset: 0, 1, 2, …
 * @param timestampMicros time of the push, in µs since 1970; 0 when the queue stores no timestamps
 * @param data the payload, in an array of its own; it must not be changed while the message is a key of a map
 * @param attempts the number of deliveries, this one included; 0 for a record read without a consumer
 */
public record Message(long offset, long timestampMicros, byte[] data, int attempts) {
    private static final int SHOWN_BYTES = 32;

    /** {@return when the record was pushed; empty when the queue stores no timestamps} */
    public Optional<Instant> timestamp() {
        return timestampMicros == 0
                ? Optional.empty()
                : Optional.of(Instant.EPOCH.plus(timestampMicros, ChronoUnit.MICROS));
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Message message
                && offset == message.offset
                && timestampMicros == message.timestampMicros
                && attempts == message.attempts
                && Arrays.equals(data, message.data);
    }

    @Override
    public int hashCode() {
        return Long.hashCode(offset) * 31 + Arrays.hashCode(data);
    }

    /** {@return the components as text, the payload as its length and its first 32 bytes in hexadecimal digits} */
    @Override
    public String toString() {
        int shown = Math.min(data.length, SHOWN_BYTES);
        return "Message[offset=" + offset + ", timestamp="
                + timestamp().map(Instant::toString).orElse("none")
                + ", attempts=" + attempts + ", data=" + data.length + " bytes "
                + HexFormat.of().formatHex(data, 0, shown) + (shown < data.length ? "…" : "") + "]";
    }
}
