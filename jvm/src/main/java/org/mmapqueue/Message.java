package org.mmapqueue;

/**
 * A record that was read.
 *
 * @param offset its offset: 0, 1, 2, …
 * @param timestampMicros when it was pushed, µs since 1970; 0 when the queue stores no timestamps
 * @param data the payload, in an array of its own
 * @param attempts the number of deliveries, this one included; 0 for a record read without a consumer
 */
public record Message(long offset, long timestampMicros, byte[] data, int attempts) {}
