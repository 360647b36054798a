package org.mmapqueue.archive.files;

import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.io.Listing;

/**
 * An archive in a directory of this host, possibly on a mounted file system. A new file is written below {@link
 * #TEMPORARY}, fsynced, and gets its name by a hard link, which fails if the name exists. The directory of each stored
 * file is fsynced, also if the file exists, since the fsync of the call that has stored it may have failed. Existing
 * files and directories keep their permissions.
 */
public final class LocalFiles implements ArchiveFiles {
    private final Path root;
    private final @Nullable FileMode mode;
    private final DirectorySync disk;

    /** Directories with an entry that is durable, and so those above it. Only an fsync of this object adds one. */
    private final Set<Path> durable = ConcurrentHashMap.newKeySet();

    /**
     * The files of a directory, which need not exist. A new file or directory gets the permissions of the directory
     * that it is in, the archive's own directory those of its owner alone.
     */
    public LocalFiles(Path root) {
        this(root, null, LocalFiles::sync);
    }

    /**
     * The files of a directory, which need not exist.
     *
     * @param mode permissions of new files and directories
     */
    public LocalFiles(Path root, FileMode mode) {
        this(root, mode, LocalFiles::sync);
    }

    LocalFiles(Path root, @Nullable FileMode mode, DirectorySync disk) {
        this.root = root.toAbsolutePath().normalize();
        this.mode = mode;
        this.disk = disk;
    }

    private FileMode modeIn(Path directory) throws IOException {
        if (mode != null) {
            return mode;
        }
        Path existing = directory;
        while (!existing.equals(root) && !Files.exists(existing)) {
            existing = existing.getParent();
        }
        return FileMode.ofFilesIn(existing);
    }

    /** Makes the entries of directories durable. */
    @FunctionalInterface
    interface DirectorySync {
        /** Fsyncs a directory. */
        void sync(Path directory) throws IOException;
    }

    @Override
    public URI uri() {
        String text = root.toUri().toString();
        return URI.create(text.endsWith("/") ? text : text + "/"); // the JDK adds it only to an existing directory
    }

    @Override
    public List<Entry> list(String directory) throws IOException {
        List<Entry> entries = new ArrayList<>();
        for (Path each : children(directory)) {
            try {
                BasicFileAttributes facts = Files.readAttributes(each, BasicFileAttributes.class);
                if (facts.isRegularFile()) {
                    entries.add(new Entry(
                            last(each), facts.size(), facts.lastModifiedTime().toMillis()));
                }
            } catch (NoSuchFileException e) {
                // the file was deleted since the directory was read
            }
        }
        entries.sort(Comparator.comparing(Entry::name));
        return entries;
    }

    /** Looks at no file: on a network file system each look may be a request. */
    @Override
    public List<String> names(String directory) throws IOException {
        List<String> names = new ArrayList<>();
        for (Path each : children(directory)) {
            names.add(last(each));
        }
        Collections.sort(names);
        return names;
    }

    @Override
    public List<String> directories(String directory) throws IOException {
        List<String> names = new ArrayList<>();
        for (Path each : children(directory)) {
            if (Files.isDirectory(each)) {
                names.add(last(each));
            }
        }
        Collections.sort(names);
        return names;
    }

    private List<Path> children(String directory) throws IOException {
        try {
            return Listing.entries(path(directory));
        } catch (NoSuchFileException | NotDirectoryException e) {
            return List.of();
        }
    }

    private static String last(Path path) {
        return path.getFileName().toString();
    }

    @Override
    public Input open(String name) throws IOException {
        return new LocalInput(FileChannel.open(path(name), StandardOpenOption.READ), name);
    }

    @Override
    public void createRoot() throws IOException {
        (mode != null ? mode : FileMode.PRIVATE).createDirectories(root);
        makeRootDurable();
    }

    @Override
    public boolean create(String name, Content content) throws IOException {
        Path target = path(name);
        boolean isNew = !Files.exists(target) && link(target, write(name, content));
        makeDurable(target);
        return isNew;
    }

    private boolean link(Path target, Path written) throws IOException {
        try {
            makeDirectory(target.getParent());
            Files.createLink(target, written);
            return true;
        } catch (FileAlreadyExistsException e) {
            return false;
        } catch (UnsupportedOperationException e) {
            throw new IOException(root + ": this file system has no hard links; an archive needs them", e);
        } finally {
            Files.deleteIfExists(written);
        }
    }

    @Override
    public void makeDurable(String name) throws IOException {
        Path target = path(name);
        if (!Files.exists(target)) {
            throw new NoSuchFileException(target.toString());
        }
        makeDurable(target);
    }

    private void makeDurable(Path file) throws IOException {
        makeDirectory(file.getParent());
        disk.sync(file.getParent());
    }

    @Override
    public void replace(String name, byte[] content) throws IOException {
        Path target = path(name);
        Path written = write(name, out -> out.write(content));
        try {
            makeDirectory(target.getParent());
            Files.move(written, target, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(written);
        }
        disk.sync(target.getParent());
    }

    private Path write(String name, Content content) throws IOException {
        Path directory = path(TEMPORARY);
        makeDirectory(directory);
        Path file = directory.resolve(TemporaryNames.of(name, UUID.randomUUID()));
        boolean written = false;
        try (FileChannel channel = modeIn(path(name).getParent()).createFile(file);
                OutputStream out = Channels.newOutputStream(channel)) {
            content.writeTo(out);
            channel.force(true);
            written = true;
        } finally {
            if (!written) {
                Files.deleteIfExists(file);
            }
        }
        return file;
    }

    // Creates a directory below the archive's, and missing ones between. Makes their entries durable, also those of
    // directories that exist: the fsync of the call that has created one may have failed.
    private void makeDirectory(Path directory) throws IOException {
        if (directory.equals(root)) {
            makeRootDurable();
            return;
        }
        boolean exists = Files.isDirectory(directory);
        if (exists && durable.contains(directory)) {
            return;
        }
        Path parent = directory.getParent();
        makeDirectory(parent);
        if (!exists) {
            try {
                modeIn(parent).createDirectory(directory);
            } catch (FileAlreadyExistsException e) {
                if (!Files.isDirectory(directory)) {
                    throw e;
                }
            }
        }
        disk.sync(parent);
        durable.add(directory);
    }

    private void makeRootDurable() throws IOException {
        if (!Files.isDirectory(root)) {
            durable.clear(); // whatever appears there later is another directory
            throw new NoSuchFileException(root.toString(), null, "the archive's directory does not exist");
        }
        if (durable.contains(root)) {
            return;
        }
        FileStore store = Files.getFileStore(root);
        Path at = root.getParent();
        while (at != null && Files.getFileStore(at).equals(store)) {
            try {
                disk.sync(at);
            } catch (AccessDeniedException e) {
                break; // created by another user, who alone may read it
            }
            at = at.getParent();
        }
        durable.add(root);
    }

    private static void sync(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    @Override
    public boolean delete(String name) throws IOException {
        return Files.deleteIfExists(path(name));
    }

    @Override
    public boolean deleteDirectory(String directory) throws IOException {
        try {
            durable.remove(path(directory));
            return Files.deleteIfExists(path(directory));
        } catch (DirectoryNotEmptyException e) {
            return false;
        }
    }

    @Override
    public List<String> hosts(String name, long position, long length) {
        return List.of();
    }

    private Path path(String name) {
        return root.resolve(name);
    }

    @Override
    public void close() {
        // nothing to release
    }

    private static final class LocalInput implements Input {
        /** The JDK reads a piece into memory outside the heap, and copies it while the processor's cache has it. */
        private static final int PIECE = 64 << 10;

        private final FileChannel channel;
        private final String name;
        private final long length;

        LocalInput(FileChannel channel, String name) throws IOException {
            this.channel = channel;
            this.name = name;
            this.length = channel.size();
        }

        @Override
        public long length() {
            return length;
        }

        @Override
        public void readFully(long position, byte[] into, int from, int bytes) throws IOException {
            ByteBuffer target = ByteBuffer.wrap(into, from, bytes);
            int end = from + bytes;
            while (target.position() < end) {
                target.limit(Math.min(end, target.position() + PIECE));
                if (channel.read(target, position + target.position() - from) < 0) {
                    throw new EOFException(name + " has " + length + " bytes; expected " + (position + bytes));
                }
            }
        }

        /** So that the processor's cache has what was read when it is used. */
        @Override
        public int bytesAtOnce() {
            return 1 << 20;
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }
}
