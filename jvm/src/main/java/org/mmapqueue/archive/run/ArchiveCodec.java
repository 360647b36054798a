package org.mmapqueue.archive.run;

import java.util.Locale;
import org.mmapqueue.errors.ArchiveException;

/** How the blocks of a run are compressed. The ordinal is the number in the file. */
public enum ArchiveCodec {
    /** Not compressed. */
    NONE,
    /** zstd, by com.github.luben:zstd-jni, which Spark brings. */
    ZSTD;

    /** Name as in configurations: {@code none}, {@code zstd}. */
    public String key() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Throws ArchiveException if the library that this codec needs is missing. */
    public void checkUsable() {
        if (this == ZSTD) {
            try {
                ZstdBlocks.check();
            } catch (LinkageError e) {
                throw new ArchiveException(
                        "the codec zstd needs zstd-jni (com.github.luben:zstd-jni) on the class path, which Spark"
                                + " brings; the codec none needs nothing: " + e,
                        e);
            }
        }
    }
}
