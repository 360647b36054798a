package org.mmapqueue.io;

import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The permissions of new files of a queue. Existing files keep theirs. Does nothing in a file system without POSIX
 * permissions. Immutable.
 */
public final class FileMode {
    /** The rights of an octal digit. */
    private static final String[] RIGHTS = {"---", "--x", "-w-", "-wx", "r--", "r-x", "rw-", "rwx"};

    /** The owner alone: 600. */
    public static final FileMode PRIVATE = FileMode.of("600");

    private static final boolean KNOWN =
            FileSystems.getDefault().supportedFileAttributeViews().contains("posix");
    private final Set<PosixFilePermission> files;
    private final Set<PosixFilePermission> directories;
    private final boolean wider;

    /** A mode as text, such as "rw-r-----". */
    private FileMode(String rights) {
        files = PosixFilePermissions.fromString(rights);
        // The right to read a directory includes the right to enter it.
        directories = PosixFilePermissions.fromString(rights.replaceAll("r(.).", "r$1x"));
        wider = !rights.endsWith("------");
    }

    /** A mode in octal digits, such as "640". Directories get the execute bit where they get the read bit. */
    public static FileMode of(String octal) {
        return new FileMode(octal.chars().mapToObj(digit -> RIGHTS[digit - '0']).collect(Collectors.joining()));
    }

    /** The permissions of an existing file; {@link #PRIVATE} in a file system without permissions. */
    public static FileMode like(Path file) throws IOException {
        if (!KNOWN) {
            return PRIVATE;
        }
        return new FileMode(
                PosixFilePermissions.toString(Files.getPosixFilePermissions(file, LinkOption.NOFOLLOW_LINKS)));
    }

    /** Attributes for creating a file: at most the owner's rights, until {@link #setOnFile} adds the others. */
    FileAttribute<?>[] ofNewFile() {
        return attributes("rw-------");
    }

    /** Attributes for creating a directory, until {@link #setOnDirectory}. */
    FileAttribute<?>[] ofNewDirectory() {
        return attributes("rwx------");
    }

    private static FileAttribute<?>[] attributes(String text) {
        if (!KNOWN) {
            return new FileAttribute<?>[0];
        }
        Set<PosixFilePermission> permissions = PosixFilePermissions.fromString(text);
        return new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(permissions)};
    }

    /** Sets the permissions of a file that was just created, independent of the umask. */
    void setOnFile(Path file) throws IOException {
        if (wider) {
            set(file, files);
        }
    }

    /** Sets the permissions of a directory that was just created, independent of the umask. */
    void setOnDirectory(Path directory) throws IOException {
        if (wider) {
            set(directory, directories);
        }
    }

    private static void set(Path path, Set<PosixFilePermission> permissions) throws IOException {
        if (KNOWN) {
            Files.getFileAttributeView(path, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                    .setPermissions(permissions);
        }
    }
}
