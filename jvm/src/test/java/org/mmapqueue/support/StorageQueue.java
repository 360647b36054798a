package org.mmapqueue.support;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.QueueStats;
import org.mmapqueue.Records;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.io.Storage;

/**
 * A queue on a storage that a test has made, with the public calls by the consumer's name. Its threads do not run: a
 * test takes their steps itself, so that the same seed gives the same run. For one thread.
 */
public final class StorageQueue implements AutoCloseable {
    private final QueueCore core;

    private StorageQueue(QueueCore core) {
        this.core = core;
    }

    /** Opens it. */
    public static StorageQueue open(QueueConfig config, Storage storage) {
        return new StorageQueue(Cores.open(config, storage));
    }

    /** Starts its threads after all. */
    public void start() {
        core.writer().start();
    }

    private ConsumerCore core(String consumer) {
        return core.consumer(consumer, StartAt.EARLIEST);
    }

    /** Pushes one record. */
    public long push(byte[] record) {
        return core.writer().push(record, 0, record.length);
    }

    /** Pushes an atomic batch. */
    public long pushBatch(List<byte[]> batch) {
        return core.writer().push(Records.of(batch));
    }

    /** Returns when all is on the disk that was pushed: the second half of a sync push. */
    public void awaitDurable() {
        core.writer().awaitDurable();
    }

    /** Fsyncs everything. */
    public void flush() {
        core.writer().flush();
    }

    /** Fsyncs most, as the flusher does when it is asked by the ceiling. */
    public void flushMost() {
        core.writer().flusher().flushMost();
    }

    /** A step of the background thread. */
    public void keepHouse() {
        core.writer().housekeeper().step();
    }

    /** Deletes free files. */
    public long gc() {
        return core.writer().gc();
    }

    /** Pops one record, or null; takes the consumer up, or makes it, when this process has not. */
    public Message poll(String consumer) {
        return core.poll(core(consumer));
    }

    /** Acks all up to a record. */
    public void ack(String consumer, long offset) {
        core.ack(core(consumer), offset);
    }

    /** Acks one record. */
    public void ackSingle(String consumer, long offset) {
        core.ackSingle(core(consumer), new long[] {offset});
    }

    /** Gives a record back. */
    public void nack(String consumer, long offset) {
        core.nack(core(consumer), offset, 0);
    }

    /** Moves a consumer. */
    public void seek(String consumer, StartAt place) {
        core.seek(core(consumer), place);
    }

    /** Makes a consumer that nobody owns then. */
    public void createConsumer(String consumer, StartAt start) {
        core.createConsumer(consumer, start);
    }

    /** Deletes a consumer. */
    public void deleteConsumer(String consumer) {
        core.deleteConsumer(consumer);
    }

    /** Gives a consumer up; a later call takes it up again. */
    public void closeConsumer(String consumer) {
        core.closeConsumer(core(consumer));
    }

    /** The number of the next record that a consumer pops for the first time. */
    public long readOffset(String consumer) {
        return core(consumer).readOffset();
    }

    /** The number of the first record that a consumer has not acked. */
    public long committedOffset(String consumer) {
        return core(consumer).committedOffset();
    }

    /** Where all consumers stand, whoever owns them. */
    public Map<String, Long> committed() {
        return core.consumerStats().stream()
                .collect(Collectors.toMap(ConsumerStats::name, ConsumerStats::committedOffset));
    }

    /** All consumers. */
    public List<String> consumers() {
        return core.consumerNames();
    }

    /** The number of the oldest record that is retained. */
    public long firstOffset() {
        return core.log().firstOffset();
    }

    /** The number that the next record gets. */
    public long endOffset() {
        return core.endOffset();
    }

    /** A record by its number. */
    public Message get(long offset) {
        return core.log().randomAccess().get(offset, 1, Long.MAX_VALUE).get(0);
    }

    /** Figures. */
    public QueueStats stats() {
        return core.stats();
    }

    @Override
    public void close() {
        core.close();
    }
}
