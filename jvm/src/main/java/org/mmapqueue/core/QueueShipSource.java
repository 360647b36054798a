package org.mmapqueue.core;

import java.io.IOException;
import java.util.Optional;
import java.util.UUID;
import java.util.function.LongConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.mmapqueue.StoredRecordSink;
import org.mmapqueue.archive.ShipSource;
import org.mmapqueue.archive.owner.LinkStore;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.lookup.StoredReader;
import org.mmapqueue.meta.ArchiveLink;

/**
 * An open queue as the source of its shipper.
 *
 * @param consumer the shipper's consumer
 * @param onAck acks the records before an offset
 * @param link the queue's directory
 */
record QueueShipSource(QueueCore core, StoredReader reader, ConsumerCore consumer, LongConsumer onAck, LinkStore link)
        implements ShipSource {
    /** Names of partition directories, as Spark's sink creates them. */
    private static final Pattern PARTITION = Pattern.compile("p=(0|[1-9][0-9]{0,8})");

    @Override
    public UUID queueId() {
        return core.id();
    }

    // A process beside the writer would wait for records that are pushed into another directory. The writer itself
    // pushes
    // into the files that it has open, and ships what it has pushed.
    @Override
    public void checkPlace() {
        if (core.settings().readOnly()) {
            core.checkPlace();
        }
    }

    // 0 for a queue that is not a partition.
    @Override
    public int localPartition() {
        Matcher name = PARTITION.matcher(
                core.directory().toAbsolutePath().getFileName().toString());
        return name.matches() ? Integer.parseInt(name.group(1)) : 0;
    }

    @Override
    public long firstOffset() {
        return core.log().firstOffset();
    }

    @Override
    public long endOffset() {
        return core.endOffset();
    }

    @Override
    public long durableOffset() {
        return core.log().durableOffset();
    }

    @Override
    public long committedOffset() {
        return consumer.neededOffset();
    }

    @Override
    public long consumedOffset() {
        return core.records().overflows() ? core.leastPassedOffset(Shipping.CONSUMER) : Long.MAX_VALUE;
    }

    @Override
    public long read(long from, long to, long maxBytes, StoredRecordSink sink) {
        return reader.read(from, to, maxBytes, sink);
    }

    @Override
    public Optional<ArchiveLink> readLink() throws IOException {
        return link.readLink();
    }

    @Override
    public void writeLink(ArchiveLink now) throws IOException {
        core.checkPlace(); // the link of another queue may be there
        link.writeLink(now);
    }

    @Override
    public void ack(long before) {
        onAck.accept(before);
    }
}
