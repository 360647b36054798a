package org.mmapqueue.core;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import org.mmapqueue.concurrent.Gate;
import org.mmapqueue.consume.Consumers;
import org.mmapqueue.consume.DeadLetters;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.GuardedLog;
import org.mmapqueue.io.ProcessLock;
import org.mmapqueue.lookup.Log;
import org.mmapqueue.lookup.OpenFiles;
import org.mmapqueue.recovery.QueueFiles;
import org.mmapqueue.recovery.QueueLocks;
import org.mmapqueue.write.Writer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Closes an open queue: stops the calls, then closes the parts in order. Safe for any number of threads. */
final class Shutdown {
    private static final Logger LOG = LoggerFactory.getLogger(Shutdown.class);

    private final Path directory;
    private final OpenFiles files;
    private final Calls calls;
    private final DeadLetters deadLetters;
    private final Closeable producers;
    private final ProcessLock lock;
    private boolean closed;

    /**
     * What has running calls.
     *
     * @param gate the calls that are not inside a lock of one part for all of their time
     * @param writer null if another process writes
     * @param wakeAll wakes the waiting calls
     */
    record Calls(Gate gate, Writer writer, Consumers consumers, Log log, Runnable wakeAll) {
        // Stops the calls into each part of the queue, also if stopping another part fails.
        private void stop() throws IOException {
            Closing.all(gate::close, writer == null ? null : writer::stopAppending, consumers::stop, log);
        }

        // Whether all calls are stopped. A failure may have come later, for instance when a consumer's in-flight file
        // was written.
        private boolean areStopped() {
            return gate.isClosed()
                    && (writer == null || writer.isStopped())
                    && consumers.isStopped()
                    && log.isStopped();
        }
    }

    /**
     * @param producers null in version 1, and if another process writes
     * @param lock the writer's lock; null if another process writes
     */
    Shutdown(OpenFiles files, Calls calls, DeadLetters deadLetters, Closeable producers, ProcessLock lock) {
        this.directory = files.ring().directory();
        this.files = files;
        this.calls = calls;
        this.deadLetters = deadLetters;
        this.producers = producers;
        this.lock = lock;
    }

    synchronized boolean isClosed() {
        return closed;
    }

    /** Flushes and closes. Waits for running calls; waiting calls throw ClosedException. */
    synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        boolean stopped = false;
        try {
            calls.stop();
            stopped = true;
        } catch (IOException e) {
            throw notClosed(e);
        } catch (InternalError e) {
            throw calls.log.explain(e);
        } finally {
            calls.wakeAll.run();
            release(stopped || calls.areStopped());
        }
    }

    // Releases mappings and lock only if all calls are stopped: a thread that may still access a segment would crash
    // the JVM after the unmap, and no other process may write the queue until then.
    private void release(boolean stopped) {
        try {
            if (stopped) {
                Closing.all(calls.writer, deadLetters, calls.consumers, producers, files.swapper(), files.meta(), lock);
            } else {
                GuardedLog.log(() -> LOG.error(
                        "the queue in {} stays mapped and locked: not all calls could be stopped", directory));
                Closing.all(deadLetters, calls.consumers);
            }
        } catch (IOException e) {
            throw notClosed(e);
        } catch (InternalError e) {
            throw calls.log.explain(e);
        } finally {
            if (stopped && lock != null) {
                unlock();
            }
        }
    }

    private void unlock() {
        try {
            lock.close(); // again: an error may have cut off the first close
        } catch (IOException e) {
            throw notClosed(e);
        }
    }

    private MmapQueueException notClosed(IOException cause) {
        return new MmapQueueException("the queue in " + directory + " could not be closed: " + cause, cause);
    }

    /** Closes the queue, and deletes its files. */
    void destroy() {
        close();
        try {
            files.ring().storage().checkPlace();
        } catch (IOException e) {
            throw new MmapQueueException("the queue is closed and was not destroyed: " + e, e);
        }
        try {
            Closeable locks = QueueLocks.all(directory);
            try {
                QueueFiles.delete(DiskStorage.INSTANCE, directory);
            } finally {
                locks.close();
            }
        } catch (LockedException e) {
            throw new LockedException("the queue is closed and was not destroyed: " + e.getMessage(), e.pid());
        } catch (IOException e) {
            throw new MmapQueueException("not all files of the queue in " + directory + " could be deleted: " + e, e);
        }
    }
}
