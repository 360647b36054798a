package org.mmapqueue.core;

import java.util.UUID;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.mmapqueue.StoredRecordSink;
import org.mmapqueue.archive.ShipSource;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.lookup.Log;
import org.mmapqueue.lookup.StoredReader;

/** An open queue as the source of its shipper. One thread at a time, except for {@link #committedOffset}. */
final class QueueShipSource implements ShipSource {
    /** Names of partition directories, as Spark's sink creates them. */
    private static final Pattern PARTITION = Pattern.compile("p=(0|[1-9][0-9]{0,8})");

    private final UUID id;
    private final int partition;
    private final Log log;
    private final LongSupplier end;
    private final LongConsumer ack;
    private final ConsumerCore consumer;
    private final StoredReader reader;

    /**
     * @param directoryName the last part of the queue's directory
     * @param end the log end
     * @param ack acks the records before an offset
     * @param consumer the shipper's consumer
     */
    QueueShipSource(UUID id, String directoryName, Log log, LongSupplier end, LongConsumer ack, ConsumerCore consumer) {
        Matcher name = PARTITION.matcher(directoryName);
        this.id = id;
        this.partition = name.matches() ? Integer.parseInt(name.group(1)) : 0;
        this.log = log;
        this.end = end;
        this.ack = ack;
        this.consumer = consumer;
        this.reader = log.storedReader();
    }

    @Override
    public UUID queueId() {
        return id;
    }

    @Override
    public int localPartition() {
        return partition;
    }

    @Override
    public long endOffset() {
        return end.getAsLong();
    }

    @Override
    public long durableOffset() {
        return log.durableOffset();
    }

    @Override
    public long committedOffset() {
        return consumer.committedOffset();
    }

    @Override
    public int read(long from, long to, long maxBytes, StoredRecordSink sink) {
        return reader.read(from, to, maxBytes, sink);
    }

    @Override
    public void ack(long before) {
        ack.accept(before);
    }
}
