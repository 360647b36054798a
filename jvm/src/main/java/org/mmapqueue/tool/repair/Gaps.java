package org.mmapqueue.tool.repair;

import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.SegmentHeader;
import org.mmapqueue.tool.scan.Hole;
import org.mmapqueue.tool.verify.Survey;

/**
 * The gaps that fill the holes of a log, as words and segment headers to store. Later records keep their positions and
 * offsets, and consumers their positions. For one use.
 */
final class Gaps {
    /** The maximum number of bytes that a gap can cover after its header. */
    static final int LARGEST_BODY = (RecordDescriptor.MAX_LENGTH & -Long.BYTES) + Long.BYTES;

    /** By segment id, then by byte in the segment. */
    final Map<Long, Map<Integer, Long>> words = new TreeMap<>();
    /** The headers that differ from the stored ones, by segment id. */
    final Map<Long, SegmentHeader> headers;

    /** The offset after the last gap. */
    long end;

    private final Survey survey;
    private final Geometry geometry;
    private final RecordChecksum checksum;
    private final int largestBody;

    /** @param largestBody the maximum number of bytes that a gap covers after its header, at least 16 */
    Gaps(Survey survey, int largestBody) {
        this.largestBody = largestBody;
        this.survey = survey;
        this.geometry = survey.geometry;
        this.headers = survey.walk.headers;
        this.end = survey.walk.gapsEnd;
        this.checksum = new RecordChecksum(survey.facts.uuid());
    }
    /** Fills a hole; throws if its bytes do not agree with the offsets around it. */
    void fill(Hole hole) throws IOException {
        long id = hole.fromId();
        int at = hole.from();
        long first = hole.first();
        long lost = hole.lost();
        long left = hole.bytes(geometry);
        end = Math.max(end, first + lost);
        while (left > 0) {
            if (at == geometry.segmentSize()) {
                at = geometry.dataStart();
                begins(++id, at, first);
            }
            if (left < RecordDescriptor.SMALLEST) {
                pad(id, at, lost);
                return;
            }
            int body = (int) Math.min(left - RecordDescriptor.HEADER, largestBody);
            body -= left - body == RecordDescriptor.SMALLEST ? Long.BYTES : 0; // no gap fits into 8 bytes
            put(id, at, checksum.gapHeader(first, lost, body));
            int second = at + RecordDescriptor.HEADER;
            boolean isHere = second < geometry.segmentSize();
            put(isHere ? id : id + 1, isHere ? second : geometry.dataStart(), RecordDescriptor.gapSecond(first, lost));
            first += lost;
            lost = 0;
            left -= RecordDescriptor.HEADER + body;
            long end = geometry.after(geometry.position(id, at), RecordDescriptor.HEADER + body);
            at = geometry.byteOfEnd(end);
            while (id < geometry.segmentOfEnd(end)) {
                id++;
                begins(id, id < geometry.segmentOfEnd(end) || at == geometry.segmentSize() ? 0 : at, first);
            }
        }
    }

    // Replaces a damaged pad in the last 8 bytes of a segment.
    private void pad(long id, int at, long lost) throws IOException {
        if (lost > 0 || at + RecordDescriptor.HEADER != geometry.segmentSize()) {
            throw new MmapQueueException(survey.slots.get(id).path() + ", byte " + at + ": by the offsets before and"
                    + " after the damage " + lost + " records are lost, but no gap fits into its 8 bytes");
        }
        put(id, at, checksum.padHeader(id, header(id).epoch(), at));
    }

    private void put(long id, int at, long word) {
        words.computeIfAbsent(id, key -> new TreeMap<>()).put(at, word);
    }

    private SegmentHeader header(long id) throws IOException {
        SegmentHeader rebuilt = headers.get(id);
        return rebuilt != null ? rebuilt : survey.slots.get(id).header();
    }

    // Notes that the first record of a segment starts at this byte, 0 for none, and the offset of the next one.
    private void begins(long id, int at, long offset) throws IOException {
        SegmentHeader wanted = header(id).withFirst(at, offset);
        if (!wanted.equals(header(id))) {
            headers.put(id, wanted);
        }
    }
}
