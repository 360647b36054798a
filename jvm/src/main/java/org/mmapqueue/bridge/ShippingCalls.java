package org.mmapqueue.bridge;

import java.time.Duration;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.errors.MmapQueueException;

/** The calls of an open queue that are about its archive. Thread-safe. */
public abstract sealed class ShippingCalls permits QueueHandle {
    private final MmapQueue queue;

    ShippingCalls(MmapQueue queue) {
        this.queue = queue;
    }

    /**
     * Returns the recovery point.
     *
     * @return the offset after the last durable record
     */
    public long durableOffset() {
        return queue.durableOffset();
    }

    /**
     * Waits until the archive has a record and all records before it.
     *
     * @param offset the record's offset
     * @param millis the longest wait, in ms
     * @return 1 if the archive has them, 0 after the wait
     * @throws MmapQueueException as {@link MmapQueue#awaitShipped} does
     * @throws InterruptedException if the thread is interrupted
     */
    public int awaitShipped(long offset, int millis) throws InterruptedException {
        return queue.awaitShipped(offset, Duration.ofMillis(millis)) ? 1 : 0;
    }

    /**
     * Returns what this process has shipped.
     *
     * @return the components of {@link org.mmapqueue.archive.ShipStats} as lines of name=value; empty if this process
     *     does not ship
     */
    public String shipStats() {
        return queue.shipStats().map(stats -> StatsText.of(stats, "\n")).orElse("");
    }
}
