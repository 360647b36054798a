package org.mmapqueue;

/**
 * A record that was read.
 *
 * @param offset its number in the queue: 0, 1, 2, …; what ack takes
 * @param timestampMicros when it was pushed, µs since 1970; 0 when the queue stores no timestamps
 * @param data its bytes; the caller's own
 * @param attempts how often it has been handed out, 1 at the first time; 0 when it was read without a consumer
 */
public record Message(long offset, long timestampMicros, byte[] data, int attempts) {}
