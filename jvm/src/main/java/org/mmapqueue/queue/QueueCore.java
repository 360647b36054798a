package org.mmapqueue.queue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.function.BooleanSupplier;

import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.flush.Flusher;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.ProcessLock;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.swap.Swapper;

/**
 * One open queue of this process, shared by all its handles: the parts, put together. Any number of threads.
 */
final class QueueCore implements Consumers.Log {
    /** How long a waiting thread sleeps before it looks again by itself. */
    private static final long SLICE_NANOS = 5_000_000;
    /** The same for a thread that waits for another process, which can not wake it. */
    private static final long FOREIGN_SLICE_NANOS = 1_000_000;
    private static final int META_BYTES = 4096;

    private final Path directory;
    private final Settings settings;
    private final Geometry geometry;
    private final ProcessLock lock;
    private final MetaPage meta;
    private final Swapper swapper;
    private final Consumers consumers;
    private final Flusher flusher;
    private final Housekeeper housekeeper;
    private final Appender appender;
    private final Signal arrived;
    private final Signal space = new Signal(SLICE_NANOS);
    private volatile long flushAt;
    private boolean closed;

    /**
     * Puts an opened queue to work.
     *
     * @param tail the end of the log, or null when another process writes
     */
    QueueCore(Path directory, Settings settings, ProcessLock lock, MetaPage meta, Swapper swapper,
            Consumers consumers, Tail tail) throws IOException {
        this.directory = directory;
        this.settings = settings;
        this.geometry = settings.geometry();
        this.lock = lock;
        this.meta = meta;
        this.swapper = swapper;
        this.consumers = consumers;
        this.arrived = new Signal(tail == null ? FOREIGN_SLICE_NANOS : SLICE_NANOS);
        if (tail == null) {
            this.flusher = null;
            this.housekeeper = null;
            this.appender = null;
            return;
        }
        String name = "mmapqueue-" + directory.getFileName();
        this.flusher = new Flusher(name + "-flusher", meta, geometry, swapper, consumers::named, settings.flushPeriodMillis());
        flusher.startAt(consumers.slowest());
        Space slots = new Space();
        this.housekeeper = new Housekeeper(name + "-housekeeper", swapper, slots, geometry,
                settings.maxInMemSegments());
        slots.housekeeper = housekeeper;
        this.appender = geometry.version() == 1 ? new AppenderV1(meta, swapper, flusher, slots, settings)
                : new AppenderV2(meta, swapper, flusher, slots, settings, tail.lastTimestamp());
        appender.start(tail.position(), tail.nextOffset());
        flushAt = tail.nextOffset() + settings.flushCeilingNum() - 1;
    }

    private final class Space implements Appender.Ring {
        private Housekeeper housekeeper;

        @Override
        public boolean isFree(long segmentId) {
            long held = segmentId - geometry.capacity();
            if (held < geometry.segmentOf(flusher.durableCommitted())) {
                return true;
            }
            if (held >= geometry.segmentOf(consumers.reclaimable())) {
                return false;
            }
            // Acked, but not on the disk: after a loss of power the consumer would look for what the slot holds now.
            flusher.flush();
            return held < geometry.segmentOf(flusher.durableCommitted());
        }

        // When a quarter of a lap is left, and acks that are not on the disk yet would give another quarter.
        @Override
        public void freeAhead(long segmentId) {
            long quarter = Math.max(1, geometry.capacity() / 4);
            long durable = geometry.segmentOf(flusher.durableCommitted());
            if (segmentId + quarter - geometry.capacity() >= durable
                    && geometry.segmentOf(consumers.reclaimable()) - durable >= quarter) {
                flusher.flush();
            }
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
            long seen = consumers.slowest();
            long offset = append.run();
            if (offset != Appender.FULL) {
                pushed(offset + count - 1);
                return offset;
            }
            if (deadline - System.nanoTime() <= 0) {
                throw full();
            }
            space.await(deadline, () -> consumers.slowest() != seen);
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

    // ---- reading

    ConsumerCore consumer(String name, StartAt start) {
        try {
            return consumers.get(name, start, this);
        } catch (IOException e) {
            throw new MmapQueueException("consumer " + name + " of " + directory + " could not be opened: " + e, e);
        }
    }

    void createConsumer(String name, StartAt start) {
        try {
            consumers.create(name, start, this);
        } catch (IOException e) {
            throw new MmapQueueException("consumer " + name + " of " + directory + " could not be made: " + e, e);
        }
    }

    void ack(ConsumerCore consumer, long offset) {
        if (consumer.ack(offset)) {
            space.signalAll();
            if (housekeeper != null) {
                housekeeper.wake();
            }
        }
    }

    /** Returns when the consumer may find something, or at the deadline, or before. */
    void awaitRecord(ConsumerCore consumer, long deadline) throws InterruptedException {
        arrived.await(deadline, consumer::hasNext);
    }

    @Override
    public LogReader reader() {
        return geometry.version() == 1
                ? new LogReaderV1(swapper, geometry, settings.maxEventSize(), meta::writing)
                : new LogReaderV2(swapper, geometry, readableFields(), meta::writing);
    }

    // The process that writes may have been started anew with a larger max_event_size: only the ring is a bound then.
    private MetaFields readableFields() {
        MetaFields fields = meta.fields();
        long ring = (long) geometry.capacity() * geometry.dataBytes();
        return settings.readOnly()
                ? fields.withSettings(fields.timestamps(), (int) Math.min(RecordDescriptor.MAX_LENGTH, ring))
                : fields;
    }

    @Override
    public long offsetAt(long position) throws IOException {
        if (geometry.version() == 1) {
            return 0; // version 1 stores no numbers: counting begins where the consumer stands
        }
        LogReaderV2 reader = (LogReaderV2) reader();
        try {
            return Locator.find(reader, position, meta.writing()).offset();
        } finally {
            reader.leave();
        }
    }

    @Override
    public long end() {
        return meta.writing();
    }

    long endOffset() {
        if (appender != null) {
            return appender.endOffset();
        }
        return foreignEndOffset();
    }

    // Close waits for this: it must not unmap what is looked at here.
    private synchronized long foreignEndOffset() {
        if (closed) {
            throw new ClosedException("the queue is closed");
        }
        try {
            return offsetOfForeignEnd();
        } catch (IOException e) {
            throw new MmapQueueException("the end of " + directory + " could not be found: " + e, e);
        }
    }

    // Nothing holds the segment that is looked at: the writer may take its slot for a later one meanwhile.
    private long offsetOfForeignEnd() throws IOException {
        for (int tries = 3; ; tries--) {
            try {
                return offsetAt(meta.writing());
            } catch (CorruptException e) {
                if (tries == 0) {
                    throw e;
                }
            }
        }
    }

    QueueStats stats() {
        long writing = meta.writing();
        long slowest = consumers.slowest();
        int inUse = writing == slowest ? 0 : (int) (geometry.segmentOfEnd(writing) - geometry.segmentOf(slowest) + 1);
        return new QueueStats(endOffset(), writing, meta.watermark(), slowest, inUse, geometry.capacity(),
                geometry.segmentSize(), swapper.live(),
                (long) swapper.mapped() * geometry.segmentSize() + META_BYTES, swapper.peak(),
                meta.fields().epoch());
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
            space.signalAll();
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
            Closing.all(consumers, swapper, meta, lock);
        } catch (IOException e) {
            throw new MmapQueueException("the queue in " + directory + " could not be closed: " + e, e);
        }
    }
}
