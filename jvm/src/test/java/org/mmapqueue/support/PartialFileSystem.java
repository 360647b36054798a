package org.mmapqueue.support;

import java.io.IOException;
import java.net.URI;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.AccessMode;
import java.nio.file.CopyOption;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.nio.file.WatchService;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileAttributeView;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.nio.file.spi.FileSystemProvider;
import java.util.Map;
import java.util.Set;

/** A file system below the JDK: a subclass implements the calls that its tests make, and all others are refused. */
abstract class PartialFileSystem extends FileSystemProvider {
    private static final FileSystem DISK = FileSystems.getDefault();

    private final FileSystem system = new NamingTheProvider();

    /** The file system of the paths. */
    final FileSystem system() {
        return system;
    }

    private static UnsupportedOperationException unused() {
        return new UnsupportedOperationException();
    }

    @Override
    public String getScheme() {
        return "partial";
    }

    @Override
    public FileSystem newFileSystem(URI uri, Map<String, ?> environment) {
        throw unused();
    }

    @Override
    public FileSystem getFileSystem(URI uri) {
        throw unused();
    }

    @Override
    public Path getPath(URI uri) {
        throw unused();
    }

    @Override
    public SeekableByteChannel newByteChannel(
            Path path, Set<? extends OpenOption> options, FileAttribute<?>... attributes) {
        throw unused();
    }

    @Override
    public DirectoryStream<Path> newDirectoryStream(Path directory, DirectoryStream.Filter<? super Path> filter) {
        throw unused();
    }

    @Override
    public void createDirectory(Path directory, FileAttribute<?>... attributes) {
        throw unused();
    }

    @Override
    public void delete(Path path) {
        throw unused();
    }

    @Override
    public void copy(Path source, Path target, CopyOption... options) {
        throw unused();
    }

    @Override
    public void move(Path source, Path target, CopyOption... options) {
        throw unused();
    }

    @Override
    public boolean isSameFile(Path path, Path other) {
        throw unused();
    }

    @Override
    public boolean isHidden(Path path) {
        throw unused();
    }

    @Override
    public FileStore getFileStore(Path path) {
        throw unused();
    }

    @Override
    public void checkAccess(Path path, AccessMode... modes) throws IOException {
        throw unused();
    }

    @Override
    public <V extends FileAttributeView> V getFileAttributeView(Path path, Class<V> type, LinkOption... options) {
        throw unused();
    }

    @Override
    public <A extends BasicFileAttributes> A readAttributes(Path path, Class<A> type, LinkOption... options)
            throws IOException {
        throw unused();
    }

    @Override
    public Map<String, Object> readAttributes(Path path, String attributes, LinkOption... options) {
        throw unused();
    }

    @Override
    public void setAttribute(Path path, String attribute, Object value, LinkOption... options) {
        throw unused();
    }

    private final class NamingTheProvider extends FileSystem {
        @Override
        public FileSystemProvider provider() {
            return PartialFileSystem.this;
        }

        @Override
        public void close() {
            throw unused();
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public boolean isReadOnly() {
            return false;
        }

        @Override
        public String getSeparator() {
            return DISK.getSeparator();
        }

        @Override
        public Iterable<Path> getRootDirectories() {
            throw unused();
        }

        @Override
        public Iterable<FileStore> getFileStores() {
            throw unused();
        }

        @Override
        public Set<String> supportedFileAttributeViews() {
            return DISK.supportedFileAttributeViews();
        }

        @Override
        public Path getPath(String first, String... more) {
            throw unused();
        }

        @Override
        public PathMatcher getPathMatcher(String pattern) {
            throw unused();
        }

        @Override
        public UserPrincipalLookupService getUserPrincipalLookupService() {
            throw unused();
        }

        @Override
        public WatchService newWatchService() {
            throw unused();
        }
    }
}
