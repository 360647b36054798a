package org.mmapqueue.bench.roofline;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.locks.LockSupport;
import org.mmapqueue.io.Threads;

/**
 * The cheapest flusher: each second, or after {@code ceiling} bytes, it fsyncs the bytes written since, without acked
 * ones, while the writer appends to the same segment.
 */
final class Syncer implements Runnable {
    private static final long PERIOD_NANOS = 1_000_000_000;
    private static final long LOOK_NANOS = 1_000_000;

    private final Slots slots;
    private final Positions positions;
    private final int segmentBytes;
    private final long ceiling;
    private final Thread thread = new Thread(this, "ring-syncer");
    private volatile boolean stopped;

    Syncer(Slots slots, Positions positions, int segmentBytes, long ceiling) {
        this.slots = slots;
        this.positions = positions;
        this.segmentBytes = segmentBytes;
        this.ceiling = ceiling;
    }

    void start() {
        thread.setDaemon(true);
        thread.start();
    }

    void stop() {
        stopped = true;
        Threads.join(thread);
    }

    @Override
    public void run() {
        long synced = 0;
        long last = System.nanoTime();
        try {
            while (!stopped) {
                long end = positions.get(Positions.WRITTEN);
                long now = System.nanoTime();
                if (end - synced < ceiling && now - last < PERIOD_NANOS) {
                    LockSupport.parkNanos(LOOK_NANOS);
                    continue;
                }
                synced = Math.max(synced, positions.get(Positions.LOW_WATERMARK) * segmentBytes);
                while (synced < end && !stopped) {
                    int from = (int) (synced % segmentBytes);
                    int length = (int) Math.min(segmentBytes - from, end - synced);
                    slots.sync((int) (synced / segmentBytes % slots.count()), from, length);
                    synced += length;
                }
                last = now;
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
