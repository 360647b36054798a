package org.mmapqueue.archive.run;

import java.util.UUID;
import java.util.zip.CRC32C;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;

/** Iterates over the records and gaps of a block. Each record is checked against its own checksum. Not thread-safe. */
public final class RecordCursor {
    private final RecordChecksum checksum;
    private final CRC32C crc = new CRC32C();
    private String path = "";
    private long blockPosition;
    private byte[] array = {};
    private long baseOffset;
    private long baseTime;
    private long end;
    private int limit;

    // The current record, and where the next one begins.
    private long offset;
    private long after;
    private int header;
    private int expected;
    private long timestamp;
    private int from;
    private int length;
    private int next;

    RecordCursor(UUID queue) {
        checksum = new RecordChecksum(queue);
    }

    void begin(String file, long position, RunLayout.BlockHeader block, byte[] bytes, int start) {
        path = file;
        blockPosition = position;
        array = bytes;
        baseOffset = block.baseOffset();
        baseTime = block.baseTime();
        end = block.first() + block.count();
        limit = start + block.bytes();
        offset = block.first() - 1;
        after = block.first();
        next = start;
    }

    /**
     * Moves to the next record or gap.
     *
     * @return false after the block's last record
     * @throws CorruptException if the block holds anything else; the cursor cannot be used any more then
     */
    public boolean next() {
        if (after == end) {
            if (next != limit) {
                throw corrupt("the block's records end " + (limit - next) + " bytes before the block");
            }
            return false;
        }
        if (limit - next < RecordDescriptor.SMALLEST) {
            throw corrupt("the block ends before its last record");
        }
        long word = RunLayout.getLong(array, next);
        header = RecordDescriptor.lengthAndFlags(word);
        expected = RecordDescriptor.checksum(word);
        length = isGap() ? 0 : RecordDescriptor.length(header);
        from = next + RecordDescriptor.SMALLEST;
        int padded = RecordDescriptor.bodyBytes(length) - Long.BYTES;
        boolean isRecord =
                (header & (RecordDescriptor.PAD | RecordDescriptor.RESERVED | RecordDescriptor.CONTROL)) == 0;
        if (!isRecord && !isGap() || padded > limit - from) {
            throw corrupt("a record with the header 0x" + Integer.toHexString(header) + " and " + (limit - from)
                    + " bytes left in the block");
        }
        long second = RunLayout.getLong(array, next + RecordDescriptor.HEADER);
        timestamp = RecordDescriptor.timestamp(header, second, baseTime);
        next = from + padded;
        offset = after;
        after = offset + (isGap() ? timestamp : 1);
        long found = RecordDescriptor.offset(second, baseOffset);
        if (found != offset) {
            throw corrupt("the record's offset is " + found);
        }
        if (after > end) {
            throw corrupt("a gap extends to offset " + after + ", but the block to " + end);
        }
        return true;
    }

    /** Moves to the record of an offset of this block, or to the gap in which the offset is. */
    public void moveTo(long wanted) {
        while (after <= wanted) {
            if (!next()) {
                throw corrupt("the block ends before record " + wanted);
            }
        }
    }

    /** Throws CorruptException if the current record is damaged; the cursor can move to the next one. */
    public void check() {
        crc.reset();
        crc.update(array, from, length);
        int found = checksum.finish(crc, offset, timestamp, header);
        if (found != expected) {
            throw corrupt("the record's checksum is 0x" + Integer.toHexString(expected) + ", but its bytes have 0x"
                    + Integer.toHexString(found));
        }
    }

    private CorruptException corrupt(String detail) {
        return new CorruptException(path, blockPosition, "record " + offset + ": " + detail);
    }

    /** Whether the cursor is at a gap: at lost records from {@link #offset} to {@link #end}. */
    public boolean isGap() {
        return RecordDescriptor.isGap(header);
    }

    /** The offset after the current record or gap. */
    public long end() {
        return after;
    }

    /** The current record's offset; the offset before the block's first one if the cursor was not moved. */
    public long offset() {
        return offset;
    }

    /** The record's timestamp in µs since 1970; 0 for none. */
    public long timestampMicros() {
        return isGap() ? 0 : timestamp;
    }

    /** The array that holds the payload; valid up to the next read of the run. */
    public byte[] array() {
        return array;
    }

    /** Index of the payload's first byte. */
    public int from() {
        return from;
    }

    /** Bytes of the payload. */
    public int length() {
        return length;
    }

    /** The current record with all inputs of its checksum. */
    public StoredRecord stored() {
        return new StoredRecord(
                offset,
                baseOffset,
                baseTime,
                header,
                expected,
                timestampMicros(),
                isGap() ? timestamp : 0,
                array,
                from,
                length);
    }
}
