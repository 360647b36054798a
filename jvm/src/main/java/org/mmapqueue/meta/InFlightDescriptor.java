package org.mmapqueue.meta;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/**
 * A file of in-flight records, consumers/&lt;name&gt;.inflight.
 *
 * <pre>
 *  0  magic (8)
 *  8  queue UUID, least significant 8 bytes (8)
 * 16  committed position (8)
 * 24  position after the last of these records (8)
 * 32  number of runs (4)
 * 36  CRC32C of bytes 0..35 and 40.. (4)
 * 40  runs, 8 bytes each: number of records (4), times popped (4), or -1 for acked; the first begins at committed
 * </pre>
 */
public final class InFlightDescriptor {
    /** The suffix of the file names. */
    public static final String SUFFIX = ".inflight";
    /** "MMAPQIF2" in ASCII, first byte lowest. */
    public static final long MAGIC = 0x3246_4951_5041_4D4DL;

    public static final int UUID_LOW = 8;
    public static final int COMMITTED = 16;
    public static final int READING = 24;
    public static final int COUNT = 32;
    public static final int CHECKSUM = 36;
    public static final int RUNS = 40;
    public static final int RUN_BYTES = 8;

    private InFlightDescriptor() {}

    /** The checksum of a file image, from its start to the buffer's limit. */
    public static int checksum(ByteBuffer image) {
        CRC32C crc = new CRC32C();
        crc.update(image.array(), 0, CHECKSUM);
        crc.update(image.array(), RUNS, image.limit() - RUNS);
        return (int) crc.getValue();
    }
}
