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
 *     i32 × (count + 1)  positions in the buffer: of each payload's first byte, and of the last one's end
 *     i64 × count        timestamps
 *     i64 × count        offsets
 *     i32 × count        attempts, if flag MIXED_ATTEMPTS is set; else all are those of the first
 * </pre>
 *
 * Positions, timestamps and offsets are columns in the layout of Apache Arrow, which Python uses without a copy. A
 * single record has no columns. If its payload does not fit, the buffer holds none of it, and {@link
 * SharedBuffer#fetch} returns it in parts. Pushed records have their payloads, then a column {@code u32 × count} of
 * lengths, and nothing else.
 */
final class SharedBufferLayout {
    static final int OFFSET = 0;
    static final int TIMESTAMP = 8;
    static final int COUNT = 16;
    static final int FLAGS = 20;
    static final int BYTES = 24;
    static final int ATTEMPTS = 28;
    static final int PAYLOAD = 64;

    /** Flag: at least one record has no timestamp. */
    static final int MISSING_TIMESTAMPS = 1;
    /** Flag: the buffer has a column of attempts. */
    static final int MIXED_ATTEMPTS = 2;

    /** Bytes of the buffer for each record of the record limit, which bounds the room for columns. */
    private static final int BYTES_PER_RECORD = 128;

    private static final int COLUMN_BYTES = 2 * Integer.BYTES + 2 * Long.BYTES;
    /** Alignment of the first two columns, and one more position than records. */
    private static final int PADDING = 2 * Long.BYTES + Integer.BYTES;

    private SharedBufferLayout() {}

    /** The maximum number of records in a buffer of this size. */
    static int recordLimit(int size) {
        return size / BYTES_PER_RECORD;
    }

    /** The maximum number of bytes of payload in a buffer of this size. */
    static int payloadLimit(int size) {
        return size - PAYLOAD - PADDING - recordLimit(size) * COLUMN_BYTES;
    }

    /** The next multiple of 8, at which a column begins. */
    static int aligned(int position) {
        return position + Long.BYTES - 1 & -Long.BYTES;
    }
}
