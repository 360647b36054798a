package org.mmapqueue.write;

import java.io.IOException;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.GuardedLog;
import org.mmapqueue.log.DamageSkip;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.log.OffsetResolver;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.metrics.RecordCounter;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.swap.Swapper;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Drops records for consumers that have not acked them, and counts them; or leaves them to the archive, which counts as
 * no loss. One thread drops at a time; any thread may
 * read the counts.
 */
final class DroppedRecords {
    private static final Logger LOG = LoggerFactory.getLogger(DroppedRecords.class);

    private final Geometry geometry;
    private final MetaPage meta;
    private final Swapper swapper;
    private final Map<String, RecordCounter> counts = new ConcurrentHashMap<>();
    private boolean hasWarned;
    private final GuardedLog untold = new GuardedLog();
    /** Consumers that were behind the ring at the last look. */
    private final Set<String> behind = new HashSet<>();

    DroppedRecords(Geometry geometry, MetaPage meta, Swapper swapper) {
        this.geometry = geometry;
        this.meta = meta;
        this.swapper = swapper;
    }

    /** Whether {@link #tell} has something to log. Any thread. */
    boolean hasToTell() {
        return untold.hasToTell();
    }

    /** Logs what was dropped since the last call. Any thread, without a lock; exceptions of the log end nothing. */
    void tell() {
        untold.tell();
    }

    /** Counts the records dropped for a consumer since the queue was opened, and their bytes in the log. */
    RecordCounter count(String consumer) {
        return counts.computeIfAbsent(consumer, name -> new RecordCounter());
    }

    /**
     * Drops everything before a position that the consumer still needs.
     *
     * @param consumer the consumer; an empty name means the queue without a consumer
     * @param to the end of a record
     * @param withGaps whether bytes without a record are dropped, too: what a recovery leaves unused of a segment
     * @param reason continues a sentence that begins with the consumer's name
     * @return whether anything was dropped
     */
    boolean drop(Registry.Named consumer, long to, boolean withGaps, long writing, String reason) throws IOException {
        ConsumerCursors cursors = consumer.cursors();
        long needed = cursors.needed();
        // A consumer before the reclaimed position is being moved back, which will fail.
        if (to <= needed || needed < meta.reclaimed()) {
            return false;
        }
        if (consumer.name().isEmpty()) {
            cursors.drop(to, 0);
            warnOfDropWithoutConsumer(to, reason);
            return true;
        }
        LogReaderV2 reader = new LogReaderV2(swapper, geometry, meta.fields(), meta::writing);
        try {
            boolean continues = cursors.dropped() > cursors.committed();
            long next = offsetAt(reader, to, writing);
            long from = Math.min(next, offsetAt(reader, needed, writing));
            if (from == next && !withGaps) {
                return false;
            }
            cursors.drop(to, continues ? cursors.droppedFirst() : from);
            count(consumer.name()).add(next - from, to - needed);
            // Logs once until the consumer acknowledges the drop; until then it may lose one segment for each
            // segment written.
            if (!continues && from < next) {
                untold.note(() -> LOG.warn(
                        "consumer {} {}: records from {} to {} are dropped for it, and more until it continues",
                        consumer.name(),
                        reason,
                        from,
                        next - 1));
            }
            return true;
        } finally {
            reader.leave();
        }
    }

    /**
     * Leaves everything before a position to the archive, for a consumer that needs it.
     *
     * @param to the end of a record
     */
    void leaveToArchive(Registry.Named consumer, long to, long writing) throws IOException {
        ConsumerCursors cursors = consumer.cursors();
        long needed = cursors.needed();
        if (to <= needed || needed < meta.reclaimed()) {
            if (cursors.committed() >= cursors.dropped()) {
                behind.remove(consumer.name());
            }
            return;
        }
        if (cursors.dropped() > cursors.committed()) {
            cursors.dropMore(to);
        } else {
            LogReaderV2 reader = new LogReaderV2(swapper, geometry, meta.fields(), meta::writing);
            try {
                cursors.drop(to, offsetAt(reader, needed, writing));
            } finally {
                reader.leave();
            }
        }
        if (behind.add(consumer.name())) {
            long first = cursors.unackedOffset();
            untold.note(() -> LOG.info(
                    "consumer {} is behind the ring: it reads on in the archive, from record {}",
                    consumer.name(),
                    first));
        }
    }

    // The offset of the record at a position. Damage must not keep the writer from dropping: then the offset of the
    // first
    // intact record after it is taken.
    private static long offsetAt(LogReaderV2 reader, long position, long writing) throws IOException {
        DamageSkip skip = new DamageSkip(reader, () -> writing);
        long offset = skip.offsetAt(position);
        if (offset >= 0) {
            return offset;
        }
        try {
            return OffsetResolver.find(reader, position, writing).nextOffset();
        } catch (CorruptException e) {
            DamageSkip.Found later = skip.locate(-1, position);
            if (later == null) {
                throw e;
            }
            return later.offset();
        }
    }

    private void warnOfDropWithoutConsumer(long position, String reason) {
        if (!hasWarned) {
            hasWarned = true;
            untold.note(() -> LOG.warn(
                    "the queue, which has no consumer, {}: records before position {} are dropped, and more until it"
                            + " has one",
                    reason,
                    position));
        }
    }
}
