package org.mmapqueue.io;

import java.io.IOException;
import java.nio.channels.AsynchronousFileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.util.List;
import java.util.Set;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Opens descriptors that no interrupt closes. A {@code FileChannel} is closed when its thread is interrupted, and the
 * result of a running fsync is lost; Linux reports an error of writing back once for each descriptor (decision 161). An
 * {@link AsynchronousFileChannel} stays open. Its calls run in the calling thread here.
 */
final class Descriptors {
    private static final CallingThread CALLING_THREAD = new CallingThread();

    private Descriptors() {}

    /** Opens a file, or a directory to fsync it. */
    static AsynchronousFileChannel open(Path path, Set<OpenOption> options, FileAttribute<?>... attributes)
            throws IOException {
        return AsynchronousFileChannel.open(path, options, CALLING_THREAD, attributes);
    }

    /** The result of a read or write, which has ended in the calling thread. */
    static int result(Future<Integer> call) throws IOException {
        try {
            return call.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof IOException failure) {
                throw failure;
            }
            throw new IOException(e.getCause());
        } catch (InterruptedException e) {
            throw new IllegalStateException("the call has not ended in the calling thread", e);
        }
    }

    /** Runs each task at once, in the thread that submits it. */
    private static final class CallingThread extends AbstractExecutorService {
        @Override
        public void execute(Runnable task) {
            task.run();
        }

        @Override
        public void shutdown() {
            throw new UnsupportedOperationException();
        }

        @Override
        public List<Runnable> shutdownNow() {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean isShutdown() {
            return false;
        }

        @Override
        public boolean isTerminated() {
            return false;
        }

        @Override
        public boolean awaitTermination(long timeout, TimeUnit unit) {
            return false;
        }
    }
}
