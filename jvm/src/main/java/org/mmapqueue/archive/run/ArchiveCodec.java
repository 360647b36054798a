package org.mmapqueue.archive.run;

import java.util.Locale;

/** How the blocks of a run are compressed. */
public enum ArchiveCodec {
    /** Not compressed. */
    NONE,
    /** zstd, by com.github.luben:zstd-jni, which Spark brings. */
    ZSTD;

    /** Name as in configurations: {@code none}, {@code zstd}. */
    public String key() {
        return name().toLowerCase(Locale.ROOT);
    }
}
