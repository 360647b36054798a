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
import java.util.EnumSet;
import java.util.Set;

/**
 * The permissions of new files of a queue. Existing files keep theirs. Does nothing in a file system without POSIX
 * permissions. Immutable.
 */
public final class FileMode {
    /** The owner alone: 600. */
    public static final FileMode PRIVATE = FileMode.of("600");

    private static final boolean KNOWN =
            FileSystems.getDefault().supportedFileAttributeViews().contains("posix");
    private static final int BITS = 9;

    private final Set<PosixFilePermission> files = EnumSet.noneOf(PosixFilePermission.class);
    private final Set<PosixFilePermission> directories = EnumSet.noneOf(PosixFilePermission.class);

    private final boolean wider;

    private FileMode(int bits) {
        this.wider = (bits & 0077) != 0;
        PosixFilePermission[] all = PosixFilePermission.values(); // in order: owner's read to others' execute
        for (int i = 0; i < BITS; i++) {
            if ((bits >> BITS - 1 - i & 1) != 0) {
                files.add(all[i]);
                directories.add(all[i]);
                if (i % 3 == 0) {
                    directories.add(all[i + 2]); // the right to read a directory includes the right to enter it
                }
            }
        }
    }

    /** A mode in octal digits, such as "640". Directories get the execute bit where they get the read bit. */
    public static FileMode of(String octal) {
        return new FileMode(Integer.parseInt(octal, 8));
    }

    /** The permissions of an existing file; {@link #PRIVATE} in a file system without permissions. */
    public static FileMode like(Path file) throws IOException {
        if (!KNOWN) {
            return PRIVATE;
        }
        Set<PosixFilePermission> found = Files.getPosixFilePermissions(file, LinkOption.NOFOLLOW_LINKS);
        int bits = 0;
        for (PosixFilePermission each : PosixFilePermission.values()) {
            bits = bits << 1 | (found.contains(each) ? 1 : 0);
        }
        return new FileMode(bits);
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
