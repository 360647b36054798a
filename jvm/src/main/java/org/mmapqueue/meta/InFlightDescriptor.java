package org.mmapqueue.meta;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import org.mmapqueue.io.Mismatch;

/**
 * A snapshot of in-flight records, consumers/&lt;name&gt;.inflight.
 *
 * <pre>
 *  0  magic (8)
 *  8  queue UUID, least significant 8 bytes (8)
 * 16  offset of the first record (8)
 * 24  position after the last record (8)
 * 32  time of the snapshot, ms since 1970 (8)
 * 40  number of runs (4)
 * 44  CRC32C of bytes 0..43 and 48.. (4)
 * 48  runs, 16 bytes each: number of records (4), attempts (4), or -1 for acked, ms left of a delay (8)
 * </pre>
 */
public final class InFlightDescriptor {
    /** The suffix of the file names. */
    public static final String SUFFIX = ".inflight";
    /** "MMAPQIF3" in ASCII, first byte lowest. */
    public static final long MAGIC = 0x3346_4951_5041_4D4DL;

    public static final int UUID_LOW = 8;
    public static final int FIRST = 16;
    public static final int READING = 24;
    public static final int TIME = 32;
    public static final int COUNT = 40;
    public static final int CHECKSUM = 44;
    public static final int RUNS = 48;
    public static final int RUN_BYTES = 16;

    // Bytes within a run.
    public static final int RUN_RECORDS = 0;
    public static final int RUN_ATTEMPTS = 4;
    public static final int RUN_DELAY = 8;

    /** In place of attempts: the records are acked. */
    public static final int ACKED = -1;
    /** The bits of a number of attempts. */
    public static final int ATTEMPT_BITS = 14;
    /** The highest number of attempts that is counted. */
    public static final int MOST_ATTEMPTS = (1 << ATTEMPT_BITS) - 1;

    private InFlightDescriptor() {}

    /** The checksum of a file image, from its start to the buffer's limit. */
    public static int checksum(ByteBuffer image) {
        CRC32C crc = new CRC32C();
        crc.update(image.array(), 0, CHECKSUM);
        crc.update(image.array(), RUNS, image.limit() - RUNS);
        return (int) crc.getValue();
    }

    /**
     * Finds numbers that no consumer writes. The checksum does not show them: whoever can write the file can compute it.
     *
     * @param mostRecords the number of records that the ring has room for; lost ones, which count as acked, may be more
     * @return the first such run; null if there is none
     */
    public static Mismatch runFault(ByteBuffer image, long mostRecords) {
        long records = 0;
        for (int at = RUNS; at < image.limit(); at += RUN_BYTES) {
            int run = image.getInt(at + RUN_RECORDS);
            int times = image.getInt(at + RUN_ATTEMPTS);
            long delay = image.getLong(at + RUN_DELAY);
            records += times == ACKED ? 0 : run; // acked ones may be lost, and are not in the ring
            if (run < 1 || records > mostRecords || times < ACKED || times > MOST_ATTEMPTS || delay < 0) {
                return new Mismatch(
                        at,
                        run + " records with " + times + " attempts and a delay of " + delay + " ms",
                        "1.." + mostRecords + ", " + ACKED + ".." + MOST_ATTEMPTS + " and 0 or more");
            }
        }
        return null;
    }

    /**
     * The number of records that an image may have which are not acked.
     *
     * @param ring the number that the ring has room for
     */
    public static long mostRecords(ByteBuffer image, long ring) {
        return image.getLong(READING) < 0 ? 1 << 30 : ring; // the others are in the archive
    }

    /** The offset after the last record of an image. */
    public static long end(ByteBuffer image) {
        long end = image.getLong(FIRST);
        for (int at = RUNS; at < image.limit(); at += RUN_BYTES) {
            end += image.getInt(at + RUN_RECORDS);
        }
        return end;
    }
}
