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
import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.swap.Swapper;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds the end of a log of version 2 that was not closed, and makes it final. First it only reads; what it then
 * writes, it writes in an order in which a crash at any point leads the next recovery to the same end:
 *
 * <ol>
 * <li>a pad behind the last whole record, which is valid only in the epoch to come, fsynced with all that the walk has
 * found; the header of the segment behind, which belongs to records that were never whole, is wiped, fsynced;
 * <li>what consumers have noted of records behind the end is deleted, fsynced: their numbers are given to others;
 * <li>the epoch rises, fsynced;
 * <li>the cursors move to the segment's end, fsynced.
 * </ol>
 *
 * <p>The walk begins at the watermark, or at the slowest consumer when that is ahead: behind it the ring may have been
 * used again. With retention it begins at the watermark all the same when the records from there on lead to the slowest
 * consumer; when they do not, nothing before that one is retained. A fault before the place where the walk begins is
 * damage, and raised; behind it, it is the end.
 */
public final class Recovery {
    private static final Logger LOG = LoggerFactory.getLogger(Recovery.class);

    private final Swapper swapper;
    private final SegmentRing ring;
    private final Geometry geometry;
    private final MetaPage meta;
    private final List<? extends ConsumerCursors> consumers;
    private final InFlightCutter inFlight;
    private final LogReaderV2 reader;

    /** Deletes what consumers have noted of records behind the end of the log, and fsyncs that. */
    @FunctionalInterface
    public interface InFlightCutter {
        void cutBehind(long end) throws IOException;
    }

    public Recovery(
            Swapper swapper,
            SegmentRing ring,
            MetaPage meta,
            List<? extends ConsumerCursors> consumers,
            InFlightCutter inFlight) {
        this.swapper = swapper;
        this.inFlight = inFlight;
        this.ring = ring;
        this.geometry = ring.geometry();
        this.meta = meta;
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
        MetaFields fields = meta.fields();
        long next = fields.epoch() + 1;
        long closed = seal(walked.start.position(), end.position(), next);
        inFlight.cutBehind(end.position());
        meta.fields(fields.withEpoch(next));
        // Before the watermark: a recovery that begins at it must find no consumer inside the pad.
        for (ConsumerCursors consumer : consumers) {
            // Behind the last whole record, though maybe in its segment: what lay there is gone.
            if (consumer.committed() > end.position()) {
                LOG.warn(
                        "{}: records that a consumer had acked up to position {} did not survive; it goes on at {}",
                        ring.path(0).getParent(),
                        consumer.committed(),
                        closed);
                consumer.committed(closed);
            }
            if (consumer.dropped() > end.position()) {
                // It does not get back what was taken from it: that may be overwritten, in part.
                boolean isBehind = consumer.committed() < closed;
                consumer.drop(isBehind ? closed : 0, isBehind ? consumer.droppedFirst() : 0);
            }
            if (consumer.reading() > end.position()) {
                consumer.reading(consumer.committed());
            }
            consumer.force();
        }
        if (!meta.isRetaining() || walked.start.position() > meta.watermark()) {
            // What is acked may be lost in part, and no later walk will tell.
            meta.intact(Math.min(lowWatermark(), walked.start.position()));
        }
        meta.writing(closed);
        meta.watermark(closed);
        meta.mirror();
        meta.force();
        return new LogEnd(closed, end.nextOffset(), end.lastTimestamp());
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
        long lowWatermark = Long.MAX_VALUE;
        for (ConsumerCursors consumer : consumers) {
            lowWatermark = Math.min(lowWatermark, consumer.needed());
        }
        // One that is before it was just being made or moved back.
        return Math.max(lowWatermark, meta.reclaimed());
    }

    private LogEnd start(long lowWatermark, long watermark) throws IOException {
        if (lowWatermark > watermark) {
            try {
                return locate(lowWatermark);
            } catch (CorruptException e) {
                // After a loss of power the acked records themselves may be gone; what was fsynced is still there.
                LOG.info(
                        "the slowest consumer's position {} is not in the log any more: {}",
                        lowWatermark,
                        e.toString());
            }
        }
        return locate(watermark);
    }

    private LogEnd locate(long position) throws IOException {
        boolean atEnd = geometry.offsetOfEnd(position) == geometry.segmentSize();
        long id = geometry.segmentOfEnd(position);
        // Behind the end of a segment the next one may or may not have been begun.
        boolean goesOn = atEnd && epochOf(id + 1) >= Math.max(0, epochOf(id));
        if (goesOn) {
            checkBegins(id + 1);
        }
        OffsetResolver.Place place = OffsetResolver.find(reader, position, goesOn ? position + 1 : position);
        return new LogEnd(position, place.offset(), place.lastTimestamp());
    }

    // A reclaimed position, or a damaged one, may be where a segment begins, but no record does.
    private void checkBegins(long id) throws IOException {
        Segment segment = swapper.pin(id);
        int first = segment.firstRecord();
        swapper.unpin(segment);
        if (first != geometry.dataStart()) {
            throw new CorruptException(
                    ring.path(id).toString(),
                    0,
                    "segment " + id + " begins with the rest of a record," + " so none ends before it");
        }
    }

    /** The epoch of a segment, or -1 when there is no such segment. */
    private long epochOf(long id) throws IOException {
        Segment segment = id < 0 ? null : swapper.pinIfThere(id, meta.fields().uuidLow());
        if (segment == null) {
            return -1;
        }
        long epoch = segment.epoch();
        swapper.unpin(segment);
        return epoch;
    }

    private LogEnd walk(LogEnd start) throws IOException {
        LogEnd end = start;
        long offset = start.nextOffset();
        long timestamp = start.lastTimestamp();
        reader.moveTo(start.position());
        reader.behindEpoch(epochOf(geometry.segmentOfEnd(start.position())));
        while (true) {
            try {
                reader.next();
                reader.check();
            } catch (CorruptException e) {
                LOG.info(
                        "{}: the log ends at position {}, offset {}: {}",
                        ring.path(0).getParent(),
                        end.position(),
                        end.nextOffset(),
                        e.getMessage());
                return end;
            }
            offset++;
            timestamp = Math.max(timestamp, reader.timestamp());
            boolean batchGoesOn = reader.batchGoesOn();
            reader.advance();
            if (!batchGoesOn) {
                end = new LogEnd(reader.position(), offset, timestamp);
            }
        }
    }

    /**
     * Closes the segment that holds the end, and fsyncs all that the walk has found: it may be in the page cache alone.
     * Returns the position of the segment's end.
     */
    private long seal(long start, long end, long epoch) throws IOException {
        long id = geometry.segmentOfEnd(end);
        int offset = geometry.offsetOfEnd(end);
        if (offset < geometry.segmentSize()) {
            MetaFields fields = meta.fields();
            Segment segment = swapper.pin(id);
            RecordChecksum checksum = new RecordChecksum(fields.uuidHigh(), fields.uuidLow());
            segment.publish(offset, LogReaderV2.padHeader(checksum, id, offset, epoch));
            swapper.unpin(segment);
        }
        for (long each = geometry.segmentOf(start); each <= id; each++) {
            ring.force(each);
        }
        ring.syncEntries();
        wipe(id + 1);
        return geometry.position(id, geometry.segmentSize());
    }

    private void wipe(long id) throws IOException {
        Segment segment = swapper.pinIfThere(id, meta.fields().uuidLow());
        if (segment == null) {
            // One that was never whole. But the header in a file that is short would be valid once it is filled up.
            if (id - geometry.capacity() < geometry.segmentOf(lowWatermark()) && ring.hasAnotherLength(id)) {
                ring.delete(geometry.slotOf(id));
                ring.syncEntries();
            }
            return;
        }
        try {
            segment.wipeHeader();
            ring.force(id);
        } finally {
            swapper.unpin(segment);
        }
    }
}
