package org.mmapqueue;

/**
 * A record or a gap as the log stores it, with all inputs of its checksum and its second word. The payload is valid
 * only during the call of the {@link StoredRecordSink}.
 *
 * @param offset the record's offset; of a gap, that of the first lost record
 * @param baseOffset the base offset of the segment in which the record starts
 * @param baseTime the base time of that segment, in µs since 1970
 * @param lengthAndFlags the lower half of the header
 * @param checksum the upper half of the header
 * @param timestampMicros time of the push, in µs since 1970; 0 when it has no timestamp
 * @param lost of a gap, the number of lost records; 0 for a record
 * @param array holds the payload
 * @param from index of the payload's first byte
 * @param length bytes of the payload; 0 for a gap
 */
public record StoredRecord(
        long offset,
        long baseOffset,
        long baseTime,
        int lengthAndFlags,
        int checksum,
        long timestampMicros,
        long lost,
        byte[] array,
        int from,
        int length) {
    /** {@return whether this is a gap: it stands for the lost records from {@link #offset} to {@link #end}} */
    public boolean isGap() {
        return lost > 0;
    }

    /** {@return the offset of the next record} */
    public long end() {
        return offset + Math.max(1, lost);
    }
}
