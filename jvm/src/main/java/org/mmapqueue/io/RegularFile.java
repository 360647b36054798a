package org.mmapqueue.io;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * Refuses what a queue cannot have: a symbolic link leads out of the directory, and opening a FIFO would wait for its
 * other end. The JDK's own error about a link does not name it. Has no state; safe for any number of threads.
 */
final class RegularFile {
    private RegularFile() {}

    /**
     * Checks a file before it is opened, which must not follow a link either.
     *
     * @return the file's attributes
     */
    static BasicFileAttributes check(Path path) throws IOException {
        BasicFileAttributes found = Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        if (found.isSymbolicLink()) {
            throw new FileSystemException(path.toString(), null, "is a symbolic link; expected a regular file");
        }
        if (!found.isRegularFile()) {
            throw new FileSystemException(path.toString(), null, "not a regular file");
        }
        return found;
    }
}
