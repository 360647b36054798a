package org.mmapqueue.tool.repair;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.tool.scan.Hole;
import org.mmapqueue.tool.scan.RecordScan;

/**
 * What is put in the place of lost records: as many marks as records were lost, which together fill the hole. So no
 * record behind it changes its place, its checksum or its number, and no consumer its position.
 */
final class Filling {
    /** A word to be stored. */
    record Word(long id, int offset, long value) {}

    /** Where the first record starts in a segment, and its number; 0 when none does. */
    record First(int offset, long number) {}

    final List<Word> words = new ArrayList<>();
    /** Of the segments that begin in the hole or at its beginning. */
    final Map<Long, First> firsts = new TreeMap<>();

    private final Geometry geometry;
    private final Hole hole;
    private final RecordScan scan;

    Filling(Geometry geometry, Hole hole, RecordScan scan) {
        this.geometry = geometry;
        this.hole = hole;
        this.scan = scan;
    }

    /** Lays the marks out. */
    void run() {
        if (hole.from == geometry.dataStart()) {
            firsts.put(hole.fromId, new First(hole.from, hole.first));
        }
        if (hole.lost == 0) {
            pad();
            return;
        }
        long left = hole.bytes(geometry);
        if (left < RecordDescriptor.HEADER * hole.lost || left > (Hole.LARGEST_BODY + 8L) * hole.lost) {
            throw new MmapQueueException(hole.file + ", byte " + hole.fault.at() + ": " + hole.lost + " records are"
                    + " lost in " + left + " bytes, and no marks for them fit there");
        }
        long id = hole.fromId;
        int offset = hole.from;
        for (long number = 0; number < hole.lost; number++) {
            if (offset == geometry.segmentSize()) {
                id++;
                offset = geometry.dataStart();
                firsts.put(id, new First(offset, hole.first + number));
            }
            // As small as the others allow: the last ones cover the rest, up to the next segment that says a number.
            long behind = hole.lost - number - 1;
            int body = (int) Math.max(0, left - (Hole.LARGEST_BODY + 8L) * behind - RecordDescriptor.HEADER);
            words.add(new Word(id, offset, scan.lostHeader(id, offset, hole.epoch, body)));
            left -= RecordDescriptor.HEADER + body;
            int here = geometry.segmentSize() - offset - RecordDescriptor.HEADER;
            offset += RecordDescriptor.HEADER + Math.min(body, here);
            for (int beyond = body - here; beyond > 0; beyond -= geometry.dataBytes()) {
                id++;
                offset = geometry.dataStart() + Math.min(beyond, geometry.dataBytes());
                boolean continues = offset < geometry.segmentSize() || id == hole.toId;
                firsts.put(
                        id, new First(continues && offset < geometry.segmentSize() ? offset : 0, hole.first + number + 1));
            }
        }
    }

    // What was damaged is the pad alone.
    private void pad() {
        boolean toEnd = hole.toId == hole.fromId && hole.to == geometry.segmentSize()
                || hole.toId == hole.fromId + 1 && hole.to == geometry.dataStart();
        if (!toEnd) {
            throw new MmapQueueException(hole.file + ", byte " + hole.fault.at() + ": the numbers before and behind"
                    + " the damage say that no record is lost, and there are bytes between them");
        }
        words.add(new Word(hole.fromId, hole.from, scan.padHeader(hole.fromId, hole.from, hole.epoch)));
    }
}
