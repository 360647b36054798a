package org.mmapqueue;

/**
 * A record as the log stores it, with all inputs of its checksum and its second word. The payload is valid only during the call of the
 * {@link StoredRecordSink}.
 *
 * @param offset the record's offset
 * @param baseOffset the base offset of the segment in which the record starts
 * @param baseTime the base time of that segment, in µs since 1970
 * @param lengthAndFlags the lower half of the header
 * @param checksum the upper half of the header
 * @param timestampMicros time of the push, in µs since 1970; 0 when it has no timestamp
 * @param array holds the payload
 * @param from index of the payload's first byte
 * @param length bytes of the payload; 0 for a tombstone
 */
public record StoredRecord(
        long offset,
        long baseOffset,
        long baseTime,
        int lengthAndFlags,
        int checksum,
        long timestampMicros,
        byte[] array,
        int from,
        int length) {}
