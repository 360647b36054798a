package org.mmapqueue.flush;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.ProducerPage;
import org.mmapqueue.segment.FillBlocks;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentSyncer;

/**
 * What is fsynced in which order: the producers' slots, data segments, the consumers' cursors, then the watermark.
 *
 * <p>The caller sees to it that one thread at a time fsyncs records, and moves the watermark. Cursors have a lock of
 * their own: who needs nothing but acks on the disk does not wait for records to get there.
 */
final class Syncer {
    /** The block that the log ends in is left out of a flush of so many blocks, or more. */
    private static final int ENOUGH_BLOCKS = 4;

    private final MetaPage meta;
    private final Geometry geometry;
    private final FillBlocks blocks;
    private final SegmentSyncer segments;
    private final Supplier<List<? extends ConsumerCursors>> consumers;
    private final Supplier<List<ProducerPage>> producers;
    private final FlusherState state;
    private final Runnable between;
    /** Guards stores to the watermark and to intact, and what is known of the disk. */
    private final ReentrantLock cursors = new ReentrantLock();
    /** Where the log ended when the last flush began; the caller sees to it that one thread at a time uses it. */
    private long begun;
    /** So far is fsynced what is needed, if that is beyond the watermark; likewise. */
    private long syncedTo;

    private long[] syncedMoving = {};
    private long[] syncedNeeded = {};
    private long syncedWatermark;
    private volatile long durableCommitted;

    /**
     * With nothing fsynced yet.
     *
     * @param blocks are told what is fsynced
     * @param between run after each segment of many; others may fsync and move the watermark then
     */
    Syncer(
            MetaPage meta,
            Geometry geometry,
            FillBlocks blocks,
            SegmentSyncer segments,
            Supplier<List<? extends ConsumerCursors>> consumers,
            Supplier<List<ProducerPage>> producers,
            FlusherState state,
            Runnable between) {
        this.meta = meta;
        this.geometry = geometry;
        this.blocks = blocks;
        this.segments = segments;
        this.consumers = consumers;
        this.producers = producers;
        this.state = state;
        this.between = between;
    }

    /**
     * No recovery needs anything before this position: neither the slowest consumer's committed position on the disk
     * nor the watermark there is before it. Recovery begins at the former when the records around it have survived,
     * else at the latter.
     */
    long durableCommitted() {
        return durableCommitted;
    }

    /** Says what {@link #durableCommitted} is at the beginning, when all cursors are on the disk. */
    void startAt(long committed) {
        syncedWatermark = meta.watermark();
        durableCommitted = committed;
    }

    /** What was fsynced of cursors does not count beyond this position, until they are fsynced again. */
    void durableAtMost(long committed) {
        cursors.lock();
        try {
            durableCommitted = Math.min(durableCommitted, committed);
        } finally {
            cursors.unlock();
        }
    }

    /** Fsyncs that nothing before this position is retained. */
    void giveUpBefore(long position) throws IOException {
        cursors.lock();
        try {
            state.check();
            meta.intact(Math.max(meta.intact(), position));
            guarded(meta::force);
        } finally {
            cursors.unlock();
        }
    }

    /** Nothing is fsynced any more when this returns. */
    void end() {
        cursors.lock();
        try {
            state.end();
        } finally {
            cursors.unlock();
        }
    }

    /** Fsyncs what has been published, up to the writing position, and what has been pushed once; no acks. */
    void syncRecords() throws IOException {
        long target = meta.writing();
        tellAmount();
        List<ProducerPage> slots = syncSlots();
        syncData(slots.isEmpty() ? target : meta.writing(), () -> durableCommitted, between);
        cursors.lock();
        try {
            state.check();
            meta.watermark(Math.max(target, meta.watermark()));
        } finally {
            cursors.unlock();
        }
        slots.forEach(ProducerPage::endSync);
    }

    /** Says that what has been published is fsynced now, and not because a period is over: files are filled accordingly. */
    void tellAmount() {
        blocks.synced(meta.writing() - Math.max(syncedTo, meta.watermark()));
    }

    /** Fsyncs everything that has been published and acked. */
    void syncAll() throws IOException {
        if (!isAllSynced()) {
            begun = meta.writing();
            syncAll(begun, between);
        }
    }

    /**
     * As {@link #syncAll()}, but leaves out the block of the file that the log ends in, if there are at least four
     * of them to fsync: each of the pages that are fsynced there would fault at its next store. What is left had not been
     * published when the flush before began. The watermark stays at the end of a record before that block.
     *
     * @return whether nothing was left
     */
    boolean syncSettled() throws IOException {
        long from = Math.max(begun, meta.watermark());
        long target = meta.writing();
        long settled = settled(target);
        tellAmount();
        if ((target - from) / ENOUGH_BLOCKS < blocks.large() || !mayBeLeft(from, settled)) {
            syncAll();
            return true;
        }
        begun = target;
        Settled needed = new Settled(from, settled);
        syncData(settled, needed, between);
        syncCursors(needed.watermark);
        syncedTo = settled;
        return false;
    }

    // Version 1 loses what is behind the watermark. A producer's slot is fsynced with all of the log. And the watermark
    // is
    // not to stay behind segments that are left out because all has been acked: no recovery can begin there. So where
    // consumers keep up what was pushed since the last flush is fsynced all the same, unless that is many segments.
    private boolean mayBeLeft(long from, long settled) {
        return geometry.format().recoversUnsynced()
                && producers.get().isEmpty()
                && (meta.isRetaining()
                        || lowWatermark() <= settled
                        || geometry.segmentOfEnd(settled) - geometry.segmentOf(from) <= 1);
    }

    // Where the block begins.
    private long settled(long end) {
        long inSegment = end - geometry.position(geometry.segmentOf(end), 0);
        return end - inSegment % blocks.large();
    }

    /** From where on consumers need what is fsynced, and where a record ends that the watermark may move to. */
    private final class Settled implements LongSupplier {
        private final long from;
        private final long to;
        private long watermark;

        Settled(long from, long to) {
            this.from = from;
            this.to = to;
            this.watermark = from;
        }

        @Override
        public long getAsLong() {
            long needed = lowWatermark();
            if (needed > to) {
                return from;
            }
            watermark = Math.max(watermark, needed);
            return needed;
        }
    }

    /**
     * Fsyncs the cursors, and of the records those that the slowest consumer has acked: as far as recovery may need
     * them, which is the segment that it stands in. Then the watermark stands there, too.
     */
    void syncAcked() throws IOException {
        long target = lowWatermark();
        // The watermark does not pass a batch whose slot was not fsynced, and a slot is fsynced with all of the log.
        boolean isPartial = producers.get().stream().noneMatch(ProducerPage::isDirty);
        // Whoever waits for the end of this gains nothing by coming in between.
        syncAll(isPartial ? target : meta.writing(), () -> {});
    }

    private void syncAll(long target, Runnable eachTime) throws IOException {
        List<ProducerPage> slots = syncSlots();
        syncData(slots.isEmpty() ? target : meta.writing(), this::lowWatermark, eachTime);
        syncCursors(target);
        slots.forEach(ProducerPage::endSync);
    }

    /**
     * Fsyncs the cursors alone, if that brings {@link #durableCommitted} beyond a position.
     *
     * @return whether it has; if not, records have to be fsynced, too
     */
    boolean syncCursorsBeyond(long position) throws IOException {
        cursors.lock();
        try {
            if (Math.min(lowWatermark(), meta.watermark()) > position) {
                syncCursors(0);
            }
            return durableCommitted > position;
        } finally {
            cursors.unlock();
        }
    }

    private boolean isAllSynced() {
        cursors.lock();
        try {
            List<? extends ConsumerCursors> all = consumers.get();
            return meta.writing() == syncedWatermark
                    && Arrays.equals(moving(), syncedMoving)
                    && Arrays.equals(needed(all), syncedNeeded)
                    && durableCommitted == lowWatermark()
                    && producers.get().stream().noneMatch(ProducerPage::isDirty);
        } finally {
            cursors.unlock();
        }
    }

    private long[] moving() {
        return new long[] {meta.reading(), meta.committed()};
    }

    private static long[] needed(List<? extends ConsumerCursors> all) {
        return all.stream().mapToLong(ConsumerCursors::needed).toArray();
    }

    // The place from which on somebody needs the log, as the cursors in memory say.
    private long lowWatermark() {
        long writing = meta.writing();
        return lowWatermark(writing, needed(consumers.get()));
    }

    private long lowWatermark(long writing, long[] needed) {
        long least = Arrays.stream(needed).min().orElseThrow();
        // One that is made while the others are looked at seems to need nothing.
        return least == Long.MAX_VALUE ? meta.reclaimed() : Math.min(writing, least);
    }

    /**
     * Fsyncs the slots of all batches that end before the writing position as it was before the call, at least: the
     * watermark is not to pass a batch whose slot could get lost. A slot that is fsynced counts nothing without its
     * batch, so these come first; and the log is to be fsynced up to where it ends by then.
     *
     * @return what has been fsynced, to be told when all else is, too
     */
    private List<ProducerPage> syncSlots() throws IOException {
        List<ProducerPage> all = producers.get();
        if (all.isEmpty()) {
            return all;
        }
        List<ProducerPage> synced = new ArrayList<>();
        for (ProducerPage page : all) {
            if (page.beginForce(meta::writing)) {
                page.force();
                synced.add(page);
            }
        }
        return synced;
    }

    /**
     * Fsyncs what has been published since the last time, up to {@code target}. Without retention, segments before
     * {@code needed} are left out, also if they get there while others are being fsynced: nobody will read them again,
     * once the cursors that say so are on the disk. The segment that holds {@code needed} is fsynced from its beginning,
     * because finding the number of a record begins there; so is the last one, for the number of the next record, even
     * when all of it has been acked.
     */
    private void syncData(long target, LongSupplier needed, Runnable eachTime) throws IOException {
        long last = geometry.segmentOfEnd(target);
        long from = Math.max(syncedTo, meta.watermark());
        while (from < target) {
            long first = meta.isRetaining() ? 0 : Math.min(geometry.segmentOf(needed.getAsLong()), last);
            // An id a generation behind shares its slot with a later one.
            first = Math.max(first, last - geometry.capacity() + 1);
            if (geometry.segmentOf(from) < first) {
                from = geometry.position(first, 0);
                intactFrom(from);
            }
            long id = geometry.segmentOf(from);
            int end = id == last ? geometry.offsetOfEnd(target) : geometry.segmentSize();
            segments.force(id, (int) (from - geometry.position(id, 0)), end);
            eachTime.run();
            from = Math.max(geometry.position(id, end), meta.watermark());
        }
    }

    // The kernel may write this word to the disk at any time; too early does no harm.
    private void intactFrom(long position) {
        cursors.lock();
        try {
            meta.intact(Math.max(meta.intact(), position));
        } finally {
            cursors.unlock();
        }
    }

    /** Fsyncs the cursors, and the watermark with them, which is moved to {@code target} unless it is ahead of that. */
    private void syncCursors(long target) throws IOException {
        cursors.lock();
        try {
            state.check();
            guarded(() -> storeCursors(target));
        } finally {
            cursors.unlock();
        }
    }

    private void storeCursors(long target) throws IOException {
        // Before the cursors are read: one that is moved back meanwhile makes what is read here worthless.
        long changes = meta.consumerChanges();
        List<? extends ConsumerCursors> all = consumers.get();
        // Read once: what is remembered as fsynced must be what was fsynced.
        long[] moving = moving();
        long writing = meta.writing();
        long[] needed = needed(all);
        for (ConsumerCursors consumer : all) {
            if (consumer != meta) {
                consumer.force();
            }
        }
        // Not before: the kernel may write this word to the disk at any time.
        long watermark = Math.max(target, meta.watermark());
        meta.watermark(watermark);
        meta.mirror();
        meta.force();
        syncedMoving = moving;
        syncedNeeded = needed;
        syncedWatermark = watermark;
        long durable = Math.min(lowWatermark(writing, needed), watermark);
        durableCommitted = meta.consumerChanges() == changes ? durable : Math.min(durable, meta.reclaimed());
    }

    // Told before the lock is given back: what is fsynced by whoever has it next could not be trusted.
    private void guarded(Flusher.Syncing syncing) throws IOException {
        try {
            syncing.run();
        } catch (IOException | RuntimeException | Error e) {
            state.poison(e);
            throw e;
        }
    }
}
