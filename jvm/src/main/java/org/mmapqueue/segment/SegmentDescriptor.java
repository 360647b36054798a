package org.mmapqueue.segment;

/**
 * The header of a segment of version 2. All integers are little-endian; docs/reference/format.md is the specification.
 *
 * <pre>
 *  0  magic (4)
 *  4  epoch (4), 1 or more
 *  8  queue UUID (16)
 * 24  segment id (8)
 * 32  base offset (8): offset of the first record that starts here, or of the next one if none does
 * 40  base time (8), a whole number of ms in µs since 1970: no record that starts here is older
 * 48  segment size (4)
 * 52  capacity of the ring, in segments (4)
 * 56  first record (4): the byte at which the first record starts; 0 when none starts here
 * 60  CRC32C of bytes 0..59 (4)
 * </pre>
 */
final class SegmentDescriptor {
    static final int MAGIC = 0;
    static final int EPOCH = 4;
    static final int UUID_HIGH = 8;
    static final int UUID_LOW = 16;
    static final int ID = 24;
    static final int BASE_OFFSET = 32;
    static final int BASE_TIME = 40;
    static final int SEGMENT_SIZE = 48;
    static final int CAPACITY = 52;
    static final int FIRST_RECORD = 56;
    static final int CHECKSUM = 60;
    static final int LENGTH = 64;

    /** "MQS2" in ASCII, first byte lowest. */
    static final int MAGIC_VALUE = 0x3253_514D;
    /** The first four bytes of the magic of 1.0.0rc1, "MMAPQSG2". */
    static final int MAGIC_OF_RC1 = 0x5041_4D4D;

    private SegmentDescriptor() {}
}
