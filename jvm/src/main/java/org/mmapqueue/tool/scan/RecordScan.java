package org.mmapqueue.tool.scan;

import java.io.IOException;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;

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
    boolean batchContinues;
    public long endId;
    public int endOffset;
    /** The epoch in which the pad was written. */
    long padEpoch;

    /** The stored checksum, and the checksum of the bytes. */
    public int storedChecksum;

    public int foundChecksum;

    /** The fault of a BAD position, and the file with the fault. */
    Mismatch fault;

    Path faultFile;

    public RecordScan(Slots slots, MetaFields facts) {
        this.slots = slots;
        this.geometry = slots.geometry();
        this.checksum = new RecordChecksum(facts.uuidHigh(), facts.uuidLow());
        this.maxLength = facts.maxEventSize();
    }

    /** Reads the record at a position of a segment of this epoch. */
    public Kind look(Slot slot, int offset, long epoch) throws IOException {
        if (slot.bytes() == null) {
            return bad(slot.path(), slot.fault());
        }
        long word = slot.bytes().getLong(offset);
        if (word == 0) {
            fault = new Mismatch(offset, "no record", "one");
            faultFile = slot.path();
            return Kind.NOTHING;
        }
        int header = RecordDescriptor.lengthAndFlags(word);
        if ((header & RecordDescriptor.RESERVED) != 0) {
            return bad(
                    slot.path(),
                    new Mismatch(offset, "flags " + Mismatch.hex(RecordDescriptor.flags(header)), "no flag I"));
        }
        if ((header & RecordDescriptor.PAD) != 0) {
            return pad(slot, offset, epoch, word);
        }
        boolean lost = (header & RecordDescriptor.CONTROL) != 0;
        length = RecordDescriptor.length(header);
        if (!lost && length > maxLength) {
            return bad(
                    slot.path(),
                    new Mismatch(offset, "a record of " + length + " bytes", "at most max_event_size, " + maxLength));
        }
        batchContinues = (header & RecordDescriptor.BATCH) != 0;
        end(slot.id(), offset, RecordDescriptor.bodyBytes(header));
        if (lost) {
            timestamp = 0;
            crc.reset();
            return compare(slot, offset, epoch, word, Kind.LOST);
        }
        return body(slot, offset, epoch, header) ? compare(slot, offset, epoch, word, Kind.RECORD) : Kind.BAD;
    }

    /** Computes where a record with a body of this length ends. */
    private void end(long id, int offset, int body) {
        long end = geometry.after(geometry.position(id, offset), RecordDescriptor.HEADER + body);
        endId = geometry.segmentOfEnd(end);
        endOffset = geometry.offsetOfEnd(end);
    }

    // Computes the checksum of the payload, and reads the timestamp.
    private boolean body(Slot slot, int offset, long epoch, int header) throws IOException {
        crc.reset();
        timestamp = 0;
        boolean stamped = (header & RecordDescriptor.TIMESTAMPED) != 0;
        Slot at = slot;
        int from = offset + RecordDescriptor.HEADER;
        int left = length;
        while (stamped || left > 0) {
            if (from == geometry.segmentSize()) {
                at = slots.get(at.id() + 1);
                if (!continues(at, epoch)) {
                    return false;
                }
                from = geometry.dataStart();
            }
            if (stamped) {
                timestamp = at.bytes().getLong(from);
                from += Long.BYTES;
                stamped = false;
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
                    new Mismatch(32, "epoch " + next.header().epoch(), epoch + ", of the record that continues here"));
            return false;
        }
        return true;
    }

    private Kind compare(Slot slot, int offset, long epoch, long word, Kind kind) {
        int header = RecordDescriptor.lengthAndFlags(word);
        storedChecksum = RecordDescriptor.checksum(word);
        foundChecksum = checksum.finish(crc, slot.id(), epoch, offset, header, timestamp);
        return foundChecksum == storedChecksum
                ? kind
                : bad(
                        slot.path(),
                        new Mismatch(
                                offset,
                                "checksum " + Mismatch.hex(storedChecksum),
                                Mismatch.hex(foundChecksum) + ", of the record's bytes"));
    }

    private Kind pad(Slot slot, int offset, long epoch, long word) {
        padEpoch = RecordDescriptor.padEpoch(epoch, RecordDescriptor.lengthAndFlags(word));
        endId = slot.id();
        endOffset = geometry.segmentSize();
        crc.reset();
        timestamp = 0;
        return compare(slot, offset, padEpoch, word, Kind.PAD);
    }

    private Kind bad(Path file, Mismatch what) {
        faultFile = file;
        fault = what;
        return Kind.BAD;
    }

    /**
     * Whether the header at a position, with a wrong checksum, describes one record that ends at another position.
     *
     * @param newest the latest timestamp before it, in µs since 1970; no record has an older one
     */
    boolean leads(Slot slot, int offset, long toId, int to, long newest) throws IOException {
        long word = slot.bytes() == null ? 0 : slot.bytes().getLong(offset);
        int header = RecordDescriptor.lengthAndFlags(word);
        int odd = RecordDescriptor.PAD | RecordDescriptor.CONTROL | RecordDescriptor.RESERVED;
        // A checksum is never 0.
        if (RecordDescriptor.checksum(word) == 0
                || (header & odd) != 0
                || RecordDescriptor.length(header) > maxLength) {
            return false;
        }
        int body = offset + RecordDescriptor.HEADER;
        boolean stamped = (header & RecordDescriptor.TIMESTAMPED) != 0 && body < geometry.segmentSize();
        if (stamped && slot.bytes().getLong(body) < newest) {
            return false;
        }
        end(slot.id(), offset, RecordDescriptor.bodyBytes(header));
        return geometry.position(endId, endOffset == geometry.dataStart() ? 0 : endOffset)
                == geometry.position(toId, to == geometry.dataStart() ? 0 : to);
    }

    /** The header that the intact record at a position gets with another timestamp. */
    public long restamped(Slot slot, int offset, long epoch, long stamp) throws IOException {
        int header = RecordDescriptor.lengthAndFlags(slot.bytes().getLong(offset));
        length = RecordDescriptor.length(header);
        body(slot, offset, epoch, header);
        return RecordDescriptor.header(header, checksum.finish(crc, slot.id(), epoch, offset, header, stamp));
    }
}
