package org.mmapqueue.tool.scan;

import java.util.UUID;
import java.util.zip.CRC32C;
import org.mmapqueue.segment.RecordChecksum;

/**
 * Finds the timestamps that make the checksum of a record right.
 *
 * <p>A CRC is linear: another timestamp changes each checksum by the same difference. The lower 32 bits of a timestamp
 * form a basis, because a CRC detects all bursts of 32 bits. So each value of the upper half has one solution.
 */
final class TimestampSolver {
    private static final int BITS = 32;
    private static final RecordChecksum CHECKSUM = new RecordChecksum(new UUID(0, 0));

    /** By row of the reduced basis: the image, which has that bit and no lower one, and the bits that make it. */
    private final int[] images = new int[BITS];

    private final int[] sources = new int[BITS];

    TimestampSolver() {
        for (int i = 0; i < BITS; i++) {
            sources[i] = 1 << i;
            images[i] = difference(1L << i);
        }
        for (int row = 0; row < BITS; row++) {
            int pivot = row;
            while ((images[pivot] >>> row & 1) == 0) {
                pivot++;
            }
            int image = images[pivot];
            int source = sources[pivot];
            images[pivot] = images[row];
            sources[pivot] = sources[row];
            images[row] = image;
            sources[row] = source;
            for (int i = row + 1; i < BITS; i++) {
                if ((images[i] >>> row & 1) != 0) {
                    images[i] ^= image;
                    sources[i] ^= source;
                }
            }
        }
    }

    /**
     * Returns the timestamp.
     *
     * @param tried a timestamp
     * @param difference the record's stored checksum, xor its checksum with that timestamp
     * @param high the upper half of the solution
     */
    long solve(long tried, int difference, int high) {
        long upper = ((long) high << BITS) ^ (tried & -1L << BITS);
        int left = difference ^ difference(upper);
        int lower = 0;
        for (int row = 0; row < BITS; row++) {
            if ((left >>> row & 1) != 0) {
                left ^= images[row];
                lower ^= sources[row];
            }
        }
        return tried ^ upper ^ lower & 0xFFFF_FFFFL;
    }

    private static int difference(long bits) {
        return checksum(bits) ^ checksum(0);
    }

    private static int checksum(long timestamp) {
        return CHECKSUM.finish(new CRC32C(), 0, timestamp, 0);
    }
}
