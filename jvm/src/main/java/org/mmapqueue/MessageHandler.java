package org.mmapqueue;

/** Receives records without an allocation for each. */
@FunctionalInterface
public interface MessageHandler {

    /**
     * Called once for each record, in order, without a lock: the handler may call anything, also ack, nack, seek, pop
     * and close of the calling consumer and queue. Records are copied out of the queue in batches, so after such a call
     * a running pop still delivers the rest of its batch.
     *
     * <p>If the handler throws, this record and those after it are released: they are redelivered before newer records,
     * and this delivery does not count as an attempt.
     *
     * @param offset the record's offset
     * @param timestampMicros time of the push, in µs since 1970; 0 when the queue stores no timestamps
     * @param buffer holds the record's bytes; valid during the call only
     * @param start index of the first byte
     * @param length number of bytes
     * @param attempts the number of deliveries, this one included; 0 for a record read without a consumer
     */
    void onMessage(long offset, long timestampMicros, byte[] buffer, int start, int length, int attempts);
}
