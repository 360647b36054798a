package org.mmapqueue;

/** Takes records without an allocation for each. */
@FunctionalInterface
public interface MessageHandler {

    /**
     * Called once for each record, in order. No lock is held: the handler may call anything, also ack, nack, seek, pop
     * and close of the consumer and the queue that call it. Records are copied out of the queue some at a time, so those
     * of a pop that was begun before such a call still come.
     *
     * <p>When it throws, this record and those after it are released, as if they had not been popped: they come again
     * before newer ones, and the attempt does not count.
     *
     * @param offset the record's offset
     * @param timestampMicros when it was pushed, µs since 1970; 0 when the queue stores no timestamps
     * @param buffer holds the record's bytes; valid during the call only
     * @param start index of the first byte
     * @param length number of bytes
     * @param attempts how often it was delivered, 1 at the first time; 0 when it is read without a consumer
     */
    void onMessage(long offset, long timestampMicros, byte[] buffer, int start, int length, int attempts);
}
