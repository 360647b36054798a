package org.mmapqueue.tool.verify;

import java.util.zip.CRC32C;
import org.mmapqueue.segment.RecordChecksum;

/**
 * Finds an upper half of a queue's UUID with which the checksums of its records are right, when it is stored nowhere
 * any more. A CRC is linear: the difference that the upper half makes to a record's checksum is the same for all
 * records. So one record decides, any solution fits them all, and of the 2^32 there are the one with the lower bits of
 * a random UUID of version 4 is as good as another.
 */
final class UuidSolver {
    /** The half that is tried: of version 4, all other bits 0. */
    static final long TRIED = 0x4000;

    private static final int BITS = 32;

    private UuidSolver() {}

    /**
     * Solves.
     *
     * @param difference a stored checksum, xor that of the same record with {@link #TRIED} in the upper half
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
        // Gauss: the images of the upper 32 bits are a basis, as a CRC tells all bursts of 32 bits from one another.
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
