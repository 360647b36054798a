package org.mmapqueue.tool.repair;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongUnaryOperator;
import org.mmapqueue.io.Storage;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.SegmentHeader;
import org.mmapqueue.tool.scan.LogRecords;
import org.mmapqueue.tool.scan.Slot;
import org.mmapqueue.tool.verify.Survey;

/**
 * Changes the timestamps of a whole queue. Offsets, positions and payloads do not change. An interruption damages
 * records of which the timestamp was stored, but not the header with the new checksum. For one use.
 *
 * @param stamps maps an old timestamp to the new one, both in µs since 1970; must not decrease
 * @param words the words to store, by segment id, then by byte in the segment
 */
record Restamping(
        Storage storage,
        Path directory,
        Survey survey,
        LongUnaryOperator stamps,
        TreeMap<Long, Map<Integer, Long>> words) {

    Restamping(Storage storage, Path directory, Survey survey, LongUnaryOperator stamps) {
        this(storage, directory, survey, stamps, new TreeMap<>());
    }

    /** Changes the timestamps; returns the number of changed records. */
    long run() throws IOException {
        Geometry geometry = survey.geometry;
        LogRecords log = new LogRecords(survey.slots, survey.facts, survey.walk);
        long changed = 0;
        long id = geometry.segmentOf(survey.walk.start);
        while (log.next()) {
            while (id < log.segmentId()) {
                store(id++);
            }
            long timestamp = RecordDescriptor.storable(stamped(log.timestamp()), stamped(log.baseTime()));
            if (log.timestamp() != 0 && log.timestamp() != timestamp) {
                changed++;
                put(id, log.at(), log.restamped(timestamp));
                long second = RecordDescriptor.second(log.number(), timestamp);
                int at = log.at() + RecordDescriptor.HEADER;
                boolean isHere = at < geometry.segmentSize();
                put(isHere ? id : id + 1, isHere ? at : geometry.dataStart(), second);
            }
        }
        while (id <= geometry.segmentOfEnd(survey.walk.end)) {
            store(id++);
        }
        if (survey.isClean()) {
            survey.meta.closedAt(survey.walk.endNumber, stamped(survey.walk.newest));
            survey.meta.write(storage, directory);
        }
        return changed;
    }

    // The new timestamp, in whole ms.
    private long stamped(long timestamp) {
        return Math.floorDiv(stamps.applyAsLong(timestamp), 1000L) * 1000;
    }

    private void put(long id, int offset, long word) {
        words.computeIfAbsent(id, key -> new TreeMap<>()).put(offset, word);
    }

    // Changes a segment, with one fsync for its records.
    private void store(long id) throws IOException {
        RingCopy files = new RingCopy(storage);
        Slot slot = survey.slots.get(id);
        Map<Integer, Long> stored = words.remove(id);
        if (stored != null) {
            files.storeWords(slot.path(), stored);
        }
        SegmentHeader old = slot.header();
        if (old != null && old.baseTime() != stamped(old.baseTime())) {
            files.store(
                    slot.path(), 0, old.withBaseTime(stamped(old.baseTime())).encode());
        }
    }
}
