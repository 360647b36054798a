package org.mmapqueue.archive.run;

/**
 * Computes the CRC32C of bytes in two parts from the CRCs of the parts. With a CRC as a polynomial over GF(2), bits
 * reflected: crc(AB) = crc(A) · x^(8 · bytes of B) + crc(B), modulo the polynomial of the CRC.
 */
public final class CrcCombination {
    private static final int POLYNOMIAL = 0x82F6_3B78;
    private static final int ONE = 1 << 31;

    /** Element k is x to the power of 2^k; enough for 8 × any long. */
    private static final int[] SQUARES = squares();

    private CrcCombination() {}

    private static int[] squares() {
        int[] squares = new int[Long.SIZE + 3];
        squares[0] = ONE >>> 1;
        for (int k = 1; k < squares.length; k++) {
            squares[k] = product(squares[k - 1], squares[k - 1]);
        }
        return squares;
    }

    /**
     * Returns the CRC32C of A followed by B.
     *
     * @param first the CRC32C of A
     * @param second the CRC32C of B
     * @param bytes the length of B, 0 or more
     */
    public static int of(int first, int second, long bytes) {
        int power = ONE;
        int k = 3;
        for (long left = bytes; left != 0; left >>>= 1) {
            if ((left & 1) != 0) {
                power = product(SQUARES[k], power);
            }
            k++;
        }
        return product(power, first) ^ second;
    }

    private static int product(int a, int b) {
        int sum = 0;
        int factor = b;
        for (int bit = ONE; bit != 0; bit >>>= 1) {
            if ((a & bit) != 0) {
                sum ^= factor;
            }
            factor = (factor & 1) != 0 ? factor >>> 1 ^ POLYNOMIAL : factor >>> 1;
        }
        return sum;
    }
}
