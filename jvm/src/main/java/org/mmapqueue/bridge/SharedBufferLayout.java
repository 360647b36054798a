package org.mmapqueue.bridge;

/**
 * The layout of a shared buffer. All numbers are in native byte order.
 *
 * <pre>
 *  0  i64  offset of the first record
 *  8  i64  its timestamp, µs since 1970; 0 = none
 * 16  i32  number of records
 * 20  i32  flags
 * 24  i32  bytes of payload of all records
 * 28  i32  attempts of the first record
 * 64  payloads, back to back; then, each at the next multiple of 8:
 *     u32 × count  lengths
 *     i64 × count  timestamps, if flag TIMESTAMPS is set; else none has one
 *     i64 × count  offsets, if flag OFFSETS is set; else they are consecutive
 *     i32 × count  attempts, if flag MIXED_ATTEMPTS is set; else all are those of the first
 * </pre>
 *
 * A single record has no columns. If its payload does not fit, the buffer holds none of it, and {@link
 * SharedBuffer#fetch} returns it in pieces. Pushed records have payloads and lengths alone.
 */
final class SharedBufferLayout {
    static final int OFFSET = 0;
    static final int TIMESTAMP = 8;
    static final int COUNT = 16;
    static final int FLAGS = 20;
    static final int BYTES = 24;
    static final int ATTEMPTS = 28;
    static final int PAYLOAD = 64;

    /** Flag: a column of timestamps. */
    static final int TIMESTAMPS = 1;
    /** Flag: a column of offsets. */
    static final int OFFSETS = 2;
    /** Flag: a column of attempts. */
    static final int MIXED_ATTEMPTS = 4;

    /** Bytes of the buffer for each record of the record limit: bounds the room that columns need. */
    private static final int BYTES_PER_RECORD = 128;

    private static final int COLUMN_BYTES = 2 * Integer.BYTES + 2 * Long.BYTES;
    private static final int PADDING = 2 * Long.BYTES;

    private SharedBufferLayout() {}

    /** The most records in a buffer of this size. */
    static int recordLimit(int size) {
        return size / BYTES_PER_RECORD;
    }

    /** The most bytes of payload in a buffer of this size. */
    static int payloadLimit(int size) {
        return size - PAYLOAD - PADDING - recordLimit(size) * COLUMN_BYTES;
    }

    /** The next multiple of 8: where a column begins. */
    static int aligned(int position) {
        return position + Long.BYTES - 1 & -Long.BYTES;
    }
}
