package org.mmapqueue.recovery;

import java.io.IOException;
import java.util.List;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.log.LogEnd;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.log.OffsetResolver;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.swap.Swapper;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the end of a log of version 2 that was not closed, and makes it final. The first pass only reads. The later
 * passes write, each fsynced before the next, so that after a crash the next recovery finds the same end:
 *
 * <ol>
 * <li>Walk: find the last intact record.
 * <li>Seal: store a pad after that record, valid only in the next epoch; fsync everything that the walk has read, and the
 * cursors; delete the files of all free slots, which may hold records that were never complete.
 * <li>Cut: delete what consumers have stored about records after the end: their offsets are assigned again.
 * <li>Raise the epoch.
 * <li>Move the cursors that are after the end to the segment's end.
 * </ol>
 *
 * <p>The walk begins at the recovery point ({@code watermark} in the format), or at the low watermark if that is
 * higher: the ring before it may have been reused. With retention it begins at the recovery point if the records from
 * there lead to the low watermark; otherwise nothing before the low watermark is retained. Damage before the start of
 * the walk is an error; damage after it is the log end.
 */
public final class Recovery {
    private static final Logger LOG = LoggerFactory.getLogger(Recovery.class);

    private final Swapper swapper;
    private final SegmentRing ring;
    private final Geometry geometry;
    private final MetaPage meta;
    private final boolean isComplete;
    private final List<? extends ConsumerCursors> consumers;
    private final InFlightCutter inFlight;
    private final LogReaderV2 reader;
    private long truncatedBytes;

    /** Durably removes what consumers have stored about records after the log end. */
    @FunctionalInterface
    public interface InFlightCutter {
        void cutAfter(LogEnd end) throws IOException;
    }

    /**
     * A recovery that has not run.
     *
     * @param isComplete whether the machine has run since the queue was opened last: everything that was stored is there
     */
    public Recovery(
            Swapper swapper,
            SegmentRing ring,
            MetaPage meta,
            boolean isComplete,
            List<? extends ConsumerCursors> consumers,
            InFlightCutter inFlight) {
        this.swapper = swapper;
        this.inFlight = inFlight;
        this.ring = ring;
        this.geometry = ring.geometry();
        this.meta = meta;
        this.isComplete = isComplete;
        this.consumers = consumers;
        this.reader = new LogReaderV2(swapper, geometry, meta.fields(), () -> Long.MAX_VALUE);
    }

    public LogEnd run() throws IOException {
        Walked walked;
        try {
            walked = walk();
        } finally {
            reader.leave();
        }
        LogEnd end = walked.end;
        truncatedBytes = Math.max(0, meta.writing() - end.position());
        MetaFields fields = meta.fields();
        long next = fields.epoch() + 1;
        long closed = seal(walked.start.position(), end.position(), next);
        inFlight.cutAfter(end);
        meta.fields(fields.withEpoch(next));
        // Cursors move before the recovery point: a recovery that begins there must find no consumer inside the pad.
        for (ConsumerCursors consumer : consumers) {
            // Committed after the last intact record, perhaps in its segment: the records up to there are lost.
            if (consumer.committed() > end.position()) {
                LOG.warn(
                        "{}: records that a consumer had acked up to position {} did not survive; it continues at {}",
                        ring.path(0).getParent(),
                        consumer.committed(),
                        closed);
                consumer.unackedOffset(-1);
                consumer.committed(closed);
            }
            if (consumer.dropped() > end.position()) {
                // Dropped records stay dropped, since they may be partly overwritten.
                boolean lags = consumer.committed() < closed;
                consumer.drop(lags ? closed : 0, lags ? consumer.droppedFirst() : 0);
            }
            if (consumer.reading() > end.position()) {
                consumer.reading(consumer.committed());
            }
            consumer.force();
        }
        if (!meta.isRetaining() || walked.start.position() > meta.watermark()) {
            // Acked records before this may be partly lost, and no later walk checks them.
            meta.intact(Math.min(lowWatermark(), walked.start.position()));
        }
        raiseReclaimed(closed);
        meta.writing(closed);
        meta.watermark(closed);
        meta.mirror();
        meta.force();
        return new LogEnd(closed, end.nextOffset(), end.lastTimestamp());
    }

    // Readers of other processes compare the log end with the reclaimed position. After a loss of power the stored one
    // may be more than a ring before the records that were found.
    private void raiseReclaimed(long end) {
        long oldest = geometry.position(Math.max(0, geometry.segmentOfEnd(end) - geometry.capacity() + 1), 0);
        if (meta.reclaimed() < oldest) {
            meta.reclaiming(oldest);
            meta.reclaimed(oldest);
        }
    }

    /** Bytes from the last whole record to the stored writing position, after {@link #run}. */
    public long truncatedBytes() {
        return truncatedBytes;
    }

    private record Walked(LogEnd start, LogEnd end) {}

    private Walked walk() throws IOException {
        long watermark = meta.watermark();
        long lowWatermark = lowWatermark();
        if (lowWatermark > watermark && meta.isRetaining()) {
            try {
                LogEnd start = locate(watermark);
                LogEnd end = walk(start);
                if (end.position() >= lowWatermark) {
                    return new Walked(start, end);
                }
            } catch (CorruptException e) {
                LOG.info(
                        "{}: acked records from position {} on are not retained: {}",
                        ring.path(0).getParent(),
                        watermark,
                        e.toString());
            }
        }
        LogEnd start = start(lowWatermark, watermark);
        return new Walked(start, walk(start));
    }

    private long lowWatermark() {
        long lowWatermark =
                consumers.stream().mapToLong(ConsumerCursors::needed).min().orElse(Long.MAX_VALUE);
        // A consumer before the reclaimed position was being created or moved back when its process died.
        return Math.max(lowWatermark, meta.reclaimed());
    }

    private LogEnd start(long lowWatermark, long watermark) throws IOException {
        if (lowWatermark > watermark) {
            try {
                return locate(lowWatermark);
            } catch (CorruptException e) {
                // After a loss of power the acked records may be lost, but those before the recovery point exist.
                LOG.info("the low watermark {} is not in the log any more: {}", lowWatermark, e.toString());
            }
        }
        return locate(watermark);
    }

    private LogEnd locate(long position) throws IOException {
        boolean atEnd = geometry.byteOfEnd(position) == geometry.segmentSize();
        long id = geometry.segmentOfEnd(position);
        // At the end of a segment, the next segment may already exist.
        boolean continues = atEnd && epochOf(id + 1) >= Math.max(0, epochOf(id));
        if (continues) {
            checkBegins(id + 1);
        }
        return OffsetResolver.find(reader, position, continues ? position + 1 : position);
    }

    // A reclaimed or damaged position may be the start of a segment that begins with the rest of a record.
    private void checkBegins(long id) throws IOException {
        Segment segment = swapper.pin(id);
        int first;
        try {
            first = segment.firstRecord();
        } finally {
            swapper.unpin(segment);
        }
        if (first != geometry.dataStart()) {
            throw new CorruptException(
                    ring.path(id).toString(),
                    0,
                    "segment " + id + " begins with the rest of a record, so none ends before it");
        }
    }

    /** The epoch of a segment; -1 when the segment does not exist. */
    private long epochOf(long id) throws IOException {
        Segment segment = id < 0 ? null : swapper.pinIfThere(id, meta.fields().uuid());
        if (segment == null) {
            return -1;
        }
        try {
            return segment.epoch();
        } finally {
            swapper.unpin(segment);
        }
    }

    private LogEnd walk(LogEnd start) throws IOException {
        LogEnd end = start;
        long timestamp = start.lastTimestamp();
        reader.moveTo(start.position());
        reader.expect(start.nextOffset());
        reader.afterEpoch(epochOf(geometry.segmentOfEnd(start.position())));
        while (true) {
            boolean isFound = false;
            boolean isWhole = false;
            long before = reader.nextOffset();
            try {
                isFound = reader.next();
                reader.check();
                isWhole = true;
                timestamp = Math.max(timestamp, reader.timestamp());
            } catch (CorruptException e) {
                if (reader.nextOffset() > before) { // after a gap, which only a repair writes
                    end = new LogEnd(reader.position(), reader.nextOffset(), timestamp);
                }
                if (!isFound || !wasPushed()) {
                    LOG.info(
                            "{}: the log ends at position {}, offset {}: {}",
                            ring.path(0).getParent(),
                            end.position(),
                            end.nextOffset(),
                            e.getMessage());
                    return end;
                }
                LOG.warn("{}: record {} is damaged: {}", ring.path(0).getParent(), reader.nextOffset(), e.getMessage());
            }
            boolean batchContinues = reader.batchContinues();
            reader.advance();
            if (!batchContinues && (isWhole || reader.position() == meta.writing())) {
                end = new LogEnd(reader.position(), reader.nextOffset(), timestamp);
            }
        }
    }

    // Whether the damaged record that the reader has found was pushed, by a caller that has changed its payload since:
    // then the log goes on behind it. After a loss of power it is where the log ends.
    private boolean wasPushed() throws IOException {
        if (!isComplete) {
            return false;
        }
        reader.skip();
        return reader.endPosition() <= meta.writing();
    }

    /**
     * Closes the segment of the log end, and fsyncs everything that the walk has read, which may be in the page cache
     * alone. Writes it again first: the kernel may count pages as written of which an earlier fsync has failed. Returns the
     * position of the segment's end.
     */
    private long seal(long start, long end, long epoch) throws IOException {
        long id = geometry.segmentOfEnd(end);
        int at = geometry.byteOfEnd(end);
        if (at < geometry.segmentSize()) {
            MetaFields fields = meta.fields();
            Segment segment = swapper.pin(id);
            try {
                RecordChecksum checksum = new RecordChecksum(fields.uuid());
                segment.publish(at, checksum.padHeader(id, epoch, at));
            } finally {
                swapper.unpin(segment);
            }
        }
        int size = geometry.segmentSize();
        for (long each = geometry.segmentOf(start); each <= id; each++) {
            int from = (int) Math.min(size, Math.max(0, meta.watermark() - geometry.position(each, 0)));
            ring.rewrite(each, from, each == id ? Math.min(at + RecordDescriptor.HEADER, size) : size);
        }
        // Before segments are deleted: a later recovery must not begin before them, at older cursors on the disk.
        for (ConsumerCursors consumer : consumers) {
            consumer.rewrite();
            consumer.force();
        }
        meta.fields(meta.fields()); // writes the page again, and fsyncs it
        discardOthers(start, id);
        ring.syncEntries();
        return geometry.position(id, geometry.segmentSize());
    }

    /**
     * Deletes the files of all free slots. They may hold lost records, whose offsets are assigned again: what a loss of
     * power then leaves of these files could be read as the new records. A new file never shows old bytes.
     */
    private void discardOthers(long start, long last) throws IOException {
        long needed = Math.min(geometry.segmentOfEnd(start), geometry.segmentOf(lowWatermark()));
        if (meta.isRetaining()) {
            needed = Math.min(needed, geometry.segmentOf(meta.intact()));
        }
        needed = Math.max(0, Math.min(needed, last));
        swapper.startAt(last);
        for (int slot : ring.slots()) {
            swapper.discard(slot, needed);
        }
    }
}
