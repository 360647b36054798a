package org.mmapqueue.queue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.flush.Flusher;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.ProcessLock;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.swap.Swapper;

/**
 * One open queue of this process, shared by all its handles: the parts, put together. Any number of threads.
 */
final class QueueCore {
    private static final Logger LOG = LoggerFactory.getLogger(QueueCore.class);
    private static final int META_BYTES = 4096;

    private final Path directory;
    private final Settings settings;
    private final Geometry geometry;
    private final ProcessLock lock;
    private final MetaPage meta;
    private final SegmentRing ring;
    private final Swapper swapper;
    private final Registry registry;
    private final Consumers consumers;
    private final Log log;
    private final DeadLetters deadLetters;
    private final Flusher flusher;
    private final Space space;
    private final Housekeeper housekeeper;
    private final Appender appender;
    private final Signal arrived;
    private final Signal freed;
    private volatile long flushAt;
    private boolean closed;

    /**
     * Puts an opened queue to work.
     *
     * @param tail the end of the log, or null when another process writes
     */
    QueueCore(Path directory, Settings settings, ProcessLock lock, MetaPage meta, SegmentRing ring, Swapper swapper,
            Registry registry, Consumers consumers, Tail tail) throws IOException {
        this.directory = directory;
        this.settings = settings;
        this.geometry = settings.geometry();
        this.lock = lock;
        this.meta = meta;
        this.ring = ring;
        this.swapper = swapper;
        this.registry = registry;
        this.consumers = consumers;
        this.log = new Log(settings, meta, swapper, registry);
        this.deadLetters = new DeadLetters(settings);
        this.arrived = tail == null ? Signal.forProcesses(settings.waiting()) : Signal.forThreads(settings.waiting());
        this.freed = Signal.forThreads(settings.waiting());
        if (tail == null) {
            this.flusher = null;
            this.space = null;
            this.housekeeper = null;
            this.appender = null;
            return;
        }
        String name = "mmapqueue-" + directory.getFileName();
        this.flusher = new Flusher(name + "-flusher", meta, geometry, swapper, registry::cursors,
                settings.flushPeriodMillis());
        this.space = new Space(settings, meta, swapper, registry, flusher);
        meta.retain(settings.retention().millis(), settings.retention().bytes());
        space.start();
        Slots slots = new Slots();
        this.housekeeper = new Housekeeper(name + "-housekeeper", swapper, slots, geometry,
                settings.maxInMemSegments(), settings.gcOnIdleMillis(), () -> meta.writing() + registry.slowest(), this::gc);
        this.appender = geometry.version() == 1 ? new AppenderV1(meta, swapper, flusher, slots, settings)
                : new AppenderV2(meta, swapper, flusher, slots, settings, tail.lastTimestamp());
        appender.start(tail.position(), tail.nextOffset());
        flushAt = tail.nextOffset() + settings.flushCeilingNum() - 1;
    }

    private final class Slots implements Appender.Ring {
        @Override
        public boolean isFree(long segmentId) {
            return space.isFree(segmentId);
        }

        @Override
        public void freeAhead(long segmentId) {
            space.freeAhead(segmentId);
        }

        @Override
        public void entered(long segmentId) {
            housekeeper.entered(segmentId);
        }
    }

    /** Opens a queue and starts its threads. */
    static QueueCore open(QueueConfig config) {
        return open(config, DiskStorage.INSTANCE).started();
    }

    /** Opens a queue; its threads are not running yet. */
    static QueueCore open(QueueConfig config, Storage storage) {
        return new QueueOpener(config, storage).open();
    }

    private QueueCore started() {
        if (appender != null) {
            flusher.start();
            housekeeper.start();
        }
        return this;
    }

    Settings settings() {
        return settings;
    }

    Path directory() {
        return directory;
    }

    /** For tests that take the steps themselves instead of starting the threads. */
    Housekeeper housekeeper() {
        return housekeeper;
    }

    // ---- writing

    long push(byte[] source, int from, int length) {
        long offset = writer().append(source, from, length);
        if (offset == Appender.FULL) {
            throw full();
        }
        pushed(offset);
        return offset;
    }

    /** Waits for room until {@code gone} says that the caller's handle has been closed meanwhile. */
    long push(byte[] source, int from, int length, long timeoutNanos, BooleanSupplier gone)
            throws InterruptedException {
        return push(() -> writer().append(source, from, length), 1, timeoutNanos, gone);
    }

    long push(Batch batch, long timeoutNanos, BooleanSupplier gone) throws InterruptedException {
        return push(() -> writer().append(batch), batch.count(), timeoutNanos, gone);
    }

    long push(Batch batch) {
        long offset = writer().append(batch);
        if (offset == Appender.FULL) {
            throw full();
        }
        pushed(offset + batch.count() - 1);
        return offset;
    }

    private interface Append {
        long run();
    }

    private long push(Append append, int count, long timeoutNanos, BooleanSupplier gone) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long deadline = System.nanoTime() + timeoutNanos;
        while (true) {
            if (gone.getAsBoolean()) {
                throw new ClosedException("this handle of the queue was closed");
            }
            long seen = registry.slowest();
            long offset = append.run();
            if (offset != Appender.FULL) {
                pushed(offset + count - 1);
                return offset;
            }
            if (deadline - System.nanoTime() <= 0) {
                throw full();
            }
            freed.await(deadline, () -> registry.slowest() != seen);
        }
    }

    private void pushed(long lastOffset) {
        arrived.signalAll();
        if (lastOffset >= flushAt) {
            flushAt = lastOffset + settings.flushCeilingNum();
            flusher.request();
        }
    }

    private FullException full() {
        return new FullException("the queue in " + directory + " is full: its " + geometry.capacity()
                + " segments of " + geometry.segmentSize() + " bytes hold records that are not acked");
    }

    private Appender writer() {
        if (appender == null) {
            throw new MmapQueueException("the queue in " + directory + " was opened with read_only = true");
        }
        return appender;
    }

    void awaitDurable() {
        flusher.awaitDurable(meta.writing());
    }

    void flush() {
        writer();
        flusher.flush();
    }

    // ---- consumers

    ConsumerCore consumer(String name, StartAt start) {
        return onConsumer(name, () -> consumers.get(name, start, log));
    }

    void createConsumer(String name, StartAt start) {
        onConsumer(name, () -> {
            consumers.create(name, start, log);
            return null;
        });
    }

    void deleteConsumer(String name) {
        onConsumer(name, () -> {
            consumers.delete(name);
            return null;
        });
        freed();
    }

    void closeConsumer(ConsumerCore consumer) {
        onConsumer(consumer.name(), () -> {
            consumers.release(consumer);
            return null;
        });
    }

    void seek(ConsumerCore consumer, StartAt place) {
        onConsumer(consumer.name(), () -> {
            consumers.seek(consumer, place, log);
            return null;
        });
        arrived.signalAll();
        freed();
    }

    private <T> T onConsumer(String name, Callable<T> work) {
        try {
            return work.call();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new MmapQueueException("consumer " + name + " of " + directory + ": " + e, e);
        }
    }

    void ack(ConsumerCore consumer, long offset) {
        if (consumer.ack(offset)) {
            freed();
        }
    }

    void ackSingle(ConsumerCore consumer, long[] offsets) {
        if (consumer.ackSingle(offsets)) {
            freed();
        }
    }

    void nack(ConsumerCore consumer, long offset, long delayNanos) {
        if (consumer.nack(offset, delayNanos)) {
            bury(consumer);
        }
        arrived.signalAll();
    }

    private void bury(ConsumerCore consumer) {
        deadLetters.bury(consumer);
        freed();
    }

    // Whoever waits for room in the ring or among the unacked may have it now.
    private void freed() {
        freed.signalAll();
        arrived.signalAll();
        if (housekeeper != null) {
            housekeeper.wake();
        }
    }

    Message poll(ConsumerCore consumer) {
        Message message = consumer.poll();
        buryDying(consumer);
        return message;
    }

    int poll(ConsumerCore consumer, int maxRecords, long maxBytes, MessageHandler handler) {
        int count = consumer.poll(maxRecords, maxBytes, handler);
        buryDying(consumer);
        return count;
    }

    // Those whose time was over for the last time. That the dead-letter queue refuses one is no fault of this pop.
    private void buryDying(ConsumerCore consumer) {
        if (consumer.anyDying()) {
            try {
                bury(consumer);
            } catch (MmapQueueException e) {
                LOG.warn("{}", e.getMessage());
            }
        }
    }

    /** Returns when the consumer may find something, or at the deadline, or before. */
    void awaitRecord(ConsumerCore consumer, long deadline) throws InterruptedException {
        long until = consumer.quietUntil();
        arrived.await(until - deadline < 0 ? until : deadline, consumer::hasNext);
    }

    List<String> consumerNames() {
        return onConsumer("*", () -> {
            registry.refresh();
            return registry.names();
        });
    }

    List<ConsumerStats> consumerStats() {
        return onConsumer("*", () -> {
            registry.refresh();
            return new Statistics(log, endOffset(), registry, consumers).ofConsumers();
        });
    }

    // ---- reading

    /** The records, for whoever reads them. */
    Log log() {
        return log;
    }

    long endOffset() {
        return appender != null ? appender.endOffset() : log.endOffset();
    }

    QueueStats stats() {
        long writing = meta.writing();
        long slowest = registry.slowest();
        int inUse = writing == slowest ? 0 : (int) (geometry.segmentOfEnd(writing) - geometry.segmentOf(slowest) + 1);
        return new QueueStats(log.firstOffset(), endOffset(), writing, meta.watermark(),
                slowest, inUse, geometry.capacity(), geometry.segmentSize(), swapper.live(),
                (long) swapper.mapped() * geometry.segmentSize() + META_BYTES, swapper.peak(),
                meta.fields().epoch());
    }

    /** Deletes the ring files that hold nothing which is retained. */
    long gc() {
        writer();
        try {
            return new Gc(ring, meta, swapper, space, flusher).run(log.head());
        } catch (IOException e) {
            throw new MmapQueueException("not all free ring files of " + directory + " could be deleted: " + e, e);
        }
    }

    // ---- the end

    /** Flushes and closes; calls under way end first, calls that wait raise ClosedException. */
    synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            if (appender != null) {
                appender.close();
            }
            consumers.stop();
            arrived.signalAll();
            freed.signalAll();
            if (appender != null) {
                closeWriter();
            }
        } catch (IOException e) {
            throw new MmapQueueException("the queue in " + directory + " could not be closed: " + e, e);
        } finally {
            release();
        }
    }

    private void closeWriter() throws IOException {
        housekeeper.close();
        flusher.close();
        if (flusher.failure() == null) {
            flusher.end();
            meta.clean(true);
        }
    }

    private void release() {
        try {
            Closing.all(deadLetters, consumers, log, swapper, meta, lock);
        } catch (IOException e) {
            throw new MmapQueueException("the queue in " + directory + " could not be closed: " + e, e);
        }
    }
}
