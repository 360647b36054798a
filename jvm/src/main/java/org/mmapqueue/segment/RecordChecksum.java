package org.mmapqueue.segment;

import java.util.UUID;
import java.util.zip.CRC32C;

/**
 * The checksum of a record: CRC32C of the payload, XOR a hash of the record's identity, which is its queue, offset,
 * timestamp, length and flags:
 *
 * <pre>
 *   x := (offset + low half of the UUID) · M                             modulo 2⁶⁴
 *   x := (x XOR x &gt;&gt;&gt; 32 XOR timestamp) · M + high half of the UUID
 *   x := (x XOR x &gt;&gt;&gt; 32 XOR length and flags) · M
 *   hash := upper half of x
 * </pre>
 *
 * <p>It covers what the record is, not its place: the record has the same checksum in each copy. An older record at the
 * same byte has a lower offset, and fails the check. The hash takes a few cycles; a CRC of the identity would cost a third
 * of that of a small payload. The appender computes the payload's part before it locks the log end. Immutable.
 */
public final class RecordChecksum {
    /** Odd, with its bits spread: 2⁶⁴ divided by the golden ratio. */
    private static final long M = 0x9E37_79B9_7F4A_7C15L;

    private final long high;
    private final long low;

    /** Computes checksums for the records of one queue. */
    public RecordChecksum(UUID queue) {
        high = queue.getMostSignificantBits();
        low = queue.getLeastSignificantBits();
    }

    /**
     * Completes a checksum.
     *
     * @param crc has been run over the payload
     * @param timestamp in µs since 1970; 0 for none
     * @return the checksum as it is stored, never 0
     */
    public int finish(CRC32C crc, long offset, long timestamp, int lengthAndFlags) {
        return stored((int) crc.getValue() ^ hash(offset, timestamp, lengthAndFlags & 0xFFFF_FFFFL));
    }

    /** The checksum of a pad that is valid in this epoch: it has no offset, its identity is its place. */
    public int ofPad(long segmentId, long epoch, int at, int lengthAndFlags) {
        return stored(hash(segmentId, epoch, (long) at << Integer.SIZE | lengthAndFlags & 0xFFFF_FFFFL));
    }

    private int hash(long first, long second, long third) {
        long x = (first + low) * M;
        x = (x ^ x >>> Integer.SIZE ^ second) * M + high;
        x = (x ^ x >>> Integer.SIZE ^ third) * M;
        return (int) (x >>> Integer.SIZE);
    }

    private static int stored(int value) {
        return value == 0 ? 0xFFFF_FFFF : value;
    }

    /** The header of a pad that is valid in this epoch. */
    public long padHeader(long segmentId, long epoch, int at) {
        int lengthAndFlags = RecordDescriptor.PAD | RecordDescriptor.length((int) epoch);
        return RecordDescriptor.header(lengthAndFlags, ofPad(segmentId, epoch, at, lengthAndFlags));
    }

    /**
     * The header of a gap.
     *
     * @param first the offset of the first lost record
     * @param lost the number of lost records, 0 to {@link RecordDescriptor#MAX_LOST}
     * @param body bytes that the gap covers after its header, the second word included; a multiple of 8
     */
    public long gapHeader(long first, long lost, int body) {
        int lengthAndFlags = RecordDescriptor.CONTROL | body - Long.BYTES;
        return RecordDescriptor.header(lengthAndFlags, finish(new CRC32C(), first, lost, lengthAndFlags));
    }
}
