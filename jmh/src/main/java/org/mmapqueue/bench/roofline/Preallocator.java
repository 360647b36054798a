package org.mmapqueue.bench.roofline;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.concurrent.locks.LockSupport;
import org.mmapqueue.io.Threads;

/**
 * The thread that preallocates segments ahead of the writer: it fills them with zeros through the file, then maps them.
 * Slots stay mapped if all may; else it also maps ahead of the reader, and unmaps the segments that both have left.
 *
 * <p>It sleeps without work, and is woken when half of the preallocated segments are used: a wake-up takes longer than
 * filling a segment of 128 KiB, and spinning would take a core from the measured threads.
 */
final class Preallocator implements Runnable {
    private static final long NAP_NANOS = 1_000_000;
    private static final int MOST_AHEAD = 8;
    private static final int LEAST_AHEAD = 2;
    private static final int BYTES_AHEAD = 1 << 20;

    private final Slots slots;
    private final Positions positions;
    private final boolean keep;
    private final int ahead;
    private final ArrayDeque<Long> mapped = new ArrayDeque<>();
    private final Thread thread = new Thread(this, "ring-preallocator");
    private volatile boolean sleeping;
    private volatile boolean stopped;

    Preallocator(Slots slots, Positions positions, int segmentBytes, int mostMapped) {
        this.slots = slots;
        this.positions = positions;
        this.keep = mostMapped >= slots.count();
        int wanted = Math.max(LEAST_AHEAD, Math.min(MOST_AHEAD, BYTES_AHEAD / segmentBytes));
        // The writer and the reader each have a current segment, and {@code ahead} more.
        this.ahead = keep ? Math.min(wanted, slots.count() - 2) : Math.min(wanted, mostMapped / 2 - 1);
        if (ahead < 1) {
            throw new IllegalArgumentException("mapped segments: expected 4 at least");
        }
    }

    /** Preallocates the first segment and starts the thread. */
    void start() throws IOException {
        for (int slot = 0; keep && slot < slots.count(); slot++) {
            slots.map(slot);
        }
        if (keep) {
            positions.set(Positions.READABLE, Long.MAX_VALUE);
        }
        step();
        thread.setDaemon(true);
        thread.start();
    }

    /** Called by writer and reader after a roll. */
    void wakeIfNeeded() {
        if (sleeping && (!keep || preallocated() <= ahead / 2)) {
            LockSupport.unpark(thread);
        }
    }

    private long preallocated() {
        return positions.get(Positions.PREALLOCATED) - positions.get(Positions.WRITER) - 1;
    }

    void stop() {
        stopped = true;
        LockSupport.unpark(thread);
        Threads.join(thread);
    }

    @Override
    public void run() {
        try {
            while (!stopped) {
                if (step()) {
                    continue;
                }
                sleeping = true;
                if (!step()) {
                    LockSupport.parkNanos(NAP_NANOS);
                }
                sleeping = false;
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private boolean step() throws IOException {
        long writer = positions.get(Positions.WRITER);
        long next = positions.get(Positions.PREALLOCATED);
        boolean done = false;
        if (!keep) {
            done = followReader(writer, next);
        }
        if (next <= writer + ahead && next < positions.get(Positions.LOW_WATERMARK) + slots.count()) {
            int slot = slot(next);
            slots.fill(slot);
            if (!keep) {
                slots.map(slot);
                slots.touchIfLarge(slot);
                mapped.add(next);
            } else {
                slots.renewIfSynced(slot);
            }
            positions.set(Positions.PREALLOCATED, next + 1);
            done = true;
        }
        return done;
    }

    // The reader's position may be stale, but never passes READABLE, which only this thread moves.
    private boolean followReader(long writer, long preallocated) throws IOException {
        long reader = positions.get(Positions.READER);
        boolean done = false;
        for (Iterator<Long> ids = mapped.iterator(); ids.hasNext(); ) {
            long id = ids.next();
            if (id < writer && (id < reader || id > reader + ahead)) {
                slots.unmap(slot(id));
                ids.remove();
                done = true;
            }
        }
        long readable = positions.get(Positions.READABLE);
        if (readable < preallocated && readable <= reader + ahead) {
            if (!mapped.contains(readable)) {
                slots.map(slot(readable));
                mapped.add(readable);
            }
            positions.set(Positions.READABLE, readable + 1);
            done = true;
        }
        return done;
    }

    private int slot(long id) {
        return (int) (id % slots.count());
    }
}
