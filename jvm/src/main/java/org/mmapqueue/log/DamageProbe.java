package org.mmapqueue.log;

import java.io.IOException;
import java.util.function.LongSupplier;
import java.util.zip.CRC32C;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.Segment;

/**
 * Decides whether the length of a damaged record can be trusted. It can if no intact record begins inside the record,
 * and an intact record begins at its end, or the log ends there. Belongs to one reader of version 2; the reader's
 * position does not move. Not thread-safe: the reader's lock guards it.
 *
 * @param reader the reader that has found the record
 * @param published everything before this position is published
 */
record DamageProbe(LogReaderV2 reader, MetaFields fields, LongSupplier published, RecordChecksum checksum) {
    /** The most bytes that one probe reads; takes some 0.1 s. */
    private static final int MOST_LOOKED_AT = 256 << 20;

    /**
     * Whether the length of the record that the reader has skipped, but not advanced past, can be trusted.
     *
     * @param end a position at which a record is known to end
     */
    boolean endsWhereItSays(long end) throws IOException {
        boolean leaves =
                reader.endSegmentId() != reader.segmentId() || reader.endSegmentOffset() == reader.segmentSize();
        long left = MOST_LOOKED_AT;
        int until = leaves ? reader.segmentSize() : reader.endSegmentOffset();
        for (int at = reader.segmentOffset() + RecordDescriptor.HEADER; at < until; at += 8) {
            int bytes = RecordDescriptor.length(
                    RecordDescriptor.lengthAndFlags(reader.segment().headerAcquire(at)));
            left -= bytes > fields.maxEventSize() ? RecordDescriptor.HEADER : RecordDescriptor.HEADER + bytes;
            if (left < 0 || isWhole(at)) {
                return false;
            }
        }
        long recordEnd = reader.geometry().position(reader.endSegmentId(), reader.endSegmentOffset());
        if (recordEnd == end || recordEnd == published.getAsLong()) {
            return true;
        }
        return leaves ? isFirstAfter() : isWhole(reader.endSegmentOffset());
    }

    // Whether the next record is the first one of its segment, by the segment's header.
    private boolean isFirstAfter() throws IOException {
        boolean begins = reader.endSegmentId() == reader.segmentId();
        int first = begins
                ? reader.geometry().dataStart()
                : reader.endSegmentOffset() == reader.segmentSize() ? 0 : reader.endSegmentOffset();
        Segment last =
                reader.swapper().pinIfThere(begins ? reader.endSegmentId() + 1 : reader.endSegmentId(), fields.uuid());
        if (last == null) {
            return false;
        }
        try {
            return last.firstRecord() == first;
        } finally {
            reader.swapper().unpin(last);
        }
    }

    // Whether an intact record, pad or gap begins at this byte.
    private boolean isWhole(int at) throws IOException {
        long word = reader.segment().headerAcquire(at);
        int flags = RecordDescriptor.lengthAndFlags(word);
        if (word == 0 || (flags & RecordDescriptor.RESERVED) != 0) {
            return false;
        }
        if ((flags & RecordDescriptor.PAD) != 0) {
            long epoch = RecordDescriptor.padEpoch(reader.epoch(), flags);
            return checksum.ofPad(reader.segmentId(), epoch, at, flags) == RecordDescriptor.checksum(word);
        }
        int second = at + RecordDescriptor.HEADER;
        boolean lost = (flags & RecordDescriptor.CONTROL) != 0;
        int bytes = lost ? 0 : RecordDescriptor.length(flags);
        if (bytes > fields.maxEventSize()) {
            return false;
        }
        if (second == reader.segmentSize()
                || !lost && RecordDescriptor.bodyBytes(flags) > reader.segmentSize() - second) {
            return isWholeSpanning(at);
        }
        byte[] payload = reader.room(bytes);
        reader.segment().get(second + Long.BYTES, payload, 0, bytes);
        CRC32C crc = new CRC32C();
        crc.update(payload, 0, bytes);
        long word2 = reader.segment().getLong(second);
        long offset = RecordDescriptor.offset(word2, reader.baseOffset());
        long timestamp = RecordDescriptor.timestamp(flags, word2, reader.baseTime());
        return checksum.finish(crc, offset, timestamp, flags) == RecordDescriptor.checksum(word);
    }

    private boolean isWholeSpanning(int at) throws IOException {
        LogReaderV2 other = new LogReaderV2(reader.swapper(), reader.geometry(), fields, published);
        try {
            other.moveTo(reader.geometry().position(reader.segmentId(), at));
            if (!other.nextHere(reader.segmentSize())) {
                return false;
            }
            other.check();
            return true;
        } catch (CorruptException e) {
            return false;
        } finally {
            other.leave();
        }
    }
}
