package org.mmapqueue.archive.run;

import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.segment.RecordDescriptor;

/**
 * Writes the blocks of a run, then index and trailer. A block holds consecutive records of one segment: their second
 * words count from the same base. Not thread-safe.
 */
final class BlockWriter {
    private final OutputStream out;
    private final ArchiveCodec codec;
    private final List<RunLayout.Entry> entries = new ArrayList<>();
    private final CRC32C crc = new CRC32C();
    private byte[] block = new byte[RunLayout.BLOCK / 8];
    private byte[] compressed = new byte[0];
    private long position = RunLayout.HEADER;
    private long bytes;
    private long lost;
    private long first = -1;
    private long next;
    private long minMicros;
    private long maxMicros;

    // The block that is being filled.
    private int used;
    private int count;
    private long baseOffset;
    private long baseTime;
    private long blockMin;
    private long blockMax;

    /** Writes to a stream that is positioned after the run's header. */
    BlockWriter(OutputStream out, ArchiveCodec codec) {
        codec.checkUsable();
        this.out = out;
        this.codec = codec;
    }

    /** Adds the next record. */
    void add(StoredRecord record) throws IOException {
        if (first < 0) {
            first = record.offset();
            next = first;
        } else if (record.offset() != next) {
            throw new IllegalArgumentException(
                    "record " + record.offset() + " after " + (next - 1) + "; expected " + next);
        }
        boolean isGap = record.isGap();
        int size = isGap
                ? RecordDescriptor.SMALLEST
                : RecordDescriptor.HEADER + RecordDescriptor.bodyBytes(record.lengthAndFlags());
        if (!continuesBlock(record) || used + size > RunLayout.BLOCK) {
            completeBlock();
            baseOffset = record.baseOffset();
            baseTime = record.baseTime();
        }
        put(record, isGap, size);
        count += (int) (record.end() - next);
        lost += record.lost();
        next = record.end();
    }

    private boolean continuesBlock(StoredRecord record) {
        return count > 0
                && record.baseOffset() == baseOffset
                && record.baseTime() == baseTime
                && record.end() - (next - count) <= Integer.MAX_VALUE;
    }

    private void put(StoredRecord record, boolean isGap, int size) {
        if (block.length - used < size) {
            block = Arrays.copyOf(block, Math.max(used + size, Math.min(2 * block.length, RunLayout.BLOCK)));
        }
        int at = used;
        RunLayout.putLong(block, at, RecordDescriptor.header(record.lengthAndFlags(), record.checksum()));
        at += RecordDescriptor.HEADER;
        long timestamp = record.timestampMicros();
        RunLayout.putLong(
                block,
                at,
                isGap
                        ? RecordDescriptor.gapSecond(record.offset(), record.lost())
                        : RecordDescriptor.second(record.offset(), timestamp));
        at += Long.BYTES;
        if (!isGap) {
            stamp(timestamp);
            System.arraycopy(record.array(), record.from(), block, at, record.length());
            Arrays.fill(block, at + record.length(), used + size, (byte) 0);
        }
        used += size;
    }

    private void stamp(long micros) {
        if (micros == 0) {
            return;
        }
        blockMin = blockMin == 0 ? micros : Math.min(blockMin, micros);
        blockMax = Math.max(blockMax, micros);
    }

    private void completeBlock() throws IOException {
        if (count == 0) {
            return;
        }
        crc.update(block, 0, used);
        byte[] stored = block;
        int length = used;
        if (codec == ArchiveCodec.ZSTD) {
            int bound = ZstdBlocks.bound(used);
            if (compressed.length < bound) {
                compressed = new byte[bound];
            }
            int shorter = ZstdBlocks.compress(block, used, compressed);
            // A block is stored uncompressed unless compression makes it shorter; readers recognize that by the full
            // length.
            if (shorter < used) {
                stored = compressed;
                length = shorter;
            }
        }
        out.write(new RunLayout.BlockHeader(
                        baseOffset, baseTime, next - count, count, used, length, RunLayout.crc(stored, 0, length))
                .encoded());
        out.write(stored, 0, length);
        entries.add(new RunLayout.Entry(position, next - count, blockMin, blockMax, count, used));
        position += RunLayout.BLOCK_HEADER + length;
        bytes += used;
        // Times decrease where a repair has reset the clock.
        minMicros = minMicros == 0 || blockMin == 0 ? Math.max(minMicros, blockMin) : Math.min(minMicros, blockMin);
        maxMicros = Math.max(maxMicros, blockMax);
        startBlock();
    }

    private void startBlock() {
        used = 0;
        count = 0;
        blockMin = 0;
        blockMax = 0;
        if (block.length > 4 * RunLayout.BLOCK) {
            block = new byte[RunLayout.BLOCK];
            compressed = new byte[0];
        }
    }

    /** Number of bytes of all records. */
    long bytes() {
        return bytes + used;
    }

    /** The number of records. */
    long count() {
        return first < 0 ? 0 : next - first;
    }

    /** Completes the last block; returns the name of a run of an epoch with these records. */
    RunName complete(long ofEpoch) throws IOException {
        completeBlock();
        return new RunName(first, next, ofEpoch, minMicros, maxMicros, bytes, (int) crc.getValue(), lost);
    }

    /** Writes index and trailer, after {@link #complete}. */
    void writeEnd(OutputStream to, RunLayout.Header header) throws IOException {
        byte[] index = Arrays.copyOf(header.bytes(), RunLayout.HEADER + entries.size() * RunLayout.ENTRY);
        int at = RunLayout.HEADER;
        for (RunLayout.Entry entry : entries) {
            entry.put(index, at);
            at += RunLayout.ENTRY;
        }
        to.write(index);
        to.write(new RunLayout.Trailer(position, index.length, RunLayout.crc(index, 0, index.length)).bytes());
    }
}
