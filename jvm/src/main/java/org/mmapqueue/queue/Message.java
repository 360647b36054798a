package org.mmapqueue.queue;

/**
 * A record that was popped.
 *
 * @param offset its number in the queue: 0, 1, 2, …; what ack takes
 * @param timestampMicros when it was pushed, µs since 1970; 0 when the queue stores no timestamps
 * @param data its bytes; the caller's own
 * @param attempts how often it has been handed out, 1 at the first time
 */
public record Message(long offset, long timestampMicros, byte[] data, int attempts) {
}
