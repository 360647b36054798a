package org.mmapqueue.tool.repair;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.tool.scan.Hole;

/**
 * The tombstones that fill a hole, one for each lost record. Later records keep their positions, checksums and offsets,
 * and consumers their positions.
 */
final class Filling {
    record Word(long id, int offset, long value) {}

    /** The byte at which the first record of a segment starts, and the record's offset; 0 for none. */
    record First(int offset, long number) {}

    final List<Word> words = new ArrayList<>();
    /** The first records of the segments that begin inside the hole or at its start. */
    final Map<Long, First> firsts = new TreeMap<>();

    private final Geometry geometry;
    private final Hole hole;
    private final RecordChecksum checksum;

    Filling(Geometry geometry, Hole hole, RecordChecksum checksum) {
        this.geometry = geometry;
        this.hole = hole;
        this.checksum = checksum;
    }

    void run() {
        if (hole.from == geometry.dataStart()) {
            firsts.put(hole.fromId, new First(hole.from, hole.first));
        }
        if (hole.lost == 0) {
            pad();
            return;
        }
        long left = hole.bytes(geometry);
        if (left < RecordDescriptor.SMALLEST * hole.lost || left > (Hole.LARGEST_BODY + 8L) * hole.lost) {
            throw new MmapQueueException(hole.file + ", byte " + hole.fault.at() + ": " + hole.lost + " records are"
                    + " lost in " + left + " bytes, and no tombstones for them fit there");
        }
        long id = hole.fromId;
        int offset = hole.from;
        for (long number = 0; number < hole.lost; number++) {
            if (offset == geometry.segmentSize()) {
                id++;
                offset = geometry.dataStart();
                firsts.put(id, new First(offset, hole.first + number));
            }
            // Tombstones are as small as possible; the last ones cover the rest, up to the next anchor.
            long later = hole.lost - number - 1;
            int body = (int) Math.max(Long.BYTES, left - (Hole.LARGEST_BODY + 8L) * later - RecordDescriptor.HEADER);
            words.add(new Word(id, offset, checksum.gapHeader(hole.first + number, 1, body)));
            second(id, offset + RecordDescriptor.HEADER, hole.first + number);
            left -= RecordDescriptor.HEADER + body;
            int here = geometry.segmentSize() - offset - RecordDescriptor.HEADER;
            offset += RecordDescriptor.HEADER + Math.min(body, here);
            for (int beyond = body - here; beyond > 0; beyond -= geometry.dataBytes()) {
                id++;
                offset = geometry.dataStart() + Math.min(beyond, geometry.dataBytes());
                boolean starts = offset < geometry.segmentSize() || id == hole.toId;
                firsts.put(
                        id, new First(starts && offset < geometry.segmentSize() ? offset : 0, hole.first + number + 1));
            }
        }
    }

    private void second(long id, int at, long number) {
        boolean isHere = at < geometry.segmentSize();
        words.add(new Word(
                isHere ? id : id + 1, isHere ? at : geometry.dataStart(), RecordDescriptor.gapSecond(number, 1)));
    }

    // Replaces a damaged pad: no record is lost.
    private void pad() {
        boolean toEnd = hole.toId == hole.fromId && hole.to == geometry.segmentSize()
                || hole.toId == hole.fromId + 1 && hole.to == geometry.dataStart();
        if (!toEnd) {
            throw new MmapQueueException(hole.file + ", byte " + hole.fault.at() + ": by the offsets before and after"
                    + " the damage no record is lost, but there are bytes between them");
        }
        words.add(new Word(hole.fromId, hole.from, checksum.padHeader(hole.fromId, hole.epoch, hole.from)));
    }
}
