package org.mmapqueue.support;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousFileChannel;
import java.nio.channels.CompletionHandler;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.AccessMode;
import java.nio.file.FileSystems;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileAttributeView;
import java.nio.file.spi.FileSystemProvider;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.ForwardingFile;
import org.mmapqueue.io.Storage;
import org.mmapqueue.io.Threads;

/**
 * The disk below the JDK, with one failing fsync. As Linux does, it reports the error to one call, and later fsyncs
 * succeed, also those through another descriptor.
 */
public final class FailingFsyncs implements Storage {
    private final PartialFileSystem wrapped = new Wrapped();
    private final AtomicInteger failures = new AtomicInteger();
    private final AtomicInteger left = new AtomicInteger(-1);
    private volatile String failing;
    private volatile Runnable during = () -> {};

    /**
     * The next fsync of a file or directory with this name fails.
     *
     * @param meanwhile runs in the calling thread while that fsync is inside the kernel
     */
    public void failNext(String name, Runnable meanwhile) {
        during = meanwhile;
        failing = name;
    }

    /**
     * The n-th fsync from now on fails, once; none if negative.
     *
     * @param meanwhile runs in the calling thread while that fsync is inside the kernel
     */
    public void failAfter(int number, Runnable meanwhile) {
        during = meanwhile;
        left.set(number);
    }

    /** Interrupts the calling thread, from another one: the JDK closes no channel when a thread interrupts itself. */
    public static void interruptCaller() {
        Thread other = new Thread(Thread.currentThread()::interrupt);
        other.start();
        Threads.join(other);
    }

    /** Number of fsyncs that have failed. */
    public int failures() {
        return failures.get();
    }

    private void synced(Path path) throws IOException {
        boolean isCounted = left.getAndUpdate(now -> Math.max(-1, now - 1)) == 0;
        if (isCounted || path.getFileName().toString().equals(failing)) {
            failing = null;
            during.run();
            failures.incrementAndGet();
            throw new IOException("injected: Input/output error of " + path.getFileName());
        }
    }

    @Override
    public DataFile open(Path path, Mode mode) throws IOException {
        return new ForwardingFile(DiskStorage.INSTANCE.open(wrap(path), mode)) {
            @Override
            public Path path() {
                return path;
            }
        };
    }

    @Override
    public void createDirectories(Path directory) throws IOException {
        DiskStorage.INSTANCE.createDirectories(directory);
        syncDirectory(directory.getParent());
    }

    @Override
    public boolean delete(Path path) throws IOException {
        return DiskStorage.INSTANCE.delete(path);
    }

    @Override
    public void syncDirectory(Path directory) throws IOException {
        DiskStorage.INSTANCE.syncDirectory(wrap(directory));
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        DiskStorage.INSTANCE.rename(from, to);
    }

    private Path wrap(Path path) {
        return (Path) Proxy.newProxyInstance(
                Path.class.getClassLoader(), new Class<?>[] {Path.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("getFileSystem")) {
                        return wrapped.system();
                    }
                    Object result = call(path, method, arguments);
                    return result instanceof Path other ? wrap(other) : result;
                });
    }

    private static Object call(Path path, Method method, Object[] arguments) throws Throwable {
        Object[] plain = arguments == null ? new Object[0] : arguments.clone();
        for (int i = 0; i < plain.length; i++) {
            plain[i] = plain[i] instanceof Path other ? unwrap(other) : plain[i];
        }
        try {
            return method.invoke(path, plain);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static Path unwrap(Path path) {
        return Path.of(path.toString());
    }

    /** A descriptor whose fsync may fail. */
    private final class Channel extends AsynchronousFileChannel {
        private final AsynchronousFileChannel channel;
        private final Path path;

        Channel(AsynchronousFileChannel channel, Path path) {
            this.channel = channel;
            this.path = path;
        }

        @Override
        public void force(boolean metaData) throws IOException {
            synced(path);
            channel.force(metaData);
        }

        @Override
        public long size() throws IOException {
            return channel.size();
        }

        @Override
        public AsynchronousFileChannel truncate(long size) {
            throw new UnsupportedOperationException();
        }

        @Override
        public <A> void lock(
                long position,
                long size,
                boolean shared,
                A attachment,
                CompletionHandler<FileLock, ? super A> handler) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Future<FileLock> lock(long position, long size, boolean shared) {
            throw new UnsupportedOperationException();
        }

        @Override
        public FileLock tryLock(long position, long size, boolean shared) {
            throw new UnsupportedOperationException();
        }

        @Override
        public <A> void read(
                ByteBuffer target, long position, A attachment, CompletionHandler<Integer, ? super A> handler) {
            channel.read(target, position, attachment, handler);
        }

        @Override
        public Future<Integer> read(ByteBuffer target, long position) {
            return channel.read(target, position);
        }

        @Override
        public <A> void write(
                ByteBuffer source, long position, A attachment, CompletionHandler<Integer, ? super A> handler) {
            channel.write(source, position, attachment, handler);
        }

        @Override
        public Future<Integer> write(ByteBuffer source, long position) {
            return channel.write(source, position);
        }

        @Override
        public boolean isOpen() {
            return channel.isOpen();
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }

    /** The calls that open files by the paths of this class; no other call is needed. */
    private final class Wrapped extends PartialFileSystem {
        private final FileSystemProvider real = FileSystems.getDefault().provider();

        @Override
        public AsynchronousFileChannel newAsynchronousFileChannel(
                Path path, Set<? extends OpenOption> options, ExecutorService executor, FileAttribute<?>... attributes)
                throws IOException {
            Path plain = unwrap(path);
            return new Channel(real.newAsynchronousFileChannel(plain, options, executor, attributes), plain);
        }

        @Override
        public FileChannel newFileChannel(Path path, Set<? extends OpenOption> options, FileAttribute<?>... attributes)
                throws IOException {
            return real.newFileChannel(unwrap(path), options, attributes);
        }

        @Override
        public <A extends BasicFileAttributes> A readAttributes(Path path, Class<A> type, LinkOption... options)
                throws IOException {
            return real.readAttributes(unwrap(path), type, options);
        }

        @Override
        public void checkAccess(Path path, AccessMode... modes) throws IOException {
            real.checkAccess(unwrap(path), modes);
        }

        @Override
        public <V extends FileAttributeView> V getFileAttributeView(Path path, Class<V> type, LinkOption... options) {
            return real.getFileAttributeView(unwrap(path), type, options);
        }
    }
}
