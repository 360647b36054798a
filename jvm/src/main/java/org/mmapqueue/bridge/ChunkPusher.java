package org.mmapqueue.bridge;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.Records;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.TooLargeException;

/**
 * Pushes as many records of a sequence as the ring has room for, in order. A batch without room is halved, down to
 * single records. Not thread-safe.
 */
final class ChunkPusher {
    private final MmapQueue queue;
    private final ByteBuffer payload;
    private final int[] lengths;
    /** The failure of the last push. */
    private MmapQueueException failure;

    /**
     * Makes a pusher of records.
     *
     * @param queue the queue
     * @param payload the records back to back; must not change during a push
     * @param lengths the length of each record in bytes
     */
    ChunkPusher(MmapQueue queue, ByteBuffer payload, int[] lengths) {
        this.queue = queue;
        this.payload = payload;
        this.lengths = lengths;
    }

    /**
     * Pushes as many records as the ring has room for.
     *
     * @param first index of the first record to push
     * @param waitMillis how long to wait for room for the first record, in ms
     * @return the number of pushed records, 0 when no room became available in time; or {@link Status#CLOSED}
     * @throws MmapQueueException when the first record fails for another reason; a failure of a later one ends the push
     */
    int push(int first, int waitMillis) {
        try {
            int start = 0;
            for (int i = 0; i < first; i++) {
                start += lengths[i];
            }
            int pushed = pushRange(start, first, lengths.length - first, Duration.ZERO);
            if (pushed == 0 && failure instanceof FullException && waitMillis > 0) {
                pushed = pushRange(start, first, 1, Duration.ofMillis(waitMillis));
            }
            if (pushed == 0 && !(failure instanceof FullException)) {
                throw failure;
            }
            if (failure != null && failure.getCause() instanceof InterruptedException) {
                Thread.currentThread().interrupt(); // The next call that waits throws.
            }
            return pushed;
        } catch (ClosedException e) {
            return Status.CLOSED;
        }
    }

    /**
     * Returns the number of pushed records; if it is less than {@code count}, {@link #failure} is that of the next
     * record.
     */
    private int pushRange(int start, int first, int count, Duration wait) {
        try {
            queue.pushBatch(range(start, first, count), wait);
            return count;
        } catch (FullException | TooLargeException e) {
            if (count == 1) {
                failure = e;
                return 0;
            }
        } catch (MmapQueueException e) {
            failure = e;
            return 0;
        } catch (InterruptedException e) {
            failure = interrupted(e);
            return 0;
        }
        int half = count / 2;
        int pushed = pushRange(start, first, half, wait);
        if (pushed < half) {
            return pushed;
        }
        int middle = start;
        for (int i = first; i < first + half; i++) {
            middle += lengths[i];
        }
        return half + pushRange(middle, first + half, count - half, wait);
    }

    private Records range(int start, int first, int count) {
        int[] part = count == lengths.length ? lengths : Arrays.copyOfRange(lengths, first, first + count);
        return Records.packed(List.of(payload.slice(start, Arrays.stream(part).sum())), part);
    }

    /** The exception for an interrupted push, which must not be reported as lack of room. */
    static MmapQueueException interrupted(InterruptedException cause) {
        return new MmapQueueException("the push was interrupted in the JVM, before anything was stored", cause);
    }

    /** A push that may wait. */
    interface Push {
        long run() throws InterruptedException;
    }

    /** Runs a push; returns its offset, or the status of a full or closed queue. */
    static long statusOf(Push push) {
        try {
            return push.run();
        } catch (InterruptedException e) {
            throw interrupted(e);
        } catch (FullException e) {
            return Status.FULL;
        } catch (ClosedException e) {
            return Status.CLOSED;
        }
    }
}
