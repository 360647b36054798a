package org.mmapqueue.support;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;

/**
 * A log of records as a queue stores them, with right checksums: over segments, with and without timestamps, with empty
 * payloads, gaps and pads.
 */
public final class StoredLog {
    private static final int START = 64;
    private static final long FIRST_MICROS = 1_700_000_000_000_000L;

    public final UUID queue = new UUID(0x1234_5678_9ABC_DEF0L, 42);

    private final RecordChecksum checksum = new RecordChecksum(queue);
    private final int segmentSize;
    private final List<StoredRecord> records = new ArrayList<>();
    private final long firstOffset;
    private long baseOffset;
    private long baseTime = FIRST_MICROS;
    private int at = START;
    private long micros = FIRST_MICROS;

    public StoredLog(int segmentSize, long firstOffset) {
        this.segmentSize = segmentSize;
        this.firstOffset = firstOffset;
        this.baseOffset = firstOffset;
    }

    /** A log of random records. */
    public static StoredLog random(Random random, int count, int mostBytes, long firstOffset) {
        StoredLog log = new StoredLog(8192, firstOffset);
        boolean stamped = random.nextInt(4) > 0;
        while (log.end() - firstOffset < count) {
            switch (random.nextInt(30)) {
                case 0 -> log.addGap(1 + random.nextInt(5));
                case 1 -> log.pad();
                case 2 -> log.add(new byte[0], stamped);
                case 3 -> log.add(bytes(random, random.nextInt(mostBytes)), !stamped);
                default -> log.add(bytes(random, random.nextInt(random.nextBoolean() ? 40 : mostBytes)), stamped);
            }
        }
        return log;
    }

    private static byte[] bytes(Random random, int length) {
        byte[] bytes = new byte[length];
        if (random.nextBoolean()) {
            random.nextBytes(bytes);
        } else {
            Arrays.fill(bytes, (byte) 7); // compresses well
        }
        return bytes;
    }

    public void add(byte[] payload, boolean stamped) {
        int flags = payload.length | (stamped ? RecordDescriptor.TIMESTAMPED : 0);
        micros += 1000;
        CRC32C crc = new CRC32C();
        crc.update(payload);
        store(flags, stamped ? micros : 0, payload, crc);
    }

    /** In place of lost records. */
    public void addGap(int lost) {
        if (at == segmentSize) {
            roll();
        }
        records.add(gap(end(), end() + lost));
        at += RecordDescriptor.SMALLEST;
    }

    private StoredRecord gap(long first, long end) {
        long header = checksum.gapHeader(first, end - first, Long.BYTES);
        int sum = RecordDescriptor.checksum(header);
        int flags = RecordDescriptor.lengthAndFlags(header);
        return new StoredRecord(first, first, 0, flags, sum, 0, end - first, new byte[0], 0, 0);
    }

    private void store(int flags, long timestamp, byte[] payload, CRC32C crc) {
        if (at == segmentSize) {
            roll();
        }
        int sum = checksum.finish(crc, end(), timestamp, flags);
        records.add(
                new StoredRecord(end(), baseOffset, baseTime, flags, sum, timestamp, 0, payload, 0, payload.length));
        long after = (long) at + 8 + RecordDescriptor.bodyBytes(flags);
        while (after > segmentSize) {
            roll();
            after += START - segmentSize;
        }
        at = (int) after;
    }

    /** Ends the segment, as a recovery does. */
    public void pad() {
        roll();
    }

    /** Sets the clock, and begins a segment, as after a repair that has reset the clock. */
    public void resetClock(long now) {
        micros = now;
        roll();
    }

    private void roll() {
        baseOffset = end();
        baseTime = micros;
        at = START;
    }

    public long first() {
        return firstOffset;
    }

    public long end() {
        return records.isEmpty() ? firstOffset : records.get(records.size() - 1).end();
    }

    /** The records from one offset to another; a gap at one of them is shortened. */
    public List<StoredRecord> records(long from, long to) {
        return records.stream()
                .filter(each -> each.end() > from && each.offset() < to)
                .map(each -> each.isGap() ? gap(Math.max(from, each.offset()), Math.min(to, each.end())) : each)
                .toList();
    }

    /** The record with this offset, or the gap that stands for it. */
    public StoredRecord record(long offset) {
        int low = 0;
        int high = records.size() - 1;
        while (low < high) {
            int middle = low + high + 1 >>> 1;
            if (records.get(middle).offset() <= offset) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return records.get(low);
    }
}
