package org.mmapqueue.bridge;

import java.time.Duration;
import java.util.Arrays;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.TooLargeException;

/**
 * Pushes records that need not go in together: all at once where there is room, else halves of them, down to one by
 * one, so that exactly those go in that there is room for, in order. For one thread.
 */
final class ChunkPusher {
    private final MmapQueue queue;
    private final byte[] payload;
    private final int[] lengths;
    private MmapQueueException refused;

    ChunkPusher(MmapQueue queue, byte[] payload, int[] lengths) {
        this.queue = queue;
        this.payload = payload;
        this.lengths = lengths;
    }

    /**
     * Pushes as many as there is room for.
     *
     * @param start where the payload of the first begins
     * @param first the first one's place among the lengths
     * @param count how many there are
     * @param waitMillis how long to wait for room for one when there is none
     * @return how many were pushed, or CLOSED; an error that stops the first one is raised, any other ends the work
     */
    int push(int start, int first, int count, int waitMillis) {
        try {
            int pushed = pushRange(start, first, count);
            if (pushed == 0 && refused instanceof FullException && waitMillis > 0) {
                pushed = waitForOne(start, first, waitMillis);
            }
            if (pushed == 0 && !(refused instanceof FullException)) {
                throw refused;
            }
            if (refused != null && refused.getCause() instanceof InterruptedException) {
                Thread.currentThread().interrupt(); // the next call that may wait throws it
            }
            return pushed;
        } catch (ClosedException e) {
            return Status.CLOSED;
        }
    }

    /** How many of them went in; when not all did, {@link #refused} says why the next one did not. */
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
                refused = e;
                return 0;
            }
        } catch (MmapQueueException e) {
            refused = e;
            return 0;
        } catch (InterruptedException e) {
            refused = interrupted(e);
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
            refused = interrupted(e);
            return 0;
        } catch (FullException e) {
            return 0;
        }
    }

    /** What a push that was interrupted throws: the one who waits is not told that there was no room. */
    static MmapQueueException interrupted(InterruptedException cause) {
        return new MmapQueueException("the push was interrupted in the JVM, before anything was stored", cause);
    }

    /** A push that may wait. */
    interface Push {
        long run() throws InterruptedException;
    }

    /** The offset that a push returns, or the status of a full or closed queue. */
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
