package org.mmapqueue.consume;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.concurrent.OwnThread;
import org.mmapqueue.errors.ArchiveUnavailableException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.CauseText;
import org.mmapqueue.io.GuardedLog;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Loads records that only the archive has, for one consumer, on a thread of its own: no file system is waited for under
 * the consumer's lock. It stays {@link #AHEAD_BYTES} ahead of the consumer, and keeps the last chunk that the consumer
 * has passed, as records may be read again. Safe for any number of threads.
 */
public final class ReadAhead {
    private static final Logger LOG = LoggerFactory.getLogger(ReadAhead.class);
    /** The number of bytes, or a little more, that are loaded after the chunk that the consumer reads. */
    private static final long AHEAD_BYTES = 2 << 20;
    /** The number of chunks that are kept for records which are read again. */
    private static final int AGAIN = 1;

    private static final long FIRST_PAUSE_MILLIS = 100;
    private static final long MOST_PAUSE_MILLIS = 5_000;
    /** The maximum wait of a call for one chunk. */
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);
    /** The wait that a call with a shorter timeout allows the archive nevertheless. */
    private static final long LEAST_PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(5);

    private static final long NONE = -1;

    /** Why the chunk at an offset could not be read. */
    private record Failure(long offset, Throwable cause) {}

    private final OlderRecords reader;
    private final String what;
    private final Runnable whenLoaded;
    private final OwnThread thread;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    /** Replaced with the lock held; oldest first. */
    private volatile List<OlderChunk> chunks = List.of();

    /** The chunk whose records the consumer copies: its memory is not used for another one. */
    private volatile @Nullable OlderChunk held;

    private volatile @Nullable Failure failure;
    /** The offset that the consumer reads next. */
    private volatile long next;
    /** The offset of the first record that the ring has: nothing is loaded from there on, except by request. */
    private volatile long end;
    /** The offset of a record that is to be read again. */
    private volatile long again = NONE;
    /** Whether the thread pauses after a failure; then it looks for itself at what is asked for. */
    private volatile boolean isRetrying;

    /**
     * Starts when the first chunk is asked for.
     *
     * @param reader closed by the thread, when it ends
     * @param what names the consumer, for messages
     * @param whenLoaded called without a lock whenever a chunk was loaded, or could not be
     */
    public ReadAhead(OlderRecords reader, String what, String threadName, Runnable whenLoaded) {
        this.reader = reader;
        this.what = what;
        this.whenLoaded = whenLoaded;
        this.thread = new OwnThread(threadName, this::run);
    }

    /** Sets the range to be loaded ahead: from what the consumer reads next, to what the ring has. */
    void range(long from, long to) {
        next = from;
        end = to;
    }

    /**
     * The chunk that has a record; valid up to the next call.
     *
     * @throws NotLoadedException if none has; it is loaded from now on
     */
    OlderChunk chunk(long offset) throws NotLoadedException {
        while (true) {
            OlderChunk found = find(offset);
            if (found == null) {
                ask(offset);
                throw new NotLoadedException(offset);
            }
            held = found;
            if (chunks.contains(found)) {
                return found; // the thread drops a chunk before it looks for what is held
            }
        }
    }

    /** Whether a chunk has a record; it is loaded from now on if none has. */
    boolean isLoaded(long offset) {
        boolean isLoaded = find(offset) != null;
        if (!isLoaded) {
            ask(offset);
        }
        return isLoaded;
    }

    /** Notes that the consumer has passed the records before an offset, by reading a chunk to its end. */
    void passed(long offset) {
        next = offset;
        if (!thread.start()) {
            thread.wake();
        }
    }

    private void ask(long offset) {
        if (offset != next) {
            again = offset;
        }
        if (!thread.start() && !isRetrying) {
            thread.wake();
        }
    }

    private @Nullable OlderChunk find(long offset) {
        for (OlderChunk each : chunks) {
            if (each.contains(offset)) {
                return each;
            }
        }
        return null;
    }

    /**
     * Waits until a record is loaded, for at most half a minute. An interrupt stays pending.
     *
     * @param timeout the time in ns that the caller has; 0 for a call without a timeout. A wait with one is at most that
     *     long, or five seconds if that is longer, and an interrupt ends it
     * @throws RuntimeException why the record cannot be read
     * @throws ArchiveUnavailableException if the archive cannot be reached at present
     */
    void await(long offset, long timeout) {
        if (find(offset) != null) {
            return; // a request would stay, and load it once more
        }
        ask(offset);
        long most = timeout == 0 ? PATIENCE_NANOS : Math.min(PATIENCE_NANOS, Math.max(LEAST_PATIENCE_NANOS, timeout));
        long deadline = System.nanoTime() + most;
        boolean interrupted = false;
        lock.lock();
        try {
            while (find(offset) == null && !thread.isEnding()) {
                Failure why = failure;
                if (why != null && why.offset == offset) {
                    throw thrown(why);
                }
                long left = deadline - System.nanoTime();
                if (left <= 0 || interrupted && timeout > 0) {
                    throw new ArchiveUnavailableException(
                            what + ": record " + offset + " is in the archive, which has not answered for "
                                    + TimeUnit.NANOSECONDS.toSeconds(most - left) + " s",
                            null);
                }
                try {
                    changed.awaitNanos(left);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            lock.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private RuntimeException thrown(Failure why) {
        if (why.cause instanceof IOException) {
            return new ArchiveUnavailableException(
                    what + ": record " + why.offset + " is in the archive, which cannot be read at present: "
                            + CauseText.of(why.cause),
                    why.cause);
        }
        if (why.cause instanceof Error) { // mostly OutOfMemoryError
            return new MmapQueueException(
                    what + ": record " + why.offset + " is in the archive, and could not be read: " + why.cause,
                    why.cause);
        }
        return (RuntimeException) why.cause;
    }

    private void run() {
        long pauseMillis = FIRST_PAUSE_MILLIS;
        while (!thread.isEnding()) {
            long offset = missing();
            if (offset == NONE) {
                thread.pause(Long.MAX_VALUE);
                continue;
            }
            try {
                add(reader.read(offset));
                asked(offset);
                pauseMillis = FIRST_PAUSE_MILLIS;
            } catch (IOException | RuntimeException | Error e) {
                if (thread.isEnding()) {
                    break;
                }
                asked(offset);
                isRetrying = true;
                failed(new Failure(offset, e));
                thread.pause(TimeUnit.MILLISECONDS.toNanos(pauseMillis));
                isRetrying = false;
                pauseMillis = Math.min(MOST_PAUSE_MILLIS, 2 * pauseMillis);
            }
        }
        signal();
        try {
            reader.close();
        } catch (IOException e) {
            LOG.debug("{}: the archive could not be closed: {}", what, e.toString());
        }
    }

    // Forgets a request: the consumer asks again, if it still needs the record later.
    private void asked(long offset) {
        if (again == offset) {
            again = NONE;
        }
    }

    // The offset at which a chunk is to be loaded; NONE if the consumer has enough for now.
    private long missing() {
        long asked = again;
        if (asked != NONE && find(asked) == null) {
            return asked;
        }
        long at = next;
        long ahead = -1; // the chunk that the consumer reads does not count
        while (ahead < AHEAD_BYTES && at < end) {
            OlderChunk chunk = find(at);
            if (chunk == null) {
                return at;
            }
            at = chunk.end();
            ahead = ahead < 0 ? 0 : ahead + chunk.data().length;
        }
        return NONE;
    }

    private void add(OlderChunk loaded) {
        List<OlderChunk> dropped = new ArrayList<>();
        lock.lock();
        try {
            List<OlderChunk> kept = new ArrayList<>(chunks);
            kept.add(loaded);
            // Oldest first: what was loaded long ago for a record that was read again goes first.
            long passed = kept.stream().filter(each -> each.end() <= next).count();
            for (int i = 0; i < kept.size() && passed > AGAIN; ) {
                if (kept.get(i).end() <= next) {
                    dropped.add(kept.remove(i));
                    passed--;
                } else {
                    i++;
                }
            }
            chunks = List.copyOf(kept);
            failure = null;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        for (OlderChunk each : dropped) {
            if (each != held) {
                reader.reuse(each);
            }
        }
        whenLoaded.run();
    }

    private void failed(Failure why) {
        Failure before = failure;
        if (before == null && why.cause instanceof IOException) {
            GuardedLog.log(() ->
                    LOG.warn("{} waits for the archive, which is tried again: {}", what, CauseText.of(why.cause)));
        }
        lock.lock();
        try {
            failure = why;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        whenLoaded.run();
    }

    private void signal() {
        lock.lock();
        try {
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Requests the end of the thread, which closes the reader; waits for nothing. Calls that wait return. */
    void end() {
        if (thread.end()) {
            try {
                reader.close(); // the thread was never started
            } catch (IOException e) {
                LOG.debug("{}: the archive could not be closed: {}", what, e.toString());
            }
        }
        thread.interrupt();
        signal();
    }
}
