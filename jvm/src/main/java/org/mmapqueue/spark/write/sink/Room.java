package org.mmapqueue.spark.write.sink;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueStats;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.TooLargeException;
import org.mmapqueue.spark.write.staging.StagedFile;
import org.mmapqueue.write.RoomWait;

/** Computes whether rows fit into a partition, and makes the exceptions if they do not. */
final class Room {
    private static final long SEGMENT_HEADER = 64;
    private static final long LOOK_AGAIN_MILLIS = 5;

    private final MmapQueue queue;
    private final String what;
    private final long needed;

    /**
     * Computes the room that rows need.
     *
     * @param queue the partition
     * @param files the rows
     * @param what name of the write, for messages
     */
    Room(MmapQueue queue, List<StagedFile> files, String what) {
        this.queue = queue;
        this.what = what;
        boolean stamped = Boolean.parseBoolean(queue.config().asMap().get("timestamps"));
        this.needed = files.stream()
                .mapToLong(file -> file.logBytes() - (stamped ? 0 : 8 * file.count()))
                .sum();
    }

    private static long most(QueueStats stats) {
        return (stats.capacitySegments() - 1L) * (stats.segmentSize() - SEGMENT_HEADER);
    }

    private static long free(QueueStats stats) {
        long size = stats.segmentSize();
        long end = (stats.lowWatermark() / size + stats.capacitySegments()) * size;
        long bytes = end - stats.writingPosition();
        return bytes - (bytes / size + 1) * SEGMENT_HEADER;
    }

    /**
     * Waits until the rows fit.
     *
     * @param deadline by System.nanoTime
     * @return the wait, in ns; 0 if they fit at once
     * @throws TooLargeException if the rows can never fit
     * @throws FullException if the rows do not fit in time
     */
    long await(long deadline, Duration timeout) throws InterruptedException {
        // Records of a consumer beyond max_consumer_lag, and of one that reads on in the archive, are given up only
        // when the writer needs their slot.
        Map<String, String> config = queue.config().asMap();
        boolean drops = !"0".equals(config.get("max_consumer_lag")) || "archive".equals(config.get("overflow"));
        RoomWait wait = new RoomWait(path(), queue::heldBy);
        long refused = 0;
        while (true) {
            QueueStats stats = queue.stats();
            if (needed > most(stats)) {
                throw tooLarge(null);
            }
            long now = System.nanoTime();
            if (drops || needed <= free(stats)) {
                return refused == 0 ? 0 : now - refused;
            }
            refused = refused == 0 ? now : refused;
            if (now - deadline >= 0) {
                throw full(timeout, null);
            }
            wait.goesOn();
            Thread.sleep(LOOK_AGAIN_MILLIS);
        }
    }

    /** The exception for rows that exceed the ring; returns the cause if they do not. */
    TooLargeException tooLarge(TooLargeException cause) {
        QueueStats stats = queue.stats();
        if (cause != null && needed <= most(stats)) {
            return cause;
        }
        TooLargeException error = new TooLargeException(what + " takes " + needed + " bytes of " + path() + "; its"
                + " ring holds " + most(stats) + " (" + stats.capacitySegments() + " segments of "
                + stats.segmentSize() + " bytes): write less at once (for streams by a limit of the source such as"
                + " maxOffsetsPerTrigger, for batches by parts), to more partitions, or to a larger queue (option"
                + " capacity of a new one)");
        if (cause != null) {
            error.initCause(cause);
        }
        return error;
    }

    /** The exception for rows that did not fit in time. */
    FullException full(Duration timeout, FullException cause) {
        QueueStats stats = queue.stats();
        FullException error = new FullException(what + " takes " + needed + " bytes of " + path() + ", of which "
                + Math.max(0, free(stats)) + " of " + most(stats) + " are free, and there was no room within"
                + " pushTimeout = " + timeout.toMillis() + "ms; " + queue.heldBy());
        if (cause != null) {
            error.initCause(cause);
        }
        return error;
    }

    private Path path() {
        return Path.of(queue.config().asMap().get("queue_dir"));
    }
}
