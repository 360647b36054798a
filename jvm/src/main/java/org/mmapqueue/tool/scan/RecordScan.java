package org.mmapqueue.tool.scan;

import java.io.IOException;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.SegmentHeader;

/**
 * Reads and verifies the record at one position of the log. Uses a fixed amount of memory, whatever a length field
 * says. Not thread-safe.
 */
public final class RecordScan {
    private static final int CHUNK = 64 * 1024;

    /** What was found at a position. */
    public enum Kind {
        /** An intact record. */
        RECORD,
        /** A tombstone, which a repair stores in place of a lost record. */
        LOST,
        /** A pad: the log continues in the next segment. */
        PAD,
        /** Nothing is published. */
        NOTHING,
        /** No valid record; {@link #fault} says why. */
        BAD;

        /** Whether the log continues after it. */
        boolean isWhole() {
            return this == RECORD || this == LOST || this == PAD;
        }
    }

    private final Slots slots;
    private final Geometry geometry;
    private final RecordChecksum checksum;
    private final CRC32C crc = new CRC32C();
    private final byte[] chunk = new byte[CHUNK];
    private final int maxLength;

    /** Of the record found: length of the payload, timestamp, position of the end. */
    int length;

    public long timestamp;
    /** The offset of the record found. */
    public long recordOffset;

    boolean batchContinues;
    public long endId;
    public int endOffset;
    /** The epoch in which the pad was written. */
    long padEpoch;

    /** The stored checksum, and the checksum of the bytes; both 0 if the header is no record's. */
    int storedChecksum;

    int foundChecksum;

    /** The fault of a BAD position, and the file with the fault. */
    Mismatch fault;

    Path faultFile;

    public RecordScan(Slots slots, MetaFields facts) {
        this.slots = slots;
        this.geometry = slots.geometry();
        this.checksum = new RecordChecksum(facts.uuid());
        this.maxLength = facts.maxEventSize();
    }

    /** Reads the record at a byte of a segment with this base. */
    public Kind look(Slot slot, int at, SegmentBase base) throws IOException {
        storedChecksum = 0;
        foundChecksum = 0;
        if (slot.bytes() == null) {
            return bad(slot.path(), slot.fault());
        }
        long word = slot.bytes().getLong(at);
        if (word == 0) {
            fault = new Mismatch(at, "no record", "one");
            faultFile = slot.path();
            return Kind.NOTHING;
        }
        int header = RecordDescriptor.lengthAndFlags(word);
        if ((header & RecordDescriptor.RESERVED) != 0) {
            return bad(
                    slot.path(),
                    new Mismatch(at, "flags " + Mismatch.hex(RecordDescriptor.flags(header)), "no flag I"));
        }
        if ((header & RecordDescriptor.PAD) != 0) {
            return pad(slot, at, base.epoch(), word);
        }
        boolean lost = (header & RecordDescriptor.CONTROL) != 0;
        length = lost ? 0 : RecordDescriptor.length(header);
        if (length > maxLength) {
            return bad(
                    slot.path(),
                    new Mismatch(at, "a record of " + length + " bytes", "at most max_event_size, " + maxLength));
        }
        batchContinues = (header & RecordDescriptor.BATCH) != 0;
        end(slot.id(), at, RecordDescriptor.bodyBytes(header));
        if (!body(slot, at, base, header)) {
            return Kind.BAD;
        }
        int found = checksum.finish(crc, recordOffset, timestamp, header);
        return compare(slot, at, word, found, lost ? Kind.LOST : Kind.RECORD);
    }

    /** Computes where a record with a body of this length ends. */
    private void end(long id, int at, int body) {
        long end = geometry.after(geometry.position(id, at), RecordDescriptor.HEADER + body);
        endId = geometry.segmentOfEnd(end);
        endOffset = geometry.offsetOfEnd(end);
    }

    // Computes the checksum of the payload, and reads offset and timestamp.
    private boolean body(Slot slot, int start, SegmentBase base, int header) throws IOException {
        crc.reset();
        boolean atSecond = true;
        Slot at = slot;
        int from = start + RecordDescriptor.HEADER;
        int left = length;
        while (atSecond || left > 0) {
            if (from == geometry.segmentSize()) {
                at = slots.get(at.id() + 1);
                if (!continues(at, base.epoch())) {
                    return false;
                }
                from = geometry.dataStart();
            }
            if (atSecond) {
                long second = at.bytes().getLong(from);
                recordOffset = RecordDescriptor.offset(second, base.offset());
                timestamp = RecordDescriptor.timestamp(header, second, base.time());
                from += Long.BYTES;
                atSecond = false;
                continue;
            }
            int piece = Math.min(Math.min(left, CHUNK), geometry.segmentSize() - from);
            at.bytes().get(from, chunk, 0, piece);
            crc.update(chunk, 0, piece);
            from += piece;
            left -= piece;
        }
        return true;
    }

    // Whether a record continues in this segment. A damaged segment header does not make the record bad: the record's
    // own checksum decides.
    private boolean continues(Slot next, long epoch) {
        if (next.bytes() == null) {
            bad(next.path(), next.fault());
            return false;
        }
        if (next.header() != null && next.header().epoch() != epoch) {
            bad(
                    next.path(),
                    new Mismatch(
                            SegmentHeader.EPOCH_AT,
                            "epoch " + next.header().epoch(),
                            epoch + ", of the record that continues here"));
            return false;
        }
        return true;
    }

    private Kind compare(Slot slot, int at, long word, int found, Kind kind) {
        int stored = RecordDescriptor.checksum(word);
        storedChecksum = stored;
        foundChecksum = found;
        return found == stored
                ? kind
                : bad(
                        slot.path(),
                        new Mismatch(
                                at,
                                "checksum " + Mismatch.hex(stored),
                                Mismatch.hex(found) + ", of the record's bytes"));
    }

    private Kind pad(Slot slot, int at, long epoch, long word) {
        int header = RecordDescriptor.lengthAndFlags(word);
        padEpoch = RecordDescriptor.padEpoch(epoch, header);
        endId = slot.id();
        endOffset = geometry.segmentSize();
        timestamp = 0;
        return compare(slot, at, word, checksum.ofPad(slot.id(), padEpoch, at, header), Kind.PAD);
    }

    private Kind bad(Path file, Mismatch what) {
        faultFile = file;
        fault = what;
        return Kind.BAD;
    }

    /** Reports an intact record that is not the one with this offset. */
    Kind unexpected(Slot slot, int at, long expected) {
        return bad(slot.path(), new Mismatch(at, "record " + recordOffset, "record " + expected));
    }

    /**
     * Whether the header at a position, with a wrong checksum, describes one record that ends at another position.
     *
     * @param newest the latest timestamp before it, in µs since 1970; no record has an older one
     */
    boolean leads(Slot slot, int at, SegmentBase base, long toId, int to, long newest) throws IOException {
        long word = slot.bytes() == null ? 0 : slot.bytes().getLong(at);
        int header = RecordDescriptor.lengthAndFlags(word);
        int odd = RecordDescriptor.PAD | RecordDescriptor.CONTROL | RecordDescriptor.RESERVED;
        // A checksum is never 0.
        if (RecordDescriptor.checksum(word) == 0
                || (header & odd) != 0
                || RecordDescriptor.length(header) > maxLength) {
            return false;
        }
        int second = at + RecordDescriptor.HEADER;
        boolean stamped = (header & RecordDescriptor.TIMESTAMPED) != 0 && second < geometry.segmentSize();
        if (stamped && RecordDescriptor.timestamp(header, slot.bytes().getLong(second), base.time()) < newest) {
            return false;
        }
        end(slot.id(), at, RecordDescriptor.bodyBytes(header));
        return geometry.position(endId, endOffset == geometry.dataStart() ? 0 : endOffset)
                == geometry.position(toId, to == geometry.dataStart() ? 0 : to);
    }

    /** The header that the intact record at a position gets with another timestamp; also reads its offset. */
    public long restamped(Slot slot, int at, SegmentBase base, long stamp) throws IOException {
        int header = RecordDescriptor.lengthAndFlags(slot.bytes().getLong(at));
        length = RecordDescriptor.length(header);
        body(slot, at, base, header);
        return RecordDescriptor.header(header, checksum.finish(crc, recordOffset, stamp, header));
    }
}
