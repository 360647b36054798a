package org.mmapqueue.archive.run;

import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.io.Mapped;

/**
 * The layout of a run, little-endian: header, blocks, index, trailer.
 *
 * <pre>
 * header, 64 bytes                        block header, 48 bytes
 *  0  magic (8), "MMAPQRN2"                0  base offset of the segment (8)
 *  8  version = 2 (4)                      8  base time of the segment (8)
 * 12  codec (4): 0 none, 1 zstd           16  offset of the first record (8)
 * 16  queue UUID (8 + 8)                  24  number of records (4)
 * 32  offset of the first record (8)      28  bytes of the records (4)
 * 40  offset after the last record (8)    32  bytes as stored (4), after this header
 * 48  0 (12)                              36  CRC32C of the bytes as stored (4)
 * 60  CRC32C of bytes 0..59 (4)           40  0 (4)
 *                                         44  CRC32C of bytes 0..43 (4)
 *
 * index: the header once more, then       trailer, 32 bytes
 * an entry of 40 bytes for each block      0  position of the index (8)
 *  0  position of its header (8)           8  bytes of the index (8)
 *  8  offset of its first record (8)      16  CRC32C of the index (4)
 * 16  oldest timestamp (8), 0 = none      20  CRC32C of bytes 0..19 (4)
 * 24  newest timestamp (8)                24  magic (8), "MMAPQRNE"
 * 32  number of records (4)
 * 36  bytes of the records (4)
 * </pre>
 */
final class RunLayout {
    static final int HEADER = 64;
    static final int BLOCK_HEADER = 48;
    static final int ENTRY = 40;
    static final int TRAILER = 32;

    /** A block is complete when it has at least this many bytes before its next record. */
    static final int BLOCK = 256 << 10;

    private static final long MAGIC = magic("MMAPQRN2");
    private static final long MAGIC_OF_RC1 = magic("MMAPQRN1");
    private static final long END_MAGIC = magic("MMAPQRNE");
    private static final int VERSION = 2;

    private static final int HEADER_CRC = HEADER - 4;
    private static final int BLOCK_HEADER_CRC = BLOCK_HEADER - 4;
    private static final int TRAILER_CRC = 20;

    private RunLayout() {}

    private static long magic(String text) {
        return (long) Mapped.ARRAY_LONG.get(text.getBytes(StandardCharsets.US_ASCII), 0);
    }

    /** The fields of the header. */
    record Header(ArchiveCodec codec, UUID queue, long first, long end) {
        byte[] bytes() {
            byte[] bytes = new byte[HEADER];
            putLong(bytes, 0, MAGIC);
            putInt(bytes, 8, VERSION);
            putInt(bytes, 12, codec.ordinal());
            putLong(bytes, 16, queue.getMostSignificantBits());
            putLong(bytes, 24, queue.getLeastSignificantBits());
            putLong(bytes, 32, first);
            putLong(bytes, 40, end);
            putInt(bytes, HEADER_CRC, crc(bytes, 0, HEADER_CRC));
            return bytes;
        }

        /** The fault of a header's bytes; null for none. */
        static @Nullable String fault(byte[] bytes, int at) {
            if (getLong(bytes, at) != MAGIC) {
                return getLong(bytes, at) == MAGIC_OF_RC1
                        ? "a run of version 1.0.0rc1, whose format was not released: read this archive with that"
                                + " version"
                        : "the magic is not that of a run";
            }
            if (getInt(bytes, at + HEADER_CRC) != crc(bytes, at, HEADER_CRC)) {
                return "the header's checksum is wrong";
            }
            if (getInt(bytes, at + 8) != VERSION) {
                return "version " + getInt(bytes, at + 8) + " of the format of runs; this program reads " + VERSION;
            }
            int codec = getInt(bytes, at + 12);
            return codec < 0 || codec >= ArchiveCodec.values().length ? "unknown codec " + codec : null;
        }

        static Header of(byte[] bytes, int at) {
            return new Header(
                    ArchiveCodec.values()[getInt(bytes, at + 12)],
                    new UUID(getLong(bytes, at + 16), getLong(bytes, at + 24)),
                    getLong(bytes, at + 32),
                    getLong(bytes, at + 40));
        }
    }

    /** The fields of a block's header. */
    record BlockHeader(long baseOffset, long baseTime, long first, int count, int bytes, int stored, int crc) {
        byte[] encoded() {
            byte[] header = new byte[BLOCK_HEADER];
            putLong(header, 0, baseOffset);
            putLong(header, 8, baseTime);
            putLong(header, 16, first);
            putInt(header, 24, count);
            putInt(header, 28, bytes);
            putInt(header, 32, stored);
            putInt(header, 36, crc);
            putInt(header, BLOCK_HEADER_CRC, RunLayout.crc(header, 0, BLOCK_HEADER_CRC));
            return header;
        }

        static boolean isValid(byte[] bytes, int at) {
            return getInt(bytes, at + BLOCK_HEADER_CRC) == RunLayout.crc(bytes, at, BLOCK_HEADER_CRC);
        }

        static BlockHeader of(byte[] bytes, int at) {
            return new BlockHeader(
                    getLong(bytes, at),
                    getLong(bytes, at + 8),
                    getLong(bytes, at + 16),
                    getInt(bytes, at + 24),
                    getInt(bytes, at + 28),
                    getInt(bytes, at + 32),
                    getInt(bytes, at + 36));
        }
    }

    /** The index entry of a block. */
    record Entry(long position, long first, long minMicros, long maxMicros, int count, int bytes) {
        void put(byte[] into, int at) {
            putLong(into, at, position);
            putLong(into, at + 8, first);
            putLong(into, at + 16, minMicros);
            putLong(into, at + 24, maxMicros);
            putInt(into, at + 32, count);
            putInt(into, at + 36, bytes);
        }

        static Entry of(byte[] bytes, int at) {
            return new Entry(
                    getLong(bytes, at),
                    getLong(bytes, at + 8),
                    getLong(bytes, at + 16),
                    getLong(bytes, at + 24),
                    getInt(bytes, at + 32),
                    getInt(bytes, at + 36));
        }

        /** The offset after the block's last record. */
        long end() {
            return first + count;
        }
    }

    /** The fields of the trailer. */
    record Trailer(long position, long length, int crc) {
        byte[] bytes() {
            byte[] bytes = new byte[TRAILER];
            putLong(bytes, 0, position);
            putLong(bytes, 8, length);
            putInt(bytes, 16, crc);
            putInt(bytes, TRAILER_CRC, RunLayout.crc(bytes, 0, TRAILER_CRC));
            putLong(bytes, 24, END_MAGIC);
            return bytes;
        }

        /** Whether the bytes are the trailer of a file of this length. */
        static boolean isValid(byte[] bytes, int at, long fileLength) {
            return getLong(bytes, at + 24) == END_MAGIC
                    && getInt(bytes, at + TRAILER_CRC) == RunLayout.crc(bytes, at, TRAILER_CRC)
                    && getLong(bytes, at) + getLong(bytes, at + 8) + TRAILER == fileLength;
        }

        static Trailer of(byte[] bytes, int at) {
            return new Trailer(getLong(bytes, at), getLong(bytes, at + 8), getInt(bytes, at + 16));
        }
    }

    static int crc(byte[] bytes, int from, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, from, length);
        return (int) crc.getValue();
    }

    static long getLong(byte[] bytes, int at) {
        return (long) Mapped.ARRAY_LONG.get(bytes, at);
    }

    static int getInt(byte[] bytes, int at) {
        return (int) Mapped.ARRAY_INT.get(bytes, at);
    }

    static void putLong(byte[] bytes, int at, long value) {
        Mapped.ARRAY_LONG.set(bytes, at, value);
    }

    static void putInt(byte[] bytes, int at, int value) {
        Mapped.ARRAY_INT.set(bytes, at, value);
    }
}
