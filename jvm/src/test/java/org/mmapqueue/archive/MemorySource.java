package org.mmapqueue.archive;

import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.StoredRecordSink;
import org.mmapqueue.archive.run.RunDigest;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.meta.ArchiveLink;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.segment.RecordDescriptor;

/** A queue of records "record 0", "record 1", …, as a shipper sees it. Any number of threads. */
class MemorySource implements ShipSource {
    private final UUID id;
    private final String text;
    private final RecordChecksum checksum;
    private volatile @Nullable ArchiveLink link;
    private volatile long durable;
    private volatile long first;
    private volatile long place;
    private volatile long micros;
    private volatile long lost = -1;
    private volatile long failsFrom = Long.MAX_VALUE;
    private volatile long failsOnceAt = -1;
    private volatile long committed;
    private volatile long reached;
    private volatile long mostAhead;

    MemorySource() {
        this("record ");
    }

    MemorySource(String text) {
        this(text, new UUID(1, 2));
    }

    MemorySource(String text, UUID id) {
        this.text = text;
        this.id = id;
        this.checksum = new RecordChecksum(id);
    }

    /** Makes records durable. */
    void pushTo(long end) {
        durable = end;
    }

    /** Sets what is acked: the acks after it were not durable before a loss of power. */
    void committed(long offset) {
        committed = offset;
    }

    /** Sets the offset of the first record that is retained. */
    void retainsFrom(long offset) {
        first = offset;
    }

    /** Moves all records to other places, as a resize does. */
    void moveTo(long segment) {
        place = segment;
    }

    /** Sets the time of all records. */
    void stamp(long newMicros) {
        micros = newMicros;
    }

    /** Replaces a record by a gap, as a repair does. */
    void lose(long offset) {
        lost = offset;
    }

    /** From now on each read throws that begins at this offset or after it. */
    void failFrom(long offset) {
        failsFrom = offset;
    }

    /** The next read of a record finds no memory. */
    void failOnceAt(long offset) {
        failsOnceAt = offset;
    }

    /** The offset after the last record that was read last. */
    long reached() {
        return reached;
    }

    /** The maximum number of records that were read and not acked. */
    long mostAhead() {
        return mostAhead;
    }

    /** The run of a range of the records. */
    RunName run(long from, long to) {
        RunDigest digest = new RunDigest();
        read(from, to, Long.MAX_VALUE, digest::add);
        return digest.name(1);
    }

    @Override
    public void checkPlace() {
        // it has no directory
    }

    @Override
    public UUID queueId() {
        return id;
    }

    @Override
    public int localPartition() {
        return 3;
    }

    @Override
    public long firstOffset() {
        return first;
    }

    @Override
    public long endOffset() {
        return durable;
    }

    @Override
    public long durableOffset() {
        return durable;
    }

    @Override
    public long consumedOffset() {
        return Long.MAX_VALUE;
    }

    @Override
    public long committedOffset() {
        return committed;
    }

    @Override
    public long read(long from, long to, long maxBytes, StoredRecordSink sink) {
        if (from >= failsFrom) {
            throw new IllegalStateException("failed by the test");
        }
        if (from < first) {
            throw new OutOfRangeException("the source of a test", from, first, durable - 1);
        }
        int count = 0;
        long bytes = 0;
        for (long offset = from; offset < Math.min(to, durable) && (count == 0 || bytes < maxBytes); offset++) {
            if (offset == failsOnceAt) {
                failsOnceAt = -1;
                throw new OutOfMemoryError("by the test");
            }
            StoredRecord record = record(offset);
            sink.take(record);
            bytes += 8 + RecordDescriptor.bodyBytes(record.lengthAndFlags());
            count++;
        }
        reached = from + count;
        mostAhead = Math.max(mostAhead, reached - committed);
        return from + count;
    }

    private StoredRecord record(long offset) {
        boolean isLost = offset == lost;
        byte[] payload = isLost ? new byte[0] : (text + offset).getBytes(StandardCharsets.UTF_8);
        long time = isLost ? 1 : micros;
        int flags = payload.length
                | (isLost ? RecordDescriptor.CONTROL : 0)
                | (time > 0 && !isLost ? RecordDescriptor.TIMESTAMPED : 0);
        CRC32C crc = new CRC32C();
        crc.update(payload);
        int sum;
        synchronized (checksum) {
            sum = checksum.finish(crc, offset, time, flags);
        }
        long baseOffset = offset - offset % (1 + place); // a block for each record
        return new StoredRecord(
                offset, baseOffset, time, flags, sum, isLost ? 0 : time, isLost ? 1 : 0, payload, 0, payload.length);
    }

    /** Another log in this queue's directory, without records. */
    MemorySource replaced(String otherText) {
        MemorySource other = new MemorySource(otherText, id);
        other.link = link;
        return other;
    }

    /** A copy of this queue's directory. */
    MemorySource copy() {
        MemorySource copy = replaced(text);
        copy.durable = durable;
        copy.committed = committed;
        return copy;
    }

    /** Loses what the directory knows of its archive. */
    void forget() {
        link = null;
    }

    @Override
    public Optional<ArchiveLink> readLink() {
        return Optional.ofNullable(link);
    }

    @Override
    public void writeLink(ArchiveLink now) {
        link = now;
    }

    @Override
    public void ack(long before) {
        committed = Math.max(committed, before);
    }
}
