package org.mmapqueue.archive;

import java.nio.charset.StandardCharsets;
import java.util.UUID;
import org.mmapqueue.StoredRecord;
import org.mmapqueue.StoredRecordSink;
import org.mmapqueue.archive.run.RunDigest;
import org.mmapqueue.archive.run.RunName;

/** A queue of records "record 0", "record 1", …, as a shipper sees it. Any number of threads. */
final class MemorySource implements ShipSource {
    private final UUID id = new UUID(1, 2);
    private final String text;
    private volatile long durable;
    private volatile long committed;

    MemorySource() {
        this("record ");
    }

    MemorySource(String text) {
        this.text = text;
    }

    /** Makes records durable. */
    void pushTo(long end) {
        durable = end;
    }

    /** Sets what is acked: the acks after it were not durable before a loss of power. */
    void committed(long offset) {
        committed = offset;
    }

    /** The run of a range of the records. */
    RunName run(long from, long to) {
        RunDigest digest = new RunDigest();
        read(from, to, Long.MAX_VALUE, digest::add);
        return digest.name(1);
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
    public long endOffset() {
        return durable;
    }

    @Override
    public long durableOffset() {
        return durable;
    }

    @Override
    public long committedOffset() {
        return committed;
    }

    @Override
    public int read(long from, long to, long maxBytes, StoredRecordSink sink) {
        int count = 0;
        long bytes = 0;
        for (long offset = from; offset < to && (count == 0 || bytes < maxBytes); offset++) {
            byte[] payload = (text + offset).getBytes(StandardCharsets.UTF_8);
            sink.take(new StoredRecord(
                    offset,
                    0,
                    1,
                    (int) (64 + 32 * offset),
                    payload.length,
                    (int) offset,
                    0,
                    payload,
                    0,
                    payload.length));
            bytes += 8 + (payload.length + 7 & ~7);
            count++;
        }
        return count;
    }

    @Override
    public void ack(long before) {
        committed = Math.max(committed, before);
    }
}
