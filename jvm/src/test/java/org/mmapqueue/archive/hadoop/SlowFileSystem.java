package org.mmapqueue.archive.hadoop;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/** An object store, {@code slow:}, of which each call takes a while, and some calls take much longer. */
public final class SlowFileSystem extends ObjectFileSystem {
    private static final int MILLIS = 20;
    private static final int SOME_MILLIS = 300;
    /** One call in this number takes longer. */
    private static final int SOME = 16;

    private static final AtomicInteger CALLS = new AtomicInteger();
    private static final Set<String> CALLERS = ConcurrentHashMap.newKeySet();
    private static volatile boolean holding;

    /** Whether no call returns from now on, except with an interrupt. */
    public static void hold(boolean holds) {
        holding = holds;
    }

    /** The names of the threads that have called any of these file systems. */
    public static Set<String> callers() {
        return Set.copyOf(CALLERS);
    }

    private static void call() throws IOException {
        CALLERS.add(Thread.currentThread().getName());
        try {
            do {
                Thread.sleep(CALLS.incrementAndGet() % SOME == 0 ? SOME_MILLIS : MILLIS);
            } while (holding);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw (IOException) new InterruptedIOException().initCause(e);
        }
    }

    @Override
    public String getScheme() {
        return "slow";
    }

    @Override
    public URI getUri() {
        return URI.create("slow:///");
    }

    @Override
    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
        call();
        return super.open(path, bufferSize);
    }

    @Override
    public FSDataOutputStream create(
            Path path, boolean overwrite, int bufferSize, short replication, long blockSize, Progressable progress)
            throws IOException {
        call();
        return super.create(path, overwrite, bufferSize, replication, blockSize, progress);
    }

    @Override
    public ObjectBuilder createFile(Path path) {
        try {
            call();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return super.createFile(path);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        call();
        return super.delete(path, recursive);
    }

    @Override
    public FileStatus[] listStatus(Path path) throws IOException {
        call();
        return super.listStatus(path);
    }

    @Override
    public RemoteIterator<FileStatus> listStatusIterator(Path path) throws IOException {
        call();
        return super.listStatusIterator(path);
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        call();
        return super.getFileStatus(path);
    }

    @Override
    public boolean mkdirs(Path path, FsPermission permission) throws IOException {
        call();
        return super.mkdirs(path, permission);
    }
}
