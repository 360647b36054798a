package org.mmapqueue.support;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.Records;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;

/**
 * A queue without threads of its own: all that it does to files, it does in the caller's thread, one operation after
 * the other, and each is announced before it is done. For one thread.
 */
public final class SteppedQueue implements AutoCloseable {
    private final QueueCore core;

    private SteppedQueue(QueueCore core) {
        this.core = core;
    }

    /** What is told of each operation. */
    @FunctionalInterface
    public interface Step {
        /** The next operation may change something; {@code fillsSlot} when it writes zeros over a slot of the ring. */
        void before(Path path, boolean fillsSlot);
    }

    public static SteppedQueue open(QueueConfig config, Step step) {
        FaultyStorage storage = new FaultyStorage();
        storage.failWhen((call, path) -> {
            if (call != FaultyStorage.Call.SIZE && call != FaultyStorage.Call.READ) {
                step.before(path, call == FaultyStorage.Call.ZERO_FILL);
            }
            return false;
        });
        return new SteppedQueue(Cores.open(config, storage));
    }

    public long endOffset() {
        return core.endOffset();
    }

    /** Pushes one record, or several as a batch. */
    public long push(List<byte[]> records) {
        return records.size() > 1
                ? core.writer().push(Records.of(records))
                : core.writer().push(records.get(0), 0, records.get(0).length);
    }

    /** Pushes a batch once; -1 when it is there already. */
    public long pushOnce(String producer, long sequence, List<byte[]> records, boolean sync) {
        try {
            return core.writer().pushOnce(producer, sequence, Records.of(records), 0, sync, () -> false);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public OptionalLong lastSequence(String producer) {
        return core.writer().lastSequence(producer);
    }

    public void forgetProducer(String producer) {
        core.writer().forgetProducer(producer);
    }

    public void awaitDurable() {
        core.writer().awaitDurable();
    }

    /** Does what the thread that prepares segments would do now. */
    public void prepare() {
        core.writer().housekeeper().step();
    }

    public void flush() {
        core.writer().flush();
    }

    public long gc() {
        return core.writer().gc();
    }

    private ConsumerCore consumer(String name) {
        return core.consumer(name, StartAt.EARLIEST);
    }

    /** Takes a consumer up, or makes it; returns its committed offset. */
    public long take(String name) {
        return consumer(name).committedOffset();
    }

    public void release(String name) {
        core.closeConsumer(consumer(name));
    }

    public boolean hasConsumer(String name) {
        return core.consumerNames().contains(name);
    }

    public void createConsumer(String name) {
        core.createConsumer(name, StartAt.EARLIEST);
    }

    public void deleteConsumer(String name) {
        core.deleteConsumer(name);
    }

    /** Pops at most {@code most} records. */
    public List<Message> pop(String name, int most) {
        List<Message> popped = new ArrayList<>();
        core.poll(
                consumer(name),
                most,
                Long.MAX_VALUE,
                true,
                (offset, timestamp, data, start, length, attempts) ->
                        popped.add(new Message(offset, timestamp, data, attempts)));
        return popped;
    }

    public void ack(String name, long offset) {
        core.ack(consumer(name), offset);
    }

    public void ackSingle(String name, long... offsets) {
        core.ackSingle(consumer(name), offsets);
    }

    public void nack(String name, long offset) {
        core.nack(consumer(name), offset, 0);
    }

    /** Moves a consumer; returns its committed offset. */
    public long seek(String name, StartAt place) {
        core.seek(consumer(name), place);
        return consumer(name).committedOffset();
    }

    @Override
    public void close() {
        core.close();
    }
}
