package org.mmapqueue;

import org.jspecify.annotations.Nullable;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.OutOfRangeException;

/**
 * The open consumer of a {@link Consumer}, created by the first call that needs it to exist. Safe for any number of
 * threads.
 */
final class LazyConsumer {
    private final MmapQueue handle;
    private final QueueCore queue;
    private final String name;
    /** Null until the first call that needs the consumer to exist. */
    private volatile @Nullable ConsumerCore opened;

    private volatile boolean closed;

    LazyConsumer(MmapQueue handle, QueueCore queue, String name, @Nullable ConsumerCore opened) {
        this.handle = handle;
        this.queue = queue;
        this.name = name;
        this.opened = opened;
    }

    /** The consumer; created at the log start if it does not exist. */
    ConsumerCore core() {
        checkOpen();
        ConsumerCore core = opened;
        return core != null ? core : open();
    }

    // A close waits for it: otherwise the consumer would stay open, and no other process could own it.
    private synchronized ConsumerCore open() {
        checkOpen();
        ConsumerCore core = opened;
        if (core == null) {
            core = queue.consumer(name, StartAt.EARLIEST, handle);
            opened = core;
        }
        return core;
    }

    /** The consumer; null if no process has created it yet. */
    @Nullable
    ConsumerCore existing() {
        checkOpen();
        return opened != null || queue.consumerNames().contains(name) ? core() : null;
    }

    /** The consumer, for a call on a popped record; throws OutOfRangeException if the consumer does not exist. */
    ConsumerCore existing(String call, long offset) {
        ConsumerCore core = existing();
        if (core == null) {
            throw new OutOfRangeException(call + " by consumer " + name + ", which has popped nothing", offset, 0, -1);
        }
        return core;
    }

    void checkOpen() {
        if (handle.isClosed()) {
            throw new ClosedException("the handle of the queue that consumer " + name + " came from is closed");
        }
        if (isClosed()) {
            throw new ClosedException("the queue, or its consumer " + name + ", is closed");
        }
    }

    /** Whether every call throws ClosedException. */
    boolean isGone() {
        return isClosed() || handle.isClosed();
    }

    boolean isClosed() {
        ConsumerCore core = opened;
        return closed || core != null && core.isClosed();
    }

    /** Releases ownership. */
    void release() {
        ConsumerCore core = close();
        if (core != null) {
            queue.closeConsumer(core);
        }
    }

    /** Releases ownership, unless another handle has the consumer open. */
    void leave() {
        ConsumerCore core = close();
        if (core != null) {
            queue.leaveConsumer(core, handle);
        }
    }

    private synchronized @Nullable ConsumerCore close() {
        closed = true;
        return opened;
    }
}
