package org.mmapqueue.io;

import java.io.IOException;
import java.nio.channels.FileChannel;
import org.mmapqueue.errors.MmapQueueException;

/** Maps files so that they can be unmapped on request, by what one JDK offers. Safe for any number of threads. */
interface Mapper {
    /** Maps the first {@code size} bytes of a file. */
    Mapping map(FileChannel channel, FileChannel.MapMode mode, long size) throws IOException;

    /**
     * The mapper for this JDK (decision 120): the cleaner where the JDK allows it without a warning, else the arena.
     */
    static Mapper ofThisJdk() {
        Mapper cleaner = CleanerMapper.find();
        Mapper arena = ArenaMapper.find();
        if (arena != null && (cleaner == null || Runtime.version().feature() >= CleanerMapper.WARNED_SINCE)) {
            return arena;
        }
        if (cleaner != null) {
            return cleaner;
        }
        return (channel, mode, size) -> {
            throw new MmapQueueException("Java " + Runtime.version().feature()
                    + " without the module jdk.unsupported cannot unmap files: add the module to this runtime, or use"
                    + " Java 22 or newer");
        };
    }
}
