package org.mmapqueue.bridge;

import java.time.Duration;
import java.util.Arrays;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.TooLargeException;

/**
 * Pushes as many records of a sequence as there is room for, in order. A batch without room is halved, down to single
 * records. Not thread-safe.
 */
final class ChunkPusher {
    private final MmapQueue queue;
    private final byte[] payload;
    private final int[] lengths;
    /** Why the last push failed. */
    private MmapQueueException failure;

    ChunkPusher(MmapQueue queue, byte[] payload, int[] lengths) {
        this.queue = queue;
        this.payload = payload;
        this.lengths = lengths;
    }

    /**
     * Pushes as many as there is room for.
     *
     * @param start position of the first record's payload
     * @param first index of the first record's length
     * @param count the number of records
     * @param waitMillis how long to wait for room for the first record, in ms
     * @return how many were pushed, 0 when there was no room in time; or {@link Status#CLOSED}
     * @throws MmapQueueException when the first record fails for another reason; a failure of a later one ends the push
     */
    int push(int start, int first, int count, int waitMillis) {
        try {
            int pushed = pushRange(start, first, count);
            if (pushed == 0 && failure instanceof FullException && waitMillis > 0) {
                pushed = waitForOne(start, first, waitMillis);
            }
            if (pushed == 0 && !(failure instanceof FullException)) {
                throw failure;
            }
            if (failure != null && failure.getCause() instanceof InterruptedException) {
                Thread.currentThread().interrupt(); // The next call that waits throws it.
            }
            return pushed;
        } catch (ClosedException e) {
            return Status.CLOSED;
        }
    }

    /** Returns how many were pushed; if not all, {@link #failure} is that of the next one. */
    private int pushRange(int start, int first, int count) {
        try {
            queue.pushBatch(
                    payload,
                    start,
                    first == 0 ? lengths : Arrays.copyOfRange(lengths, first, first + count),
                    count,
                    Duration.ZERO);
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
        int pushed = pushRange(start, first, half);
        if (pushed < half) {
            return pushed;
        }
        int middle = start;
        for (int i = first; i < first + half; i++) {
            middle += lengths[i];
        }
        return half + pushRange(middle, first + half, count - half);
    }

    private int waitForOne(int start, int first, int waitMillis) {
        try {
            queue.pushBatch(payload, start, new int[] {lengths[first]}, 1, Duration.ofMillis(waitMillis));
            return 1;
        } catch (InterruptedException e) {
            failure = interrupted(e);
            return 0;
        } catch (FullException e) {
            return 0;
        }
    }

    /** The exception of an interrupted push: an interrupt is not reported as lack of room. */
    static MmapQueueException interrupted(InterruptedException cause) {
        return new MmapQueueException("the push was interrupted in the JVM, before anything was stored", cause);
    }

    /** A push that can wait. */
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
