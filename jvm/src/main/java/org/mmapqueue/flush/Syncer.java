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
 * Fsyncs in a fixed order: the producers' slots, data segments, the consumers' cursors, then the recovery point ({@code
 * watermark} in the format).
 *
 * <p>The caller guarantees that one thread at a time fsyncs records and moves the recovery point. Cursors have a lock
 * of their own: an fsync of acks alone does not wait for an fsync of records.
 */
final class Syncer {
    /** A flush of at least this number of blocks leaves out the block of the log end. */
    private static final int ENOUGH_BLOCKS = 4;

    private final MetaPage meta;
    private final Geometry geometry;
    private final FillBlocks blocks;
    private final SegmentSyncer segments;
    private final Supplier<List<? extends ConsumerCursors>> consumers;
    private final Supplier<List<ProducerPage>> producers;
    private final FlusherState state;
    private final Runnable between;
    /** Guards stores to the recovery point and to {@code intact}, and the fields that say what is durable. */
    private final ReentrantLock cursors = new ReentrantLock();
    /** The log end when the last flush began. Guarded by the caller's lock. */
    private long begun;
    /**
     * Everything that is needed before this position is fsynced, if it is beyond the recovery point. Guarded likewise.
     */
    private long syncedTo;

    private long[] syncedNeeded = {};

    private long[] syncedUnacked = {};
    /** The recovery point as it was fsynced last. */
    private volatile long syncedWatermark;

    private volatile long durableCommitted;

    /**
     * A syncer with nothing fsynced.
     *
     * @param blocks chooses the block size of new files by the amount of each fsync
     * @param between runs after each segment; other threads may fsync and move the recovery point during the call
     */
    Syncer(
            FlushedPages pages,
            Geometry geometry,
            FillBlocks blocks,
            SegmentSyncer segments,
            FlusherState state,
            Runnable between) {
        this.meta = pages.meta();
        this.geometry = geometry;
        this.blocks = blocks;
        this.segments = segments;
        this.consumers = pages.consumers();
        this.producers = pages.producers();
        this.state = state;
        this.between = between;
    }

    /**
     * The durable low watermark: no recovery needs anything before this position. On the disk, neither the low
     * watermark nor the recovery point is before it. Recovery begins at the low watermark if the records around it have
     * survived, else at the recovery point.
     */
    long durableCommitted() {
        return durableCommitted;
    }

    /** Sets the initial {@link #durableCommitted}. The caller guarantees that all cursors are durable. */
    void startAt(long committed) {
        syncedWatermark = meta.watermark();
        durableCommitted = committed;
    }

    /** Lowers {@link #durableCommitted} to this position, until cursors are fsynced again. */
    void durableAtMost(long committed) {
        cursors.lock();
        try {
            durableCommitted = Math.min(durableCommitted, committed);
        } finally {
            cursors.unlock();
        }
    }

    /** Makes durable that nothing before this position is retained. */
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

    /** Ends fsyncing: nothing is fsynced after this returns. */
    void end() {
        cursors.lock();
        try {
            state.end();
        } finally {
            cursors.unlock();
        }
    }

    /** Every record that ends at or before this position survives a loss of power. */
    long durableTo() {
        return geometry.format().recoversUnsynced() ? meta.watermark() : syncedWatermark;
    }

    /**
     * Fsyncs published records up to the writing position, and the producers' slots, but no acks. In version 1 also the
     * cursors with the recovery point: a recovery finds no record after it.
     */
    void syncRecords() throws IOException {
        long target = meta.writing();
        noteAmount();
        if (!geometry.format().recoversUnsynced()) {
            syncAll();
            return;
        }
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

    /** Reports the number of unsynced bytes to {@link FillBlocks}, for flushes on request or by count. */
    void noteAmount() {
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
     * As {@link #syncAll()}, but leaves out the block of the log end if at least four blocks are unsynced: after an
     * fsync each page of that block would fault at its next store. The records left out were published after the
     * previous flush began. The recovery point moves to the end of a record before that block.
     *
     * @return whether everything was fsynced
     */
    boolean syncMost() throws IOException {
        long from = Math.max(begun, meta.watermark());
        long target = meta.writing();
        long lastBlock = blockStart(target);
        noteAmount();
        if ((target - from) / ENOUGH_BLOCKS < blocks.large() || !mayBeLeft(from, lastBlock)) {
            syncAll();
            return true;
        }
        begun = target;
        Part needed = new Part(from, lastBlock);
        syncData(lastBlock, needed, between);
        syncCursors(needed.watermark);
        syncedTo = lastBlock;
        return false;
    }

    // Whether the last block may be left out of a flush. Not in version 1, which loses everything after the recovery
    // point. Not with producers: their slots are fsynced with the whole log. The recovery point must not stay before
    // segments that are skipped because they are acked: no recovery can begin there. So where the low watermark is in
    // the last block, a partial flush skips no segment (see Part), and is allowed over two segments at most.
    private boolean mayBeLeft(long from, long lastBlock) {
        return geometry.format().recoversUnsynced()
                && producers.get().isEmpty()
                && (meta.isRetaining()
                        || lowWatermark() <= lastBlock
                        || geometry.segmentOfEnd(lastBlock) - geometry.segmentOf(from) <= 1);
    }

    // The position at which the block of the log end begins.
    private long blockStart(long end) {
        long inSegment = end - geometry.position(geometry.segmentOf(end), 0);
        return end - inSegment % blocks.large();
    }

    /**
     * Supplies the position from which records are needed, and computes the recovery point after fsyncing a part of the
     * log.
     */
    private final class Part implements LongSupplier {
        private final long from;
        private final long to;
        private long watermark;

        Part(long from, long to) {
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
     * Fsyncs the cursors, and the records before the low watermark that recovery may need: those in its segment. Moves
     * the recovery point to the low watermark.
     */
    void syncAcked() throws IOException {
        long target = lowWatermark();
        // The recovery point may not pass a batch with an unsynced slot, and a slot is fsynced together with the
        // whole log.
        boolean isPartial = producers.get().stream().noneMatch(ProducerPage::isDirty);
        // Does not let other threads fsync between segments: the thread that waits needs all of this.
        syncAll(isPartial ? target : meta.writing(), () -> {});
    }

    private void syncAll(long target, Runnable afterSegment) throws IOException {
        List<ProducerPage> slots = syncSlots();
        syncData(slots.isEmpty() ? target : meta.writing(), this::lowWatermark, afterSegment);
        syncCursors(target);
        slots.forEach(ProducerPage::endSync);
    }

    /**
     * Fsyncs the cursors alone, if that makes {@link #durableCommitted} pass a position.
     *
     * @return whether it has passed; otherwise records have to be fsynced, too
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
                    && Arrays.equals(needed(all), syncedNeeded)
                    && Arrays.equals(unacked(all), syncedUnacked)
                    && durableCommitted == lowWatermark()
                    && producers.get().stream().noneMatch(ProducerPage::isDirty);
        } finally {
            cursors.unlock();
        }
    }

    private static long[] needed(List<? extends ConsumerCursors> all) {
        return all.stream().mapToLong(ConsumerCursors::needed).toArray();
    }

    // What consumers that are behind the ring have acked changes nothing else.
    private static long[] unacked(List<? extends ConsumerCursors> all) {
        return all.stream().mapToLong(ConsumerCursors::unackedOffset).toArray();
    }

    // Computed from the cursors in memory, durable or not.
    private long lowWatermark() {
        long writing = meta.writing();
        return lowWatermark(writing, needed(consumers.get()));
    }

    private long lowWatermark(long writing, long[] needed) {
        long least = Arrays.stream(needed).min().orElseThrow();
        // Long.MAX_VALUE: a consumer is being created, and does not need anything yet.
        return least == Long.MAX_VALUE ? meta.reclaimed() : Math.min(writing, least);
    }

    /**
     * Fsyncs the slots of at least all batches that end before the writing position as it was before the call: the
     * recovery point never passes a batch with an unsynced slot. Slots come first, since a slot does not count without
     * its batch. After this, the caller fsyncs the log up to its end.
     *
     * @return the fsynced pages, for {@link ProducerPage#endSync} when the log is fsynced
     */
    private List<ProducerPage> syncSlots() throws IOException {
        List<ProducerPage> all = producers.get();
        if (all.isEmpty()) {
            return all;
        }
        List<ProducerPage> synced = new ArrayList<>();
        for (ProducerPage page : all) {
            if (page.beginSync(meta::writing)) {
                page.force();
                synced.add(page);
            }
        }
        return synced;
    }

    /**
     * Fsyncs what has been published since the last flush, up to {@code target}. Without retention, segments before
     * {@code needed} are skipped, also if {@code needed} moves during the fsyncs: no consumer reads them again once the
     * cursors are durable. The segment of {@code needed} is fsynced from its beginning, where the offset resolver
     * begins. The last segment is fsynced even when all of it is acked, for the offset of the next record.
     */
    private void syncData(long target, LongSupplier needed, Runnable afterSegment) throws IOException {
        long last = geometry.segmentOfEnd(target);
        long from = Math.max(syncedTo, meta.watermark());
        while (from < target) {
            long first = meta.isRetaining() ? 0 : Math.min(geometry.segmentOf(needed.getAsLong()), last);
            // An older id shares its slot with a segment of this generation.
            first = Math.max(first, last - geometry.capacity() + 1);
            if (geometry.segmentOf(from) < first) {
                from = geometry.position(first, 0);
                intactFrom(from);
            }
            long id = geometry.segmentOf(from);
            int end = id == last ? geometry.byteOfEnd(target) : geometry.segmentSize();
            segments.force(id, (int) (from - geometry.position(id, 0)), end);
            afterSegment.run();
            from = Math.max(geometry.position(id, end), meta.watermark());
        }
    }

    // Storing this word before the fsync is safe; the kernel may write it back at any time.
    private void intactFrom(long position) {
        cursors.lock();
        try {
            meta.intact(Math.max(meta.intact(), position));
        } finally {
            cursors.unlock();
        }
    }

    /** Fsyncs the cursors and the recovery point, which is raised to {@code target} first. */
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
        // Loaded before the cursors: if a consumer is moved back in between, the cursors loaded here do not count.
        long changes = meta.consumerChanges();
        List<? extends ConsumerCursors> all = consumers.get();
        // Loaded once: what is remembered as durable must be what was fsynced.
        long writing = meta.writing();
        long[] needed = needed(all);
        long[] unacked = unacked(all);
        for (ConsumerCursors consumer : all) {
            consumer.force();
        }
        // Stored after the consumers' pages are durable: the kernel may write this word back at any time.
        long watermark = Math.max(target, meta.watermark());
        meta.watermark(watermark);
        meta.mirror();
        meta.force();
        syncedNeeded = needed;
        syncedUnacked = unacked;
        syncedWatermark = watermark;
        long durable = Math.min(lowWatermark(writing, needed), watermark);
        durableCommitted = meta.consumerChanges() == changes ? durable : Math.min(durable, meta.reclaimed());
    }

    // Poisons before the unlock: the kernel may have dropped the pages, so a later fsync by another thread proves
    // nothing.
    private void guarded(Flusher.Syncing syncing) throws IOException {
        try {
            syncing.run();
        } catch (IOException | RuntimeException | Error e) {
            state.poison(e);
            throw e;
        }
    }
}
