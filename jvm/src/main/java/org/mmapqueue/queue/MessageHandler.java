package org.mmapqueue.queue;

/** Takes records out of a consumer without an allocation for each. */
@FunctionalInterface
public interface MessageHandler {

    /**
     * Called once for each record, in order. A record whose handler throws counts as not popped. The handler must not
     * call the consumer that calls it.
     *
     * @param offset the record's number in the queue
     * @param timestampMicros when it was pushed, µs since 1970; 0 when the queue stores no timestamps
     * @param buffer holds the record's bytes; valid during the call only
     * @param start index of the first byte
     * @param length number of bytes
     * @param attempts how often it has been handed out, 1 at the first time
     */
    void onMessage(long offset, long timestampMicros, byte[] buffer, int start, int length, int attempts);
}
