package org.mmapqueue.tool.repair;

import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongUnaryOperator;
import org.mmapqueue.io.Storage;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.SegmentHeader;
import org.mmapqueue.tool.scan.RecordScan;
import org.mmapqueue.tool.scan.SegmentBase;
import org.mmapqueue.tool.scan.Slot;
import org.mmapqueue.tool.scan.Slots;
import org.mmapqueue.tool.verify.Survey;

/**
 * Changes the timestamps of a whole queue. Offsets, positions and payloads do not change. An interruption damages
 * records of which the timestamp was stored, but not the header with the new checksum. For one use.
 */
final class Restamping {
    private final Survey survey;
    private final Slots slots;
    private final Geometry geometry;
    private final RecordScan scan;
    private final RingCopy files;
    private final LongUnaryOperator stamps;
    /** Words to store, by segment id, then by byte in the segment. */
    private final Map<Long, Map<Integer, Long>> words = new TreeMap<>();

    /**
     * Plans the changes, and makes none yet.
     *
     * @param stamps maps an old timestamp to the new one, both in µs since 1970; must not decrease
     */
    Restamping(Storage storage, Survey survey, LongUnaryOperator stamps) {
        this.survey = survey;
        this.slots = survey.slots;
        this.geometry = survey.geometry;
        this.scan = new RecordScan(slots, survey.facts);
        this.files = new RingCopy(storage);
        this.stamps = stamps;
    }

    /** Changes the timestamps; returns the number of changed records. */
    long run() throws IOException {
        long changed = 0;
        Slot slot = enter(geometry.segmentOf(survey.walk.start));
        int first = slot.header() == null ? 0 : slot.header().firstRecord();
        int offset = first == 0 ? geometry.segmentSize() : first;
        while (geometry.position(slot.id(), offset) < survey.walk.end) {
            if (offset == geometry.segmentSize()) {
                slot = enter(slot.id() + 1);
                offset = geometry.dataStart();
                continue;
            }
            SegmentBase base = SegmentBase.of(slot.header());
            RecordScan.Kind kind = scan.look(slot, offset, base);
            if (kind == RecordScan.Kind.RECORD && scan.timestamp != 0) {
                changed += restamp(slot, offset, base) ? 1 : 0;
            }
            while (slot.id() < scan.endId) {
                slot = enter(slot.id() + 1);
            }
            offset = scan.endOffset;
        }
        store();
        return changed;
    }

    private Slot enter(long id) throws IOException {
        store();
        Slot slot = slots.get(id);
        SegmentHeader old = slot.header();
        if (old != null && old.baseTime() != stamped(old.baseTime())) {
            SegmentHeader header = new SegmentHeader(
                    old.queue(),
                    old.id(),
                    old.epoch(),
                    old.baseOffset(),
                    stamped(old.baseTime()),
                    old.segmentSize(),
                    old.capacity(),
                    old.firstRecord());
            files.store(slot.path(), 0, header.encode());
        }
        return slot;
    }

    // The new timestamp, in whole ms.
    private long stamped(long timestamp) {
        return Math.floorDiv(stamps.applyAsLong(timestamp), 1000L) * 1000;
    }

    // Returns whether the timestamp of the record changes.
    private boolean restamp(Slot slot, int at, SegmentBase base) throws IOException {
        long old = scan.timestamp;
        long baseTime = stamped(base.time());
        long timestamp = RecordDescriptor.storable(stamped(old), baseTime);
        if (timestamp == old && baseTime == base.time()) {
            return false;
        }
        put(slot.id(), at, scan.restamped(slot, at, base, timestamp));
        long second = RecordDescriptor.second(scan.recordOffset, timestamp);
        int body = at + RecordDescriptor.HEADER;
        if (body < geometry.segmentSize()) {
            put(slot.id(), body, second);
        } else {
            put(slot.id() + 1, geometry.dataStart(), second);
        }
        return timestamp != old;
    }

    private void put(long id, int offset, long word) {
        words.computeIfAbsent(id, key -> new TreeMap<>()).put(offset, word);
    }

    // Stores the words, with one fsync for each segment.
    private void store() throws IOException {
        for (Map.Entry<Long, Map<Integer, Long>> each : words.entrySet()) {
            files.storeWords(slots.get(each.getKey()).path(), each.getValue());
        }
        words.clear();
    }
}
