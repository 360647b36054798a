package org.mmapqueue.consume;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.OptionalLong;
import org.mmapqueue.StartAt;
import org.mmapqueue.lookup.Log;

/** The archive for what the ring gives up, as a consumer of the queue uses it. Safe for any number of threads. */
public interface QueueArchive {
    /** For a queue that gives up nothing. */
    QueueArchive NONE = new QueueArchive() {
        @Override
        public boolean isThere() {
            return false;
        }

        @Override
        public long firstOffset() {
            throw new IllegalStateException("the queue has no archive");
        }

        @Override
        public OptionalLong find(Instant time) {
            throw new IllegalStateException("the queue has no archive");
        }

        @Override
        public ReadAhead readAhead(String consumer, boolean skipsDamage) {
            throw new IllegalStateException("the queue has no archive");
        }
    };

    /** Whether the queue has such an archive; reads a file of the queue's directory. */
    boolean isThere();

    /**
     * The offset of the oldest record in the archive. Waits for a file system.
     *
     * @throws org.mmapqueue.errors.MmapQueueException if the archive cannot be read
     */
    long firstOffset();

    /** The offset of the first record in the archive that was pushed at a time or later; as {@link #firstOffset}. */
    OptionalLong find(Instant time);

    /**
     * The offset of the first record that was pushed at a time or later, if only the archive has it; waits for a file
     * system only if the ring does not tell.
     *
     * @param time the time
     */
    default OptionalLong findBeforeRing(StartAt time, Log log) {
        long found = log.locate(time).offset();
        long ring = log.locate(StartAt.EARLIEST).offset(); // afterwards: it may move on in between
        if (ring == 0 || found > ring) {
            return OptionalLong.empty(); // the record before that one is older, and in the ring
        }
        OptionalLong older = find(Instant.EPOCH.plus(time.value(), ChronoUnit.MICROS));
        return older.isPresent() && older.getAsLong() < ring ? older : OptionalLong.empty();
    }

    /**
     * Loads records ahead of a consumer; reads nothing yet.
     *
     * @param skipsDamage whether damaged and missing records are skipped
     */
    ReadAhead readAhead(String consumer, boolean skipsDamage);
}
