package org.mmapqueue.tool.copy;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.SegmentHeader;

/**
 * Writes the segments of a new ring one after the other, by file writes, and fsyncs each. Records follow one another
 * without gaps, all in one epoch. For one use; not thread-safe.
 */
final class RingWriter implements Closeable {
    private static final int BLOCK = 1 << 20;
    private static final byte[] ZEROS = new byte[RecordDescriptor.HEADER];

    private final Storage storage;
    private final Path directory;
    private final MetaFields facts;
    private final Geometry geometry;
    private final RecordChecksum checksum;
    private final CRC32C crc = new CRC32C();
    private final ByteBuffer block;
    private final long firstId;
    private DataFile file;
    private long id;
    /** Byte of the position within the segment; the segment size at its end. */
    private int offset;
    /** Byte within the segment at which the buffered block begins. */
    private int blockStart;

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
    RingWriter(Storage storage, Path directory, MetaFields facts, long number, long timestamp) {
        this.storage = storage;
        this.directory = directory;
        this.facts = facts;
        this.geometry = new Geometry(Format.V2, facts.segmentSize(), facts.capacity());
        this.checksum = new RecordChecksum(facts.uuid());
        this.block = ByteBuffer.allocate(Math.min(BLOCK, facts.segmentSize())).order(ByteOrder.LITTLE_ENDIAN);
        this.number = number;
        this.lastTimestamp = timestamp;
        // Position 0 means offset 0 (docs/reference/format.md, Offsets).
        this.firstId = number == 0 ? 0 : 1;
        this.id = firstId - 1;
        this.offset = facts.segmentSize();
    }

    /** The bytes that a record takes in the log. */
    static long bytes(int header) {
        boolean lost = (header & RecordDescriptor.CONTROL) != 0;
        return lost ? RecordDescriptor.SMALLEST : RecordDescriptor.HEADER + RecordDescriptor.bodyBytes(header);
    }

    /** The position after the last record. */
    long position() {
        return geometry.position(id, offset);
    }

    /** The position at which the ring begins. */
    long start() {
        return geometry.position(firstId, 0);
    }

    boolean hasSegment() {
        return id >= firstId;
    }

    /** Notes a lower bound of the timestamps of later records, in µs since 1970. */
    void notOlder(long timestamp) {
        lastTimestamp = Math.max(lastTimestamp, timestamp);
    }

    /** Appends a record with its flags and its timestamp. */
    void append(int header, long timestamp, byte[] payload) throws IOException {
        notOlder(timestamp);
        int length = RecordDescriptor.length(header);
        begin();
        crc.reset();
        crc.update(payload, 0, length);
        int body = RecordDescriptor.bodyBytes(header);
        boolean stamped = (header & RecordDescriptor.TIMESTAMPED) != 0;
        if (stamped && !hasTimestamps) {
            hasTimestamps = true;
            // The base time may be that of records without timestamps, and too old.
            baseTime = RecordDescriptor.storable(timestamp, baseTime) == timestamp ? baseTime : timestamp;
        }
        long stored = stamped ? RecordDescriptor.storable(timestamp, baseTime) : 0;
        long second = RecordDescriptor.second(number, stored);
        putLong(RecordDescriptor.header(header, checksum.finish(crc, number, stored, header)));
        number++;
        int left = room(body);
        putLong(second);
        left -= Long.BYTES;
        int done = 0;
        while (done < length) {
            left = room(left);
            int piece = Math.min(length - done, geometry.segmentSize() - offset);
            put(payload, done, piece);
            done += piece;
            left -= piece;
        }
        put(ZEROS, 0, left); // less than a word: no segment's end splits it
    }

    /** Appends a tombstone of the least size. */
    void appendLost() throws IOException {
        begin();
        putLong(checksum.gapHeader(number, 1, Long.BYTES));
        long second = RecordDescriptor.gapSecond(number, 1);
        number++;
        room(Long.BYTES);
        putLong(second);
    }

    /**
     * Ends the segment with a pad. Needed for a log without records: the segment holds the offset of the next record.
     */
    void pad() throws IOException {
        begin();
        putLong(checksum.padHeader(id, facts.epoch(), offset));
        finish();
        offset = geometry.segmentSize();
    }

    /**
     * Fills the rest of the last segment with zeros, and fsyncs the segment and the directory. The position does not
     * change.
     */
    void finish() throws IOException {
        if (file != null) {
            int end = offset;
            byte[] zeros = new byte[Math.min(BLOCK, geometry.segmentSize())];
            while (offset < geometry.segmentSize()) {
                put(zeros, 0, Math.min(zeros.length, geometry.segmentSize() - offset));
            }
            closeSegment();
            offset = end;
        }
        storage.syncDirectory(directory);
    }

    private void begin() throws IOException {
        if (offset == geometry.segmentSize()) {
            roll(number, geometry.dataStart());
        }
    }

    // Rolls if the segment is full, within a record of which {@code left} bytes remain; returns {@code left}.
    private int room(int left) throws IOException {
        if (offset == geometry.segmentSize()) {
            roll(number, left < geometry.dataBytes() ? geometry.dataStart() + left : 0);
        }
        return left;
    }

    private void roll(long nextOffset, int firstRecord) throws IOException {
        closeSegment();
        id++;
        baseOffset = nextOffset;
        baseTime = lastTimestamp;
        hasTimestamps = false;
        first = firstRecord;
        offset = 0;
        blockStart = 0;
        block.clear();
        file = storage.open(directory.resolve(geometry.fileName(id)), Storage.Mode.CREATE);
        put(header(), 0, SegmentHeader.LENGTH);
    }

    private byte[] header() {
        return new SegmentHeader(
                        facts.uuid(),
                        id,
                        facts.epoch(),
                        baseOffset,
                        baseTime,
                        facts.segmentSize(),
                        facts.capacity(),
                        first)
                .encode()
                .array();
    }

    private void putLong(long word) throws IOException {
        if (block.remaining() < Long.BYTES) {
            store();
        }
        block.putLong(word);
        offset += Long.BYTES;
    }

    private void put(byte[] bytes, int from, int length) throws IOException {
        int done = 0;
        while (done < length) {
            if (!block.hasRemaining()) {
                store();
            }
            int piece = Math.min(length - done, block.remaining());
            block.put(bytes, from + done, piece);
            done += piece;
        }
        offset += length;
    }

    private void store() throws IOException {
        int bytes = block.flip().limit();
        file.write(block, blockStart);
        blockStart += bytes;
        block.clear();
    }

    private void closeSegment() throws IOException {
        if (file != null) {
            store();
            file.write(ByteBuffer.wrap(header()), 0); // the base time may have changed
            file.force();
            close();
        }
    }

    @Override
    public void close() throws IOException {
        if (file != null) {
            DataFile open = file;
            file = null;
            open.close();
        }
    }
}
