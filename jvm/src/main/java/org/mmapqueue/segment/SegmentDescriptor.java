package org.mmapqueue.segment;

/**
 * The header of a segment of version 2. All integers are little-endian; docs/reference/format.md is the specification.
 *
 * <pre>
 *  0  magic (8)
 *  8  format version (4)      12  flags (4), 0
 * 16  queue UUID, low 8 bytes
 * 24  segment id (8)
 * 32  epoch (8)
 * 40  base index (8): offset of the first record that starts here, or of the next one if none does
 * 48  base timestamp (8), µs since 1970: of the records that start here none is older
 * 56  first record (4): where the first record starts; 0 when none starts here
 * 60  CRC32C of bytes 0..59 (4)
 * </pre>
 */
final class SegmentDescriptor {
    static final int MAGIC = 0;
    static final int VERSION = 8;
    static final int UUID_LOW = 16;
    static final int ID = 24;
    static final int EPOCH = 32;
    static final int BASE_INDEX = 40;
    static final int BASE_TIMESTAMP = 48;
    static final int FIRST_RECORD = 56;
    static final int CHECKSUM = 60;
    static final int LENGTH = 64;

    /** "MMAPQSG2" in ASCII, first byte lowest. */
    static final long MAGIC_VALUE = 0x3247_5351_5041_4D4DL;

    private SegmentDescriptor() {}
}
