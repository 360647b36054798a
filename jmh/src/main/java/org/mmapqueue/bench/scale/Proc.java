package org.mmapqueue.bench.scale;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Figures of this process and of the machine from /proc; -1 for a missing one. */
final class Proc {
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final Path MEMORY = Path.of("/proc/meminfo");
    private static final Path IO = Path.of("/proc/self/io");
    private static final int KIB = 1024;

    private Proc() {}

    /** A size of this process in bytes, such as VmRSS. */
    static long status(String name) {
        return field(STATUS, name, KIB);
    }

    /** A size of the machine's memory in bytes, such as Cached. */
    static long memory(String name) {
        return field(MEMORY, name, KIB);
    }

    /** A count of this process, such as read_bytes: bytes read from the disk, page faults included. */
    static long io(String name) {
        return field(IO, name, 1);
    }

    private static long field(Path file, String name, int unit) {
        if (!Files.isReadable(file)) {
            return -1;
        }
        try {
            for (String line : Files.readAllLines(file)) {
                if (line.startsWith(name + ":")) {
                    return Long.parseLong(line.substring(name.length() + 1)
                                    .replace("kB", "")
                                    .strip())
                            * unit;
                }
            }
            return -1;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
