package org.mmapqueue.segment;

/**
 * A record of version 2: one 8-byte header, then what it describes, padded to a multiple of 8.
 *
 * <pre>
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +-----------------------------------------------------+-+-+-+-+-+
 *  |  length of the payload (27 bits)                    |B|C|T|P|I|
 *  +-----------------------------------------------------+-+-+-+-+-+
 *  |  CRC32C                                                       |
 *  +---------------------------------------------------------------+
 *  |  timestamp, µs since 1970 (8 bytes), with T only              |
 *  +---------------------------------------------------------------+
 *  |  payload … | zeros up to a multiple of 8                      |
 *
 *  I  reserved; never written by this version
 *  P  pad: the rest of this segment is unused
 *  T  a timestamp follows
 *  C  control: not for consumers
 *  B  batch: the next record is of the same batch
 * </pre>
 *
 * <p>The publication rule: the header is one aligned 64-bit word, 0 before the record is published. It is stored last,
 * with release semantics; a reader that loads it with acquire semantics, and not as 0, may read the rest.
 */
public final class RecordDescriptor {
    /** Bytes of the header; records start at multiples of it. */
    public static final int HEADER = 8;

    private static final int LENGTH_BITS = 27;
    /** The largest payload in bytes. */
    public static final int MAX_LENGTH = (1 << LENGTH_BITS) - 1;
    /** Flag: the next record is of the same batch. */
    public static final int BATCH = 1 << LENGTH_BITS;
    /** Flag: not for consumers. */
    public static final int CONTROL = 1 << 28;
    /** Flag: a timestamp follows the header. */
    public static final int TIMESTAMPED = 1 << 29;
    /** Flag: the rest of the segment is unused. */
    public static final int PAD = 1 << 30;

    public static final int RESERVED = 1 << 31;

    private RecordDescriptor() {}

    public static long header(int lengthAndFlags, int checksum) {
        return (long) checksum << 32 | lengthAndFlags & 0xFFFF_FFFFL;
    }

    /** The lower half of a header word. */
    public static int lengthAndFlags(long header) {
        return (int) header;
    }

    /** The payload's length in bytes. */
    public static int length(int lengthAndFlags) {
        return lengthAndFlags & MAX_LENGTH;
    }

    /** The flags alone, for messages: B is the lowest bit. */
    public static int flags(int lengthAndFlags) {
        return lengthAndFlags >>> LENGTH_BITS;
    }

    /**
     * The epoch of a pad. A recovery writes the low bits of its epoch into the pad's length; the pad is valid only if
     * that recovery completed.
     *
     * @param segmentEpoch the epoch of the segment, which is not higher
     */
    public static long padEpoch(long segmentEpoch, int lengthAndFlags) {
        return segmentEpoch + (length(lengthAndFlags) - segmentEpoch & MAX_LENGTH);
    }

    /** The upper half of a header word. */
    public static int checksum(long header) {
        return (int) (header >>> 32);
    }

    /** Bytes after the header: timestamp, payload and padding. */
    public static int bodyBytes(int lengthAndFlags) {
        int stamp = (lengthAndFlags & TIMESTAMPED) != 0 ? 8 : 0;
        return stamp + (length(lengthAndFlags) + 7 & ~7);
    }
}
