package org.mmapqueue.archive.run;

import com.github.luben.zstd.Zstd;
import java.io.IOException;

/** The only user of zstd-jni, a library that may be missing. */
final class ZstdBlocks {
    private static final int LEVEL = 3;

    private ZstdBlocks() {}

    /** Throws a LinkageError if the library is missing. */
    static void check() {
        Zstd.compressBound(1);
    }

    /** The maximum number of bytes that a block of this size compresses to. */
    static int bound(int bytes) {
        return Math.toIntExact(Zstd.compressBound(bytes));
    }

    /** Compresses bytes; returns the compressed length. */
    static int compress(byte[] from, int length, byte[] into) {
        long result = Zstd.compressByteArray(into, 0, into.length, from, 0, length, LEVEL);
        if (Zstd.isError(result)) {
            throw new IllegalStateException("zstd: " + Zstd.getErrorName(result));
        }
        return (int) result;
    }

    /** Decompresses a block of known length. */
    static void decompress(byte[] from, int start, int stored, byte[] into, int length) throws IOException {
        long result = Zstd.decompressByteArray(into, 0, length, from, start, stored);
        if (Zstd.isError(result) || result != length) {
            throw new IOException("zstd: "
                    + (Zstd.isError(result) ? Zstd.getErrorName(result) : result + " bytes; expected " + length));
        }
    }
}
