package org.mmapqueue.archive.files;

import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
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
import java.util.UUID;

/**
 * An archive in a directory of this host, possibly on a mounted file system. A new file is written below {@link
 * #TEMPORARY}, fsynced, and gets its name by a hard link, which fails if the name exists.
 */
public final class LocalFiles implements ArchiveFiles {
    private final Path root;

    /** The files of a directory, which need not exist. */
    public LocalFiles(Path root) {
        this.root = root.toAbsolutePath().normalize();
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
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> children = Files.newDirectoryStream(path(directory))) {
            children.forEach(found::add);
        } catch (NoSuchFileException | NotDirectoryException e) {
            return List.of();
        }
        return found;
    }

    private static String last(Path path) {
        return path.getFileName().toString();
    }

    @Override
    public Input open(String name) throws IOException {
        return new LocalInput(FileChannel.open(path(name), StandardOpenOption.READ), name);
    }

    @Override
    public boolean create(String name, Content content) throws IOException {
        Path target = path(name);
        if (Files.exists(target)) {
            return false;
        }
        Path written = write(name, content);
        try {
            makeDirectory(target.getParent());
            Files.createLink(target, written);
        } catch (FileAlreadyExistsException e) {
            return false;
        } catch (UnsupportedOperationException e) {
            throw new IOException(root + ": this file system has no hard links; an archive needs them", e);
        } finally {
            Files.deleteIfExists(written);
        }
        sync(target.getParent());
        return true;
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
        sync(target.getParent());
    }

    private Path write(String name, Content content) throws IOException {
        Path directory = path(TEMPORARY);
        makeDirectory(directory);
        Path file = directory.resolve(TemporaryNames.of(name, UUID.randomUUID()));
        boolean written = false;
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW);
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

    // Creates directories and fsyncs the parent of each new one.
    private void makeDirectory(Path directory) throws IOException {
        if (Files.isDirectory(directory)) {
            return;
        }
        Path parent = directory.getParent();
        if (parent != null) {
            makeDirectory(parent);
        }
        try {
            Files.createDirectory(directory);
        } catch (FileAlreadyExistsException e) {
            if (!Files.isDirectory(directory)) {
                throw e;
            }
        }
        if (parent != null) {
            sync(parent);
        }
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
            while (target.hasRemaining()) {
                if (channel.read(target, position + target.position() - from) < 0) {
                    throw new EOFException(name + " has " + length + " bytes; expected " + (position + bytes));
                }
            }
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }
}
