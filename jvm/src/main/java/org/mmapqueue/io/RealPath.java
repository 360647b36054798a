package org.mmapqueue.io;

import java.io.IOException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/**
 * Resolves a path to its real path, which is the same for all names of one directory. Safe for any number of threads.
 */
public final class RealPath {
    /** The limit of Linux. */
    private static final int MOST_LINKS = 40;

    private RealPath() {}

    /**
     * Resolves every symbolic link, also where the last parts of the path do not exist yet.
     *
     * @throws IOException when a link cannot be read, or the links form a loop
     */
    public static Path of(Path path) throws IOException {
        Path absolute = path.toAbsolutePath();
        for (int links = 0; links < MOST_LINKS; links++) {
            Path existing = absolute;
            while (existing.getParent() != null && !Files.exists(existing, LinkOption.NOFOLLOW_LINKS)) {
                existing = existing.getParent();
            }
            Path rest = existing.relativize(absolute);
            if (Files.exists(existing) || !Files.isSymbolicLink(existing)) {
                return existing.toRealPath().resolve(rest).normalize();
            }
            // A link to a path that does not exist yet.
            absolute = existing.resolveSibling(Files.readSymbolicLink(existing)).resolve(rest);
        }
        throw new FileSystemLoopException(path.toString());
    }
}
