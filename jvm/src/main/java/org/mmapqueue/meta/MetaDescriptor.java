package org.mmapqueue.meta;

/**
 * The layout of meta.dat. All integers are little-endian; docs/reference/format.md is the specification.
 *
 * <pre>
 *   0  version (8)                      both versions; a v1 file ends at byte 80
 *   8  writing    id (8), offset (8)    v1: the cursors; v2: a readable mirror of
 *  24  watermark  id (8), offset (8)        the first two, refreshed at flush and close
 *  40  committed  id (8), offset (8)    v1 only
 *  56  reading    id (8), offset (8)    v1 only
 *  72  capacity in segments (8)
 *  80  magic (8)                        v2 only, from here
 *  88  queue UUID (16)
 * 104  segment size (8)
 * 112  flags (4), 0 (4)
 * 120  max event size (8)
 * 128  created at, µs since 1970 (8)
 * 136  epoch (8)
 * 144  CRC32C of bytes 72..143 (4)
 * 256  clean (8): {@link #CLEAN} after a close, 0 while a writer has the queue open
 * 264  closed at (8), closed time (8)  offset of the next record, and newest timestamp, at the close
 * 280  CRC32C of writing, closed at and closed time (8)
 * 512  writing   (8)                   the live cursors, each alone on its cache line,
 * 576  watermark (8)                   each one absolute position
 * 832  reclaimed (8), reclaiming (8), intact (8)
 * 896  consumer changes (8)            counts
 * 912  held from (8)                  log start while no consumer exists
 * 960  retain, ms (8), bytes (8)       of the writer that opened last
 * 984  gaps end (8)                    offset after the last record that a repair gave up; 0 = the log has no gap
 * 992  boot (8)                        of the machine on which the last writer opened; 0 = unknown
 * </pre>
 *
 * <p>Bytes 72..147 are written by one file write within one sector, so that neither a kill nor a loss of power leaves
 * it half written.
 */
final class MetaDescriptor {
    static final int VERSION = 0;
    static final int TABLE_WRITING = 8;
    static final int TABLE_WATERMARK = 24;
    static final int TABLE_COMMITTED = 40;
    static final int TABLE_READING = 56;
    static final int CAPACITY = 72;
    static final int V1_LENGTH = 80;

    static final int MAGIC = 80;
    static final int UUID_HIGH = 88;
    static final int UUID_LOW = 96;
    static final int SEGMENT_SIZE = 104;
    static final int FLAGS = 112;
    static final int MAX_EVENT_SIZE = 120;
    static final int CREATED_AT = 128;
    static final int EPOCH = 136;
    static final int CHECKSUM = 144;
    static final int CLEAN_MARK = 256;
    static final int CLOSED_AT = 264;
    static final int CLOSED_TIME = 272;
    static final int CLOSED_CHECKSUM = 280;
    static final int WRITING = 512;
    static final int WATERMARK = 576;
    static final int RECLAIMED = 832;
    static final int RECLAIMING = 840;
    static final int INTACT = 848;
    static final int CONSUMER_CHANGES = 896;
    static final int HELD_FROM = 912;
    static final int RETAIN_MILLIS = 960;
    static final int RETAIN_BYTES = 968;
    static final int GAPS_END = 984;
    static final int BOOT = 992;
    static final int LENGTH = 4096;

    /** "MMAPQME2" in ASCII, first byte lowest. */
    static final long MAGIC_VALUE = 0x3245_4D51_5041_4D4DL;
    /** "MMAPQUE2", the magic of 1.0.0rc1. */
    static final long MAGIC_OF_RC1 = 0x3245_5551_5041_4D4DL;
    /** "CLEAN" in ASCII. */
    static final long CLEAN = 0x4E_4145_4C43L;
    /** Flag: records carry timestamps. */
    static final int FLAG_TIMESTAMPS = 1;

    private MetaDescriptor() {}
}
