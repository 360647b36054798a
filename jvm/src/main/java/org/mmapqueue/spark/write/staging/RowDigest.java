package org.mmapqueue.spark.write.staging;

import java.util.zip.CRC32C;

/**
 * An order-independent checksum of rows: the sum, modulo 2⁶⁴, of a 64-bit value for each row, mixed from the CRC32C and
 * the length of its bytes. Sums of parts add up to the sum of the whole. Not thread-safe.
 */
public final class RowDigest {
    private final CRC32C crc = new CRC32C();
    private long sum;

    public void add(byte[] bytes, int from, int length) {
        crc.reset();
        crc.update(bytes, from, length);
        sum += mix(crc.getValue() << 32 | length & 0xFFFF_FFFFL);
    }

    public long sum() {
        return sum;
    }

    // The finalizer of MurmurHash3. CRCs are linear, so sums of plain CRCs would not detect bits swapped between rows.
    private static long mix(long value) {
        long mixed = (value ^ value >>> 33) * 0xFF51_AFD7_ED55_8CCDL;
        mixed = (mixed ^ mixed >>> 33) * 0xC4CE_B9FE_1A85_EC53L;
        return mixed ^ mixed >>> 33;
    }
}
