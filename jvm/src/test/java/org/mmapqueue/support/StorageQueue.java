package org.mmapqueue.support;

import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.QueueStats;
import org.mmapqueue.Records;
import org.mmapqueue.StartAt;
import org.mmapqueue.archive.ShipSource;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.io.Storage;

/**
 * A queue on a storage of the test's, with the calls of the face by the consumer's name. Its background threads do not
 * run: a test calls their steps, so the same seed gives the same run. For one thread.
 */
public final class StorageQueue implements AutoCloseable {
    private final QueueCore core;

    private StorageQueue(QueueCore core) {
        this.core = core;
    }

    public static StorageQueue open(QueueConfig config, Storage storage) {
        return new StorageQueue(Cores.open(config, storage));
    }

    /** Called before each operation on files. */
    @FunctionalInterface
    public interface Step {
        /** The next operation may change something; {@code fillsSlot} if it fills a slot of the ring with zeros. */
        void before(Path path, boolean fillsSlot);
    }

    /** Opens a queue on the disk that announces each of its operations on files. */
    public static StorageQueue open(QueueConfig config, Step step) {
        FaultyStorage storage = new FaultyStorage();
        storage.failWhen((call, path) -> {
            if (call != FaultyStorage.Call.SIZE && call != FaultyStorage.Call.READ) {
                step.before(path, call == FaultyStorage.Call.ZERO_FILL);
            }
            return false;
        });
        return open(config, storage);
    }

    /** Starts the background threads. */
    public void start() {
        core.writer().start();
    }

    private ConsumerCore core(String consumer) {
        return core.consumer(consumer, StartAt.EARLIEST);
    }

    /** Prepares the queue for its shipper. */
    public ShipSource shipSource(URI archive) {
        return core.shipping().source(archive);
    }

    /** Reads records by offset, also in the archive. */
    public List<Message> getMany(long offset, int count) {
        return core.records().getMany(offset, count);
    }

    /** The offset after the last durable record. */
    public long durableOffset() {
        return core.log().durableOffset();
    }

    public long push(byte[] record) {
        return core.writer().push(record, 0, record.length);
    }

    /** Pushes an atomic batch. */
    public long pushBatch(List<byte[]> batch) {
        return core.writer().push(Records.of(batch));
    }

    /** Pushes an idempotent batch; -1 if the queue has its sequence already. */
    public long pushOnce(String producer, long sequence, List<byte[]> records, boolean sync) {
        try {
            return core.writer().producers().push(producer, sequence, null, Records.of(records), 0, sync, () -> false);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public OptionalLong lastSequence(String producer) {
        return core.writer().producers().lastSequence(producer);
    }

    public void forgetProducer(String producer) {
        core.writer().producers().forget(producer);
    }

    /** Returns when all pushed records are durable: the second half of a sync push. */
    public void awaitDurable() {
        core.writer().awaitDurable();
    }

    public void flush() {
        core.writer().flush();
    }

    /** Flushes as the flusher does at the ceiling. */
    public void flushMost() {
        core.writer().flusher().flushMost();
    }

    /** Does one step of the housekeeper. */
    public void housekeeperStep() {
        core.writer().housekeeper().step();
    }

    /** Deletes free files. */
    public long gc() {
        return core.writer().gc();
    }

    /** Pops one record, or returns null; opens the consumer, and creates it if it does not exist. */
    public Message poll(String consumer) {
        return core.poll(core(consumer));
    }

    /** Pops at most {@code most} records. */
    public List<Message> pop(String consumer, int most) {
        List<Message> popped = new ArrayList<>();
        core.poll(
                core(consumer),
                most,
                Long.MAX_VALUE,
                true,
                (offset, timestamp, data, start, length, attempts) ->
                        popped.add(new Message(offset, timestamp, data, attempts)));
        return popped;
    }

    public void ackUpTo(String consumer, long offset) {
        core.ackUpTo(core(consumer), offset);
    }

    public void ack(String consumer, long... offsets) {
        core.ack(core(consumer), offsets);
    }

    public void nack(String consumer, long offset) {
        nack(consumer, offset, 0);
    }

    public void nack(String consumer, long offset, long delayNanos) {
        core.nack(core(consumer), offset, delayNanos);
    }

    public void seek(String consumer, StartAt target) {
        core.seek(core(consumer), target);
    }

    /** Creates a consumer without opening it. */
    public void createConsumer(String consumer, StartAt start) {
        core.createConsumer(consumer, start);
    }

    public void deleteConsumer(String consumer) {
        core.deleteConsumer(consumer);
    }

    /** Closes a consumer; the next call on it opens it again. */
    public void closeConsumer(String consumer) {
        core.closeConsumer(core(consumer));
    }

    /** The offset of the record that a consumer pops next for the first time; opens the consumer. */
    public long readOffset(String consumer) {
        return core(consumer).readOffset();
    }

    /** The offset of the first record that a consumer has not acked; opens the consumer. */
    public long committedOffset(String consumer) {
        return core(consumer).committedOffset();
    }

    /** The committed offset of each consumer; opens none. */
    public Map<String, Long> committed() {
        return core.consumerStats().stream()
                .collect(Collectors.toMap(ConsumerStats::name, ConsumerStats::committedOffset));
    }

    /** The names of all consumers. */
    public List<String> consumers() {
        return core.consumerNames();
    }

    public long firstOffset() {
        return core.log().firstOffset();
    }

    public long endOffset() {
        return core.endOffset();
    }

    public Message get(long offset) {
        return core.log().randomAccess().get(offset, 1, Long.MAX_VALUE).get(0);
    }

    public QueueStats stats() {
        return core.stats();
    }

    @Override
    public void close() {
        core.close();
    }
}
