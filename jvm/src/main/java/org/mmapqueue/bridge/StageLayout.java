package org.mmapqueue.bridge;

/**
 * What lies where in a stage. All numbers are in the byte order of the machine.
 *
 * <pre>
 *  0  i64  offset of the first record
 *  8  i64  its timestamp, µs since 1970; 0 = none
 * 16  i32  number of records
 * 20  i32  flags
 * 24  i32  bytes of payload of all records
 * 28  i32  times that the first record has been handed out
 * 64  payloads, back to back; then, each at the next multiple of 8:
 *     u32 × count  lengths
 *     i64 × count  timestamps, where flag TIMESTAMPS says so
 *     i64 × count  offsets, where flag OFFSETS says so; else they follow each other
 *     i32 × count  times that each has been handed out, where flag MIXED_ATTEMPTS says so; else all as the first
 * </pre>
 *
 * A record on its own has no columns: the header says it all. One whose payload is larger than the room in the stage
 * has none of it there: {@link Stage#fetch} gives it piece by piece. On the way in, the header is not used.
 */
final class StageLayout {
    static final int OFFSET = 0;
    static final int TIMESTAMP = 8;
    static final int COUNT = 16;
    static final int FLAGS = 20;
    static final int BYTES = 24;
    static final int ATTEMPTS = 28;
    static final int PAYLOAD = 64;

    /** There is a column of timestamps. */
    static final int TIMESTAMPS = 1;
    /** There is a column of offsets. */
    static final int OFFSETS = 2;
    /** There is a column of attempts. */
    static final int MIXED_ATTEMPTS = 4;

    /** A stage takes one record for so many of its bytes: room for the columns is set aside. */
    private static final int BYTES_PER_RECORD = 128;

    private static final int COLUMN_BYTES = 2 * Integer.BYTES + 2 * Long.BYTES;
    private static final int PADDING = 2 * Long.BYTES;

    private StageLayout() {}

    /** The most records that a stage of this size takes at once. */
    static int recordLimit(int size) {
        return size / BYTES_PER_RECORD;
    }

    /** The most bytes of payload that a stage of this size takes at once. */
    static int payloadLimit(int size) {
        return size - PAYLOAD - PADDING - recordLimit(size) * COLUMN_BYTES;
    }

    /** Where the next column begins. */
    static int aligned(int position) {
        return position + Long.BYTES - 1 & -Long.BYTES;
    }
}
