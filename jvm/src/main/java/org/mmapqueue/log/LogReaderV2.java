package org.mmapqueue.log;

import java.io.IOException;
import java.util.UUID;
import java.util.function.LongSupplier;
import java.util.zip.CRC32C;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.StackRoom;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.Segment;
import org.mmapqueue.swap.Swapper;

/**
 * Reads a log of format version 2. A record is published when its header is not 0. The next segment exists once the
 * published position has passed the end of this one.
 */
public final class LogReaderV2 extends LogReader {
    /** No bits of a timestamp: those are 0 in the lowest places. */
    private static final long NO_BITS = 1;

    private static final int NO_RECORD = RecordDescriptor.PAD | RecordDescriptor.CONTROL | RecordDescriptor.RESERVED;

    private final LongSupplier published;
    private final RecordChecksum checksum;
    private final CRC32C payloadCrc = new CRC32C();
    private final MetaFields fields;
    private final UUID queue;
    private final int maxLength;
    private long epoch;
    /** Base offset and base time of the segment of the position. */
    private long baseOffset;

    private long baseTime;
    /** The timestamp in the second word of the last record, which many records share, and its bits there. */
    private long stamp;

    private long stampBits = NO_BITS;
    private int header;
    private int expected;
    /** The offset that the found record says it has; {@link #UNKNOWN} if its second word is in the next segment. */
    private long recordOffset;
    /** The offset of the record after the found one. */
    private long offsetAfter = UNKNOWN;

    private byte[] scratch = new byte[0];
    /** Reads after damaged records; null before the first one. */
    private LogReaderV2 probe;

    /**
     * A reader at position 0.
     *
     * @param published everything before this position is published; Long.MAX_VALUE when the log end is to be found
     */
    public LogReaderV2(Swapper swapper, Geometry geometry, MetaFields fields, LongSupplier published) {
        super(swapper, geometry);
        this.published = published;
        this.fields = fields;
        this.maxLength = fields.maxEventSize();
        this.queue = fields.uuid();
        this.checksum = new RecordChecksum(queue);
    }

    @Override
    public void moveTo(long position) {
        super.moveTo(position);
        nextOffset = UNKNOWN;
    }

    @Override
    public void goTo(int to) {
        super.goTo(to);
        nextOffset = UNKNOWN;
    }

    @Override
    public void expect(long offset) {
        nextOffset = offset;
    }

    @Override
    public void advance() {
        Segment before = segment;
        super.advance();
        nextOffset = offsetAfter;
        if (segment != before && segment != null) { // a segment in which the record continued, so it was checked
            baseOffset = segment.baseOffset();
            baseTime = segment.baseTime();
            stampBits = NO_BITS;
        }
    }

    /** Sets the epoch of the segment before the position: no segment of a lower epoch may follow. */
    public void afterEpoch(long before) {
        lowestEpoch = before;
    }

    @Override
    public boolean next() throws IOException {
        while (true) {
            if (atByte == segmentSize) {
                // The rest of a batch is published with its first record, before the appender moves the writing
                // position.
                if (!batchContinues && published.getAsLong() <= geometry.position(segmentId, segmentSize)) {
                    return false;
                }
                if (segment != null) { // an unpinned slot may hold a later generation; its epoch is unrelated
                    lowestEpoch = epoch;
                }
                nextSegment(geometry.dataStart());
                continue;
            }
            if (segment == null) {
                StackRoom.ensure();
                checkedSegment();
            }
            if (load() == 0) {
                if (published.getAsLong() <= position() || segment.headerAcquire(atByte) != 0) {
                    return false;
                }
                if (loadAnew() != 0) {
                    continue;
                }
                throw corrupt(
                        atByte,
                        published.getAsLong() == Long.MAX_VALUE
                                ? "there is no record"
                                : "there is no record, but records have been published up to position "
                                        + published.getAsLong());
            }
            if ((header & NO_RECORD) == 0) {
                return found();
            }
            pass();
        }
    }

    // Loads length, flags and checksum from the header at the position, in the pinned segment. Returns the header,
    // which is 0 if no record is published there.
    private long load() {
        long word = segment.headerAcquire(atByte);
        header = RecordDescriptor.lengthAndFlags(word);
        expected = RecordDescriptor.checksum(word);
        return word;
    }

    // Loads from a new mapping of the segment: the old one may lack a published record.
    private long loadAnew() throws IOException {
        segment = swapper.renew(segment);
        return load();
    }

    @Override
    public boolean hasCaughtUp() {
        return segment != null && atByte < segmentSize && segment.headerAcquire(atByte) == 0;
    }

    /**
     * Like {@link #next}, but finds a record of this segment alone. A pad or a gap may lead to the segment's end or
     * beyond it.
     *
     * @param limit the byte of the segment before which the record begins
     */
    public boolean nextHere(int limit) throws IOException {
        long id = segmentId;
        while (segmentId == id && atByte < limit) {
            checkedSegment();
            if (load() == 0 && (published.getAsLong() <= position() || loadAnew() == 0)) {
                return false;
            }
            if ((header & NO_RECORD) == 0) {
                return found();
            }
            pass();
        }
        return false;
    }

    private boolean found() {
        length = RecordDescriptor.length(header);
        if (length > maxLength) {
            throw corrupt(atByte, "the record's length is " + length + ", but max_event_size is " + maxLength);
        }
        batchContinues = (header & RecordDescriptor.BATCH) != 0;
        if (atByte + RecordDescriptor.HEADER < segmentSize) {
            take(segment.getLong(atByte + RecordDescriptor.HEADER));
        } else {
            recordOffset = UNKNOWN;
            timestamp = 0;
        }
        return true;
    }

    // Takes offset and timestamp from the second word of the record.
    private void take(long second) {
        recordOffset = RecordDescriptor.offset(second, baseOffset);
        long bits = second & ~RecordDescriptor.OFFSET_MASK;
        if (bits != stampBits || (header & RecordDescriptor.TIMESTAMPED) == 0) {
            stamp = RecordDescriptor.timestamp(header, second, baseTime);
            stampBits = (header & RecordDescriptor.TIMESTAMPED) == 0 ? NO_BITS : bits;
        }
        timestamp = stamp;
    }

    // The second word of the record; also when the record's header ends the segment.
    private long secondWord() throws IOException {
        int at = atByte + RecordDescriptor.HEADER;
        if (at < segmentSize) {
            return segment.getLong(at);
        }
        StackRoom.ensure();
        Segment next = continuation(segmentId + 1);
        try {
            return next.getLong(geometry.dataStart());
        } finally {
            swapper.unpin(next);
        }
    }

    /**
     * The timestamp of the record that {@link #next} has found, 0 for none; also when the record's header ends the
     * segment and the second word is in the next one.
     */
    public long timestampOfFound() throws IOException {
        return RecordDescriptor.timestamp(header, secondWord(), baseTime);
    }

    // Checks a pad or a gap like a record, then skips it.
    private void pass() throws IOException {
        if ((header & RecordDescriptor.PAD) != 0 && (header & RecordDescriptor.RESERVED) == 0) {
            checkPad();
            atByte = segmentSize;
        } else {
            long lost = checkGap();
            skip();
            advance();
            nextOffset = recordOffset + lost;
            batchContinues = false;
        }
    }

    private void checkPad() {
        long padEpoch = RecordDescriptor.padEpoch(epoch, header);
        int found = checksum.ofPad(segmentId, padEpoch, atByte, header);
        if (found != expected || padEpoch > fields.epoch() && published.getAsLong() == Long.MAX_VALUE) {
            throw corrupt(atByte, checksumFault(found));
        }
    }

    // Returns the number of lost records.
    private long checkGap() throws IOException {
        if (!RecordDescriptor.isGap(header)) {
            throw corrupt(
                    atByte,
                    "a record with flags 0x" + Integer.toHexString(RecordDescriptor.flags(header))
                            + ", which this version does not know");
        }
        long second = secondWord();
        recordOffset = RecordDescriptor.offset(second, baseOffset);
        timestamp = RecordDescriptor.lost(second);
        payloadCrc.reset();
        check(payloadCrc);
        return timestamp;
    }

    @Override
    public void read(byte[] target, int start) throws IOException {
        CRC32C crc = payloadCrc;
        crc.reset();
        int body = RecordDescriptor.bodyBytes(header);
        int from = atByte + RecordDescriptor.HEADER;
        if (body <= segmentSize - from) {
            segment.get(from + Long.BYTES, target, start, length);
            crc.update(target, start, length);
            check(crc);
            endsHere(from + body);
        } else {
            readSpanning(target, start, body);
            crc.update(target, start, length);
            check(crc);
        }
    }

    @Override
    public boolean nextPlain() {
        Segment from = segment;
        int at = atByte;
        if (from == null || at >= segmentSize) {
            return false;
        }
        long word = load();
        int bytes = RecordDescriptor.length(header);
        int end = at + RecordDescriptor.HEADER + RecordDescriptor.bodyBytes(header);
        if (word == 0 || (header & NO_RECORD) != 0 || bytes > maxLength || end - segmentSize > 0) {
            return false;
        }
        length = bytes;
        endByte = end;
        take(from.getLong(at + RecordDescriptor.HEADER));
        return recordOffset == nextOffset;
    }

    @Override
    public boolean takePlain(byte[] target, int start) {
        int bytes = length;
        segment.get(atByte + RecordDescriptor.SMALLEST, target, start, bytes);
        CRC32C crc = payloadCrc;
        crc.reset();
        crc.update(target, start, bytes);
        if (checksum.finish(crc, recordOffset, timestamp, header) != expected) {
            return false;
        }
        batchContinues = (header & RecordDescriptor.BATCH) != 0;
        nextOffset = recordOffset + 1;
        atByte = endByte;
        return true;
    }

    private void check(CRC32C crc) {
        int found = checksum.finish(crc, recordOffset, timestamp, header);
        if (found != expected) {
            throw corrupt(atByte, checksumFault(found));
        }
        if (recordOffset != nextOffset && nextOffset != UNKNOWN) {
            throw corrupt(atByte, "the record's offset is " + recordOffset + ", expected " + nextOffset);
        }
        offsetAfter = recordOffset + 1;
    }

    private String checksumFault(int found) {
        return "the record's checksum is 0x" + Integer.toHexString(expected) + ", but its bytes have 0x"
                + Integer.toHexString(found);
    }

    private void readSpanning(byte[] target, int start, int body) throws IOException {
        StackRoom.ensure();
        Segment at = segment;
        long id = segmentId;
        int from = atByte + RecordDescriptor.HEADER;
        boolean atSecond = true;
        int done = 0;
        int left = body;
        boolean kept = false;
        try {
            while (left > 0) {
                if (from == segmentSize) {
                    if (at != segment) {
                        swapper.unpin(at);
                    }
                    at = null;
                    at = continuation(++id);
                    from = geometry.dataStart();
                }
                // The second word is aligned, so no segment's end splits it.
                if (atSecond) {
                    take(at.getLong(from));
                    from += 8;
                    left -= 8;
                    atSecond = false;
                    continue;
                }
                int piece = Math.min(left, segmentSize - from);
                int payload = Math.min(piece, length - done);
                at.get(from, target, start + done, payload);
                done += payload;
                from += piece;
                left -= piece;
            }
            endsIn(at, id, from);
            kept = true;
        } finally {
            if (!kept && at != null && at != segment) {
                swapper.unpin(at);
            }
        }
    }

    // Returns a segment in which the record continues. The header was published after the whole record, so either
    // all its segments exist or its length is damaged.
    private Segment continuation(long id) throws IOException {
        Segment next = swapper.pin(id);
        boolean valid = false;
        try {
            String fault = next.headerFault(queue, geometry);
            if (fault == null && next.epoch() != epoch && !RecordDescriptor.isGap(header)) {
                fault = "segment epoch is " + next.epoch() + ", but the record that continues here is of epoch "
                        + epoch;
            }
            if (fault != null) {
                throw new CorruptException(next.path().toString(), 0, fault);
            }
            valid = true;
            return next;
        } finally {
            if (!valid) {
                swapper.unpinAndForget(next);
            }
        }
    }

    @Override
    public boolean skipChecked(long end) throws IOException {
        try {
            check();
            return true;
        } catch (CorruptException e) {
            skip();
            if (!endsWhereItSays(end)) {
                throw e.file().equals(swapper.path(segmentId).toString())
                        ? e
                        : corrupt(
                                atByte,
                                "the record's length is " + length + ", but in the segment in which it continues: "
                                        + e.getMessage());
            }
            return false;
        }
    }

    // Whether the length of a damaged record is right: the record with the next offset begins at its end, or a pad (its
    // checksum covers its place); or the log ends there, and no later record begins in between.
    private boolean endsWhereItSays(long end) throws IOException {
        long own = nextOffset == UNKNOWN ? recordOffset : nextOffset;
        long recordEnd = geometry.position(endId, endByte);
        if (probe == null) {
            probe = new LogReaderV2(swapper, geometry, fields, published);
        }
        try {
            probe.moveTo(recordEnd);
            if (probe.isPadHere() || probe.offsetHere(own + 1, own + 2) >= 0) {
                return true;
            }
            if (recordEnd != end && recordEnd != published.getAsLong()) {
                return false;
            }
            probe.moveTo(position());
            int until = endId == segmentId ? endByte : segmentSize;
            for (int at = atByte + RecordDescriptor.HEADER; at < until; at += Long.BYTES) {
                probe.goTo(at);
                if (probe.offsetHere(own + 1, Long.MAX_VALUE) >= 0) {
                    return false;
                }
            }
            return true;
        } catch (CorruptException e) {
            return false; // of the segment that follows
        } finally {
            probe.leave();
        }
    }

    private boolean isPadHere() throws IOException {
        if (atByte == segmentSize) {
            return false;
        }
        checkedSegment();
        if (load() == 0 || (header & (RecordDescriptor.PAD | RecordDescriptor.RESERVED)) != RecordDescriptor.PAD) {
            return false;
        }
        try {
            checkPad();
            return true;
        } catch (CorruptException e) {
            return false;
        }
    }

    /**
     * The offset of the intact record or gap that begins at the position, or after a pad that begins there. Moves no
     * position, but afterwards no record counts as found.
     *
     * @param least the lowest offset that is expected
     * @param below the offset that is too high; the fewer offsets are expected, the fewer bytes are read
     * @return -1 if there is none with an expected offset
     * @throws CorruptException if the header of the segment is damaged
     */
    public long offsetHere(long least, long below) throws IOException {
        if (atByte == segmentSize) {
            return inRange(firstOfNext(), least, below);
        }
        if (atByte < geometry.dataStart() || atByte % Long.BYTES != 0) {
            return UNKNOWN;
        }
        checkedSegment();
        if (load() == 0 || (header & RecordDescriptor.RESERVED) != 0) {
            return UNKNOWN;
        }
        long before = nextOffset;
        try {
            if ((header & RecordDescriptor.PAD) != 0) {
                checkPad();
                return inRange(firstOfNext(), least, below);
            }
            if ((header & RecordDescriptor.CONTROL) == 0) {
                boolean unused = found();
                if (recordOffset != UNKNOWN && inRange(recordOffset, least, below) < 0) {
                    return UNKNOWN;
                }
            }
            nextOffset = UNKNOWN;
            if ((header & RecordDescriptor.CONTROL) == 0) {
                check();
            } else {
                checkGap();
            }
            return inRange(recordOffset, least, below);
        } catch (CorruptException e) {
            return UNKNOWN;
        } finally {
            nextOffset = before;
            forgetEnd();
        }
    }

    private static long inRange(long offset, long least, long below) {
        return offset >= least && offset < below ? offset : UNKNOWN;
    }

    // The offset of the record that begins the next segment; unknown if that has no intact header.
    private long firstOfNext() throws IOException {
        Segment next = swapper.pinIfThere(segmentId + 1, queue);
        if (next == null) {
            return UNKNOWN;
        }
        try {
            return next.firstRecord() == geometry.dataStart() ? next.baseOffset() : UNKNOWN;
        } finally {
            swapper.unpin(next);
        }
    }

    /** Checks the record that {@link #next} has found. */
    public void check() throws IOException {
        if (scratch.length < length) {
            scratch = new byte[Math.max(length, 2 * scratch.length)];
        }
        read(scratch, 0);
    }

    /** The epoch of the segment of the position, which must be pinned. */
    public long epoch() {
        return epoch;
    }

    /** Length and flags of the record that {@link #next} has found, as stored in its header. */
    public int lengthAndFlags() {
        return header;
    }

    /** The stored checksum of that record. */
    public int checksum() {
        return expected;
    }

    @Override
    public void skip() throws IOException {
        offsetAfter = nextOffset == UNKNOWN ? UNKNOWN : nextOffset + 1;
        int body = RecordDescriptor.bodyBytes(header);
        int start = atByte + RecordDescriptor.HEADER;
        if (body <= segmentSize - start) {
            endsHere(start + body);
            return;
        }
        long end = geometry.after(position(), RecordDescriptor.HEADER + body);
        endsIn(null, geometry.segmentOfEnd(end), geometry.byteOfEnd(end));
    }

    @Override
    Segment pinned(long id) throws IOException {
        Segment next = swapper.pin(id);
        boolean valid = false;
        try {
            String fault = next.headerFault(queue, geometry);
            if (fault != null) {
                throw new CorruptException(next.path().toString(), 0, fault);
            }
            long found = next.epoch();
            if (id != segmentId && found < lowestEpoch) {
                throw new CorruptException(
                        next.path().toString(),
                        0,
                        "segment epoch is " + found + ", but the segment before has " + lowestEpoch + " (segment " + id
                                + ")");
            }
            epoch = found;
            baseOffset = next.baseOffset();
            baseTime = next.baseTime();
            stampBits = NO_BITS;
            valid = true;
            return next;
        } finally {
            if (!valid) {
                swapper.unpinAndForget(next);
            }
        }
    }

    /** The queue's UUID. */
    public UUID queue() {
        return queue;
    }

    /** The base offset of the segment of the position, which must be pinned. */
    public long baseOffset() {
        return baseOffset;
    }

    /** The base time of that segment, in µs since 1970. */
    public long baseTime() {
        return baseTime;
    }

    /** The segment of the position, pinned, after a check of its header. */
    public Segment checkedSegment() throws IOException {
        if (segment == null) {
            segment = pinned(segmentId);
        }
        return segment;
    }
}
