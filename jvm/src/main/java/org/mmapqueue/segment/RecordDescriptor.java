package org.mmapqueue.segment;

/**
 * A record of version 2: a header of 8 bytes, a second word of 8 bytes, then the payload, padded to a multiple of 8.
 *
 * <pre>
 *   0                   1                   2                   3
 *   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *  +-----------------------------------------------------+-+-+-+-+-+
 *  |  length of the payload (27 bits)                    |B|C|T|P|I|
 *  +-----------------------------------------------------+-+-+-+-+-+
 *  |  CRC32C                                                       |
 *  +---------------------------------------------------------------+
 *  |  lowest bits of the offset (26)                     | and of   |
 *  |  the timestamp in ms since 1970 (38); 0 without T             |
 *  +---------------------------------------------------------------+
 *  |  payload … | zeros up to a multiple of 8                      |
 *
 *  I  reserved; never written by this version
 *  P  pad: the rest of this segment is unused
 *  T  the record has a timestamp
 *  C  gap: takes the place of lost records, see below
 *  B  batch: the next record is of the same batch
 * </pre>
 *
 * <p>The offset is the lowest one with these bits that is not below the base offset of the segment in which the header
 * is; the timestamp accordingly. So both follow from any lower bound that is near enough, when the header of the segment
 * is lost. The second word may be the first one of the next segment. A pad has no second word.
 *
 * <p>A gap takes the place of any number of lost records with consecutive offsets. It has no flag but C. Its second
 * word has the offset of the first lost record, and in place of the time the number of lost records, which may be 0. Its
 * length says which bytes it covers; they are not read. Its checksum is that of a record without a payload.
 *
 * <p>The publication rule: the header is one aligned 64-bit word, 0 before the record is published. It is stored last,
 * with release semantics; a reader that loads it with acquire semantics, and not as 0, may read the rest.
 */
public final class RecordDescriptor {
    /** Bytes of the header; records start at multiples of it. */
    public static final int HEADER = 8;
    /** Bytes of the smallest record: header and second word. */
    public static final int SMALLEST = 16;

    private static final int OFFSET_BITS = 26;
    /** The bits of an offset that a record stores: more than a segment has records. */
    public static final long OFFSET_MASK = (1L << OFFSET_BITS) - 1;
    /** The maximum number of lost records of one gap. */
    public static final long MAX_LOST = (1L << Long.SIZE - OFFSET_BITS) - 1;
    /** The maximum time between a segment's base time and a record's timestamp, in ms: longer ones are cut. */
    public static final long MAX_MILLIS = (1L << Long.SIZE - OFFSET_BITS) - 1;

    private static final int LENGTH_BITS = 27;
    /** The largest payload in bytes. */
    public static final int MAX_LENGTH = (1 << LENGTH_BITS) - 1;
    /** Flag: the next record is of the same batch. */
    public static final int BATCH = 1 << LENGTH_BITS;
    /** Flag: a gap, which takes the place of lost records. */
    public static final int CONTROL = 1 << 28;
    /** Flag: the record has a timestamp. */
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

    /** Bytes after the header: second word, payload and padding. */
    public static int bodyBytes(int lengthAndFlags) {
        return Long.BYTES + (length(lengthAndFlags) + 7 & ~7);
    }

    /**
     * The second word of a record.
     *
     * @param timestamp in µs since 1970, as {@link #storable} has returned it; 0 for none
     */
    public static long second(long offset, long timestamp) {
        return timestamp / 1000 << OFFSET_BITS | offset & OFFSET_MASK;
    }

    /** The timestamp that a record can have in a segment: at most {@link #MAX_MILLIS} after the base time. */
    public static long storable(long timestamp, long baseTime) {
        long millis = (timestamp - baseTime) / 1000;
        return baseTime + Math.min(millis, MAX_MILLIS) * 1000;
    }

    /** Whether these are the flags of a gap, and of nothing else. */
    public static boolean isGap(int lengthAndFlags) {
        return (lengthAndFlags & ~MAX_LENGTH) == CONTROL;
    }

    /**
     * The second word of a gap.
     *
     * @param first the offset of the first lost record
     * @param lost the number of lost records, 0 to {@link #MAX_LOST}
     */
    public static long gapSecond(long first, long lost) {
        return lost << OFFSET_BITS | first & OFFSET_MASK;
    }

    /** The number of lost records of a gap with this second word. */
    public static long lost(long second) {
        return second >>> OFFSET_BITS;
    }

    /**
     * The offset in a second word.
     *
     * @param least the base offset of the segment, or another lower bound
     */
    public static long offset(long second, long least) {
        return least + (second - least & OFFSET_MASK);
    }

    /**
     * The timestamp that a record's checksum covers, in µs since 1970. It is 0 for an intact record without a timestamp,
     * and the number of lost records for a gap.
     *
     * @param baseTime the base time of the segment, or another lower bound; a whole number of ms
     */
    public static long timestamp(int lengthAndFlags, long second, long baseTime) {
        long millis = second >>> OFFSET_BITS;
        return (lengthAndFlags & TIMESTAMPED) != 0 ? baseTime + (millis - baseTime / 1000 & MAX_MILLIS) * 1000 : millis;
    }
}
