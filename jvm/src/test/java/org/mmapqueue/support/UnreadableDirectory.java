package org.mmapqueue.support;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.AccessMode;
import java.nio.file.CopyOption;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.FileSystem;
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
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A directory that can be opened, and whose entries cannot be read, as one of a server that has gone. */
public final class UnreadableDirectory extends FileSystemProvider {
    private final Path self;
    private final FileSystem system = new Delegating();

    private UnreadableDirectory() {
        self = (Path) Proxy.newProxyInstance(
                UnreadableDirectory.class.getClassLoader(),
                new Class<?>[] {Path.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "getFileSystem" -> system;
                    case "toString" -> "/gone";
                    case "toAbsolutePath", "normalize", "resolve" -> proxy;
                    default -> throw new UnsupportedOperationException(method.toString());
                });
    }

    /** The path of the directory, and of all that is in it. */
    public static Path path() {
        return new UnreadableDirectory().self;
    }

    @Override
    public DirectoryStream<Path> newDirectoryStream(Path directory, DirectoryStream.Filter<? super Path> filter) {
        return new DirectoryStream<>() {
            @Override
            public Iterator<Path> iterator() {
                return new Iterator<>() {
                    @Override
                    public boolean hasNext() {
                        throw new DirectoryIteratorException(new IOException("Stale file handle"));
                    }

                    @Override
                    public Path next() {
                        throw new UnsupportedOperationException();
                    }
                };
            }

            @Override
            public void close() {}
        };
    }

    private static UnsupportedOperationException unused() {
        return new UnsupportedOperationException();
    }

    @Override
    public String getScheme() {
        return "gone";
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
    public void checkAccess(Path path, AccessMode... modes) {
        throw unused();
    }

    @Override
    public <V extends FileAttributeView> V getFileAttributeView(Path path, Class<V> type, LinkOption... options) {
        throw unused();
    }

    @Override
    public <A extends BasicFileAttributes> A readAttributes(Path path, Class<A> type, LinkOption... options) {
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

    private final class Delegating extends FileSystem {
        @Override
        public FileSystemProvider provider() {
            return UnreadableDirectory.this;
        }

        @Override
        public void close() {}

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public boolean isReadOnly() {
            return true;
        }

        @Override
        public String getSeparator() {
            return "/";
        }

        @Override
        public Iterable<Path> getRootDirectories() {
            return List.of();
        }

        @Override
        public Iterable<FileStore> getFileStores() {
            return List.of();
        }

        @Override
        public Set<String> supportedFileAttributeViews() {
            return Set.of();
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
