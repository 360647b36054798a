package org.mmapqueue.tool.verify;

import java.util.zip.CRC32C;
import org.mmapqueue.segment.RecordChecksum;

/**
 * Finds an upper half of a queue's UUID that makes the checksums of all records right.
 *
 * <p>A CRC is linear: the upper half changes the checksum of each record by the same difference. So one record decides,
 * and each of the 2^32 solutions fits all records. This class chooses the one with the version bits of a UUID of
 * version 4.
 */
final class UuidSolver {
    /** The trial value of the upper half: version 4, all other bits 0. */
    static final long TRIED = 0x4000;

    private static final int BITS = 32;

    private UuidSolver() {}

    /**
     * Returns the upper half.
     *
     * @param difference a record's stored checksum, xor its checksum with {@link #TRIED}
     */
    static long solve(int difference) {
        int[] images = new int[BITS];
        long[] sources = new long[BITS];
        for (int i = 0; i < BITS; i++) {
            sources[i] = 1L << BITS + i;
            images[i] = checksum(TRIED ^ sources[i]) ^ checksum(TRIED);
        }
        long solution = TRIED;
        int left = difference;
        // Gaussian elimination. The images of the upper 32 bits form a basis, because a CRC detects all bursts of 32
        // bits.
        for (int row = 0; row < BITS; row++) {
            int pivot = row;
            while ((images[pivot] >>> row & 1) == 0) {
                pivot++;
            }
            int image = images[pivot];
            long source = sources[pivot];
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
            if ((left >>> row & 1) != 0) {
                left ^= image;
                solution ^= source;
            }
        }
        return solution;
    }

    private static int checksum(long uuidHigh) {
        return new RecordChecksum(uuidHigh, 0).finish(new CRC32C(), 0, 0, 0, 0, 0);
    }
}
