package org.mmapqueue.support;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Path;
import java.util.Iterator;

/** A directory that can be opened, and whose entries cannot be read, as one of a server that has gone. */
public final class UnreadableDirectory extends PartialFileSystem {
    private final Path self;

    private UnreadableDirectory() {
        self = (Path) Proxy.newProxyInstance(
                UnreadableDirectory.class.getClassLoader(),
                new Class<?>[] {Path.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "getFileSystem" -> system();
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
}
