package org.mmapqueue.io;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The permissions of new files of a queue and of its archive. Existing files keep theirs. Does nothing in a file system
 * without POSIX permissions. Immutable.
 */
public final class FileMode {
    /** The rights of an octal digit. */
    private static final String[] RIGHTS = {"---", "--x", "-w-", "-wx", "r--", "r-x", "rw-", "rwx"};

    /** The owner alone: 600. */
    public static final FileMode PRIVATE = FileMode.of("600");

    private static final Set<String> VIEWS = FileSystems.getDefault().supportedFileAttributeViews();
    private static final boolean KNOWN = VIEWS.contains("posix");
    /** The JDK's own view, with all bits of the mode. */
    private static final boolean HAS_BITS = VIEWS.contains("unix");

    private static final String BITS = "unix:mode";
    /** Set-user-ID, set-group-ID, sticky. */
    private static final int SPECIAL_BITS = 07000;

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

    /** The permissions for files in an existing directory: its bits of those who may read it. */
    public static FileMode ofFilesIn(Path directory) throws IOException {
        if (!KNOWN) {
            return PRIVATE;
        }
        String rights = PosixFilePermissions.toString(Files.getPosixFilePermissions(directory));
        return new FileMode(rights.replaceAll("-w.", "---").replace('x', '-'));
    }

    /**
     * Creates a directory and its missing parents, with these permissions.
     *
     * @param directory absolute
     * @return the last one of them that existed; null if none did
     */
    public @Nullable Path createDirectories(Path directory) throws IOException {
        Path existing = directory;
        while (existing != null && !Files.exists(existing)) {
            existing = existing.getParent();
        }
        Files.createDirectories(directory, ofNewDirectory());
        for (Path at = directory; at != null && !at.equals(existing); at = at.getParent()) {
            setOnDirectory(at);
        }
        return existing;
    }

    /** Creates a directory with these permissions; throws FileAlreadyExistsException if it exists. */
    public void createDirectory(Path directory) throws IOException {
        Files.createDirectory(directory, ofNewDirectory());
        setOnDirectory(directory);
    }

    /** Creates a file with these permissions, to write it; throws FileAlreadyExistsException if it exists. */
    public FileChannel createFile(Path file) throws IOException {
        FileChannel channel =
                FileChannel.open(file, Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW), ofNewFile());
        try {
            setOnFile(file);
            return channel;
        } catch (IOException | RuntimeException | Error e) {
            channel.close();
            Files.deleteIfExists(file);
            throw e;
        }
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

    /**
     * Sets the permissions of a directory that was just created, independent of the umask. A group that it has inherited
     * by set-group-ID is inherited below it, too.
     */
    void setOnDirectory(Path directory) throws IOException {
        if (!wider) {
            return;
        }
        int special =
                HAS_BITS ? (int) Files.getAttribute(directory, BITS, LinkOption.NOFOLLOW_LINKS) & SPECIAL_BITS : 0;
        if (special == 0) {
            set(directory, directories);
            return;
        }
        int bits = special;
        for (PosixFilePermission each : directories) {
            bits |= 0400 >> each.ordinal();
        }
        Files.setAttribute(directory, BITS, bits, LinkOption.NOFOLLOW_LINKS);
    }

    private static void set(Path path, Set<PosixFilePermission> permissions) throws IOException {
        if (KNOWN) {
            Files.getFileAttributeView(path, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                    .setPermissions(permissions);
        }
    }
}
