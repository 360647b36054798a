package org.mmapqueue.recovery;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.segment.SlotFile;

/**
 * Writes the segments of a new ring one after the other, and fsyncs each. Records follow one another, all in one epoch.
 * For one use; not thread-safe.
 */
public final class RingWriter implements Closeable {
    private static final byte[] NOTHING = {};

    private final MetaFields facts;
    private final Geometry geometry;
    private final SegmentRing ring;
    private final RecordChecksum checksum;
    private final CRC32C crc = new CRC32C();
    private final long firstId;
    /** The segment that is being filled, and its file; null between two. */
    private Segment segment;

    private SlotFile file;
    private long id;
    /** Byte of the position within the segment; the segment size at its end. */
    private int offset;
    /** The offset of the next record. */
    private long number;
    /** Base offset and base time of the segment. */
    private long baseOffset;

    private long baseTime;
    private boolean hasTimestamps;
    /** The byte at which the first record of the segment starts; 0 for none. */
    private int first;

    private long lastTimestamp;

    /**
     * @param facts the fixed facts of the new queue
     * @param number the offset of the first record
     * @param timestamp lower bound of the records' timestamps, in µs since 1970
     */
    public RingWriter(Storage storage, Path directory, MetaFields facts, long number, long timestamp) {
        this.facts = facts;
        this.geometry = new Geometry(Format.V2, facts.segmentSize(), facts.capacity());
        this.ring = new SegmentRing(storage, directory, geometry);
        this.checksum = new RecordChecksum(facts.uuid());
        this.number = number;
        this.lastTimestamp = timestamp;
        // Position 0 means offset 0 (docs/reference/format.md, Offsets).
        this.firstId = number == 0 ? 0 : 1;
        this.id = firstId - 1;
        this.offset = facts.segmentSize();
    }

    /** The bytes that a record takes in the log. */
    public static long bytes(int header) {
        return RecordDescriptor.isGap(header)
                ? RecordDescriptor.SMALLEST
                : RecordDescriptor.HEADER + RecordDescriptor.bodyBytes(header);
    }

    /** The position after the last record. */
    public long position() {
        return geometry.position(id, offset);
    }

    /** The position at which the ring begins. */
    public long start() {
        return geometry.position(firstId, 0);
    }

    /** Notes a lower bound of the timestamps of later records, in µs since 1970. */
    public void notOlder(long timestamp) {
        lastTimestamp = Math.max(lastTimestamp, timestamp);
    }

    /** Appends a record with its flags and its timestamp. */
    public void append(int header, long timestamp, byte[] payload) throws IOException {
        notOlder(timestamp);
        begin();
        boolean stamped = (header & RecordDescriptor.TIMESTAMPED) != 0;
        if (stamped && !hasTimestamps) {
            hasTimestamps = true;
            // The base time may be that of records without timestamps, and too old.
            baseTime = RecordDescriptor.storable(timestamp, baseTime) == timestamp ? baseTime : timestamp;
        }
        long stored = stamped ? RecordDescriptor.storable(timestamp, baseTime) : 0;
        int length = RecordDescriptor.length(header);
        crc.reset();
        crc.update(payload, 0, length);
        long word = RecordDescriptor.header(header, checksum.finish(crc, number, stored, header));
        put(word, RecordDescriptor.second(number, stored), payload, length, number + 1);
    }

    /** Appends a gap of the minimum size. */
    public void appendGap(long lost) throws IOException {
        begin();
        long word = checksum.gapHeader(number, lost, Long.BYTES);
        put(word, RecordDescriptor.gapSecond(number, lost), NOTHING, 0, number + lost);
    }

    private void put(long header, long second, byte[] payload, int length, long next) throws IOException {
        number = next;
        segment.putLong(offset, header);
        offset += RecordDescriptor.HEADER;
        int left = RecordDescriptor.bodyBytes(length);
        room(left);
        segment.putLong(offset, second);
        offset += Long.BYTES;
        left -= Long.BYTES;
        for (int done = 0; done < length; ) {
            room(left);
            int piece = Math.min(left, geometry.segmentSize() - offset);
            int bytes = Math.min(piece, length - done);
            segment.put(offset, payload, done, bytes);
            done += bytes;
            offset += piece;
            left -= piece;
        }
    }

    /**
     * Fsyncs the last segment and the directory. A log without records gets a segment that ends with a pad, as a segment
     * holds the offset of the next record; else the position does not change.
     */
    public void finish() throws IOException {
        boolean isEmpty = id < firstId && number > 0;
        if (isEmpty) {
            begin();
            segment.putLong(offset, checksum.padHeader(id, facts.epoch(), offset));
        }
        endSegment();
        ring.syncEntries();
        if (isEmpty) {
            offset = geometry.segmentSize();
        }
    }

    private void begin() throws IOException {
        if (offset == geometry.segmentSize()) {
            roll(geometry.dataStart());
        }
    }

    // Rolls if the segment is full, within a record of which {@code left} bytes remain.
    private void room(int left) throws IOException {
        if (offset == geometry.segmentSize()) {
            roll(left < geometry.dataBytes() ? geometry.dataStart() + left : 0);
        }
    }

    private void roll(int firstRecord) throws IOException {
        endSegment();
        id++;
        baseOffset = number;
        baseTime = lastTimestamp;
        hasTimestamps = false;
        first = firstRecord;
        offset = geometry.dataStart();
        file = ring.slotFile(id);
        file.openToWrite();
        file.fill(ring.storage().blockSize(geometry.segmentSize()));
        file.map(true);
        segment = new Segment(id, file.path(), file.mapping());
    }

    private void endSegment() throws IOException {
        if (segment != null) {
            segment.writeHeader(facts.uuid(), facts.capacity(), facts.epoch(), baseOffset, baseTime, first);
            file.syncing(true).force(0, geometry.segmentSize());
            close();
        }
    }

    @Override
    public void close() throws IOException {
        segment = null;
        if (file != null) {
            Closeable open = file.detach();
            file = null;
            open.close();
        }
    }
}
