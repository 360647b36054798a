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
        /** A gap, which a repair stores in place of lost records. */
        GAP,
        /** A pad: the log continues in the next segment. */
        PAD,
        /** Nothing is published. */
        NOTHING,
        /** No valid record; {@link #fault} says why. */
        BAD;

        /** Whether the log continues after it. */
        boolean isWhole() {
            return hasOffset() || this == PAD;
        }

        boolean hasOffset() {
            return this == RECORD || this == GAP;
        }
    }

    private final Slots slots;
    private final Geometry geometry;
    private final RecordChecksum checksum;
    private final CRC32C crc = new CRC32C();
    private final byte[] chunk = new byte[CHUNK];
    private final int maxLength;

    /** Of the record found: length and flags, length of the payload, timestamp, offset, position of the end. */
    int header;

    int length;
    long timestamp;
    long recordOffset;
    boolean batchContinues;
    long endId;
    int endOffset;
    /** The number of records that a gap stands for, from its offset on. */
    long lost;
    /** The epoch in which the pad was written. */
    long padEpoch;

    /** The fault of a BAD position, and the file with the fault. */
    Mismatch fault;

    Path faultFile;

    RecordScan(Slots slots, MetaFields facts) {
        this.slots = slots;
        this.geometry = slots.geometry();
        this.checksum = new RecordChecksum(facts.uuid());
        this.maxLength = facts.maxEventSize();
    }

    /** Reads the record at a byte of a segment with this base. */
    Kind look(Slot slot, int at, SegmentBase base) throws IOException {
        if (slot.bytes() == null) {
            return bad(slot.path(), slot.fault());
        }
        long word = slot.bytes().getLong(at);
        if (word == 0) {
            fault = new Mismatch(at, "no record", "one");
            faultFile = slot.path();
            return Kind.NOTHING;
        }
        header = RecordDescriptor.lengthAndFlags(word);
        boolean isGap = RecordDescriptor.isGap(header);
        if ((header & RecordDescriptor.RESERVED) != 0 || (header & RecordDescriptor.CONTROL) != 0 && !isGap) {
            String flags = Mismatch.hex(RecordDescriptor.flags(header));
            return bad(slot.path(), new Mismatch(at, "flags " + flags, "no flag I, and no other one beside C"));
        }
        if ((header & RecordDescriptor.PAD) != 0) {
            return pad(slot, at, base.epoch(), word);
        }
        length = isGap ? 0 : RecordDescriptor.length(header);
        if (length > maxLength) {
            return bad(
                    slot.path(),
                    new Mismatch(at, "a record of " + length + " bytes", "at most max_event_size, " + maxLength));
        }
        batchContinues = (header & RecordDescriptor.BATCH) != 0;
        long end = geometry.after(
                geometry.position(slot.id(), at), RecordDescriptor.HEADER + RecordDescriptor.bodyBytes(header));
        endId = geometry.segmentOfEnd(end);
        endOffset = geometry.byteOfEnd(end);
        if (!body(slot, at, base, null)) {
            return Kind.BAD;
        }
        lost = isGap ? timestamp : 0;
        int sum = checksum.finish(crc, recordOffset, timestamp, header);
        return compare(slot, at, word, sum, isGap ? Kind.GAP : Kind.RECORD);
    }

    // Computes the checksum of the payload, and reads offset and timestamp; also copies the payload if there is a
    // target.
    private boolean body(Slot start, int at, SegmentBase base, byte[] target) throws IOException {
        crc.reset();
        boolean atSecond = true;
        Slot part = start;
        int from = at + RecordDescriptor.HEADER;
        int left = length;
        while (atSecond || left > 0) {
            if (from == geometry.segmentSize()) {
                part = slots.get(part.id() + 1);
                if (!continues(part, base.epoch())) {
                    return false;
                }
                from = geometry.dataStart();
            }
            if (atSecond) { // aligned, so no segment's end splits it
                long second = part.bytes().getLong(from);
                recordOffset = RecordDescriptor.offset(second, base.offset());
                timestamp = RecordDescriptor.timestamp(header, second, base.time());
                from += Long.BYTES;
                atSecond = false;
                continue;
            }
            int piece = Math.min(Math.min(left, CHUNK), geometry.segmentSize() - from);
            part.bytes().get(from, target == null ? chunk : target, target == null ? 0 : length - left, piece);
            crc.update(target == null ? chunk : target, target == null ? 0 : length - left, piece);
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
        if (next.header() != null && next.header().epoch() != epoch && !RecordDescriptor.isGap(header)) {
            String expected = epoch + ", of the record that continues here";
            bad(
                    next.path(),
                    new Mismatch(
                            SegmentHeader.EPOCH_AT, "epoch " + next.header().epoch(), expected));
            return false;
        }
        return true;
    }

    private Kind compare(Slot slot, int at, long word, int sum, Kind kind) {
        int stored = RecordDescriptor.checksum(word);
        String expected = Mismatch.hex(sum) + ", of the record's bytes";
        return sum == stored ? kind : bad(slot.path(), new Mismatch(at, "checksum " + Mismatch.hex(stored), expected));
    }

    private Kind pad(Slot slot, int at, long epoch, long word) {
        padEpoch = RecordDescriptor.padEpoch(epoch, header);
        endId = slot.id();
        endOffset = geometry.segmentSize();
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

    /** Reads the payload of the intact record at a position. */
    void payload(Slot slot, int at, SegmentBase base, byte[] target) throws IOException {
        body(slot, at, base, target);
    }

    /** The header that this record gets with another timestamp; {@link #look} has read it. */
    long restamped(Slot slot, int at, SegmentBase base, long stamp) throws IOException {
        body(slot, at, base, null);
        return RecordDescriptor.header(header, checksum.finish(crc, recordOffset, stamp, header));
    }
}
