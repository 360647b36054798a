package org.mmapqueue.core;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.DamagedRange;
import org.mmapqueue.Message;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.OffsetRange;
import org.mmapqueue.ProducerStats;
import org.mmapqueue.QueueStats;
import org.mmapqueue.StartAt;
import org.mmapqueue.concurrent.Gate;
import org.mmapqueue.concurrent.Signal;
import org.mmapqueue.config.ConfigKey;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.config.Settings;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.consume.Consumers;
import org.mmapqueue.consume.DeadLetters;
import org.mmapqueue.consume.InFlightFile;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.ReadOnlyException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.io.GuardedLog;
import org.mmapqueue.io.ProcessLock;
import org.mmapqueue.io.Storage;
import org.mmapqueue.log.LogEnd;
import org.mmapqueue.lookup.Log;
import org.mmapqueue.lookup.OpenFiles;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.metrics.Sample;
import org.mmapqueue.registry.Producers;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.swap.Swapper;
import org.mmapqueue.write.Writer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One open queue of this process, shared by its handles. Safe for any number of threads. */
public final class QueueCore {
    private static final Logger LOG = LoggerFactory.getLogger(QueueCore.class);

    private final Path directory;
    private final Settings settings;
    private final Geometry geometry;
    private final MetaPage meta;
    private final Swapper swapper;
    private final Registry registry;
    private final Consumers consumers;
    private final Log log;
    private final DeadLetters deadLetters;
    private final Signal notEmpty;
    private final Signal notFull;
    private final Writer writer;
    private final QueueMeter meter;
    private final Gate gate = new Gate();
    private final Shutdown shutdown;
    private final Shipping shipping;
    private final OlderArchive older;
    private final WholeLog records;
    /** Null in the process that writes: its flusher saves. */
    private final InFlightSaver saver;

    /**
     * Assembles a queue from its open parts.
     *
     * @param producers the idempotent producers; null in version 1, and if another process writes
     * @param recovered the log end, and what its recovery cost; null if another process writes
     */
    QueueCore(OpenFiles files, Consumers consumers, Producers producers, ProcessLock lock, Recovered recovered)
            throws IOException {
        this.directory = files.directory();
        this.settings = files.settings();
        this.geometry = settings.geometry();
        this.meta = files.meta();
        this.swapper = files.swapper();
        this.registry = files.registry();
        this.consumers = consumers;
        this.log = new Log(files);
        this.deadLetters = new DeadLetters(settings, DeadLetterQueue::open);
        LogEnd tail = recovered == null ? null : recovered.end();
        this.notEmpty = tail == null ? Signal.forProcesses(settings.waiting()) : Signal.forThreads(settings.waiting());
        this.notFull = Signal.forThreads(settings.waiting());
        this.writer = tail == null
                ? null
                : new Writer(files, producers, log, tail, new Writer.Wakeups(notEmpty, notFull), this::heldBy);
        this.meter = new QueueMeter(registry, consumers, writer, recovered);
        Shutdown.Calls calls = new Shutdown.Calls(gate, writer, consumers, log, this::signalAll);
        this.shutdown = new Shutdown(files, calls, deadLetters, producers, lock);
        this.shipping = new Shipping(this, registry);
        this.older = new OlderArchive(directory, meta.fields(), storage(), this::signalAll);
        consumers.readOlderFrom(older);
        this.records = new WholeLog(log, older);
        this.saver = writer == null
                ? new InFlightSaver(
                        "mmapqueue-" + directory.getFileName() + "-saver",
                        consumers::saveOrWarn,
                        settings.flushPeriodMillis())
                : null;
        if (writer != null) {
            writer.saves(consumers::save, consumers::saveOrWarn);
        }
    }

    /** Wakes all waiting calls; each checks again whether it may continue. */
    public void signalAll() {
        notEmpty.signalAll();
        notFull.signalAll();
    }

    /**
     * Opens a queue and starts its threads.
     *
     * @param leastMapped lower bound of the limit of mapped segments, if the configuration does not set the limit
     */
    static QueueCore open(ConfigValues config, int leastMapped) {
        return new QueueOpener(config, new DiskStorage(FileMode.of(config.text(ConfigKey.FILE_MODE))), leastMapped)
                .open()
                .started();
    }

    /** Opens a queue; its threads are not running yet. */
    public static QueueCore open(ConfigValues config, Storage storage) {
        return new QueueOpener(config, storage, 0).open();
    }

    /** Starts the threads. If one cannot be started, the queue is closed again. */
    QueueCore started() {
        try {
            if (writer != null) {
                writer.start();
            }
            shipping.start();
            return this;
        } catch (Throwable e) {
            close();
            throw e;
        }
    }

    /** Throws if the directory of the queue has been moved or replaced since the open. */
    void checkPlace() {
        try {
            storage().checkPlace();
        } catch (IOException e) {
            throw new MmapQueueException("this process has the queue in " + directory + " open: " + e, e);
        }
    }

    /** The files of the queue's directory. */
    Storage storage() {
        return swapper.ring().storage();
    }

    public Settings settings() {
        return settings;
    }

    public Path directory() {
        return directory;
    }

    /**
     * The writing side.
     *
     * @throws ReadOnlyException if another process writes
     */
    public Writer writer() {
        if (writer == null) {
            throw new ReadOnlyException("the queue in " + directory + " was opened with read_only = true");
        }
        return writer;
    }

    /** Opens a consumer for the queue itself. */
    public ConsumerCore consumer(String name, StartAt start) {
        return consumer(name, start, this);
    }

    /** Opens a consumer for a user. */
    public ConsumerCore consumer(String name, StartAt start, Object user) {
        boolean isKnown = consumers.owns(name);
        ConsumerCore consumer = onConsumer(name, () -> consumers.get(name, start, log, user));
        consumer.tell();
        if (!isKnown) {
            if (saver != null) {
                saver.start();
            }
            signalRoom(); // the queue's first consumer may start at a late record, and so release the others
        }
        return consumer;
    }

    public void createConsumer(String name, StartAt start) {
        change(name, () -> consumers.create(name, start, log));
        signalRoom();
    }

    public void deleteConsumer(String name) {
        shipping.endBefore(name);
        change(name, () -> consumers.delete(name));
        signalRoom();
    }

    public void closeConsumer(ConsumerCore consumer) {
        shipping.endBefore(consumer.name());
        explained(consumer.name(), () -> {
            consumers.release(consumer);
            return null;
        });
        notEmpty.signalAll(); // its waiting pops throw ClosedException
    }

    /** Ends the use of a consumer, and closes it if it has no other user. */
    public void leaveConsumer(ConsumerCore consumer, Object user) {
        explained(consumer.name(), () -> {
            consumers.leave(consumer, user);
            return null;
        });
        notEmpty.signalAll(); // the waiting pops of this user throw ClosedException
    }

    /** Ends a user, which leaves its consumers open. */
    public void forgetUser(Object user) {
        consumers.forget(user);
    }

    public void label(ConsumerCore consumer, String text) {
        change(consumer.name(), () -> consumers.label(consumer, text));
    }

    public void seek(ConsumerCore consumer, StartAt target) {
        change(consumer.name(), () -> consumers.seek(consumer, target, log));
        moveAnyDeadLetters(consumer);
        signalRoom();
    }

    private interface Change {
        void run() throws Exception;
    }

    private void change(String name, Change work) {
        onConsumer(name, () -> {
            work.run();
            return null;
        });
    }

    // A close of the queue waits for the call; after it, the call throws ClosedException.
    private <T> T onConsumer(String name, Callable<T> work) {
        return inside(() -> explained(name, work));
    }

    private <T> T inside(Supplier<T> work) {
        if (!gate.enter()) {
            throw new ClosedException("the queue is closed");
        }
        try {
            return work.get();
        } finally {
            gate.leave();
        }
    }

    private <T> T explained(String name, Callable<T> work) {
        try {
            return work.call();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new MmapQueueException("consumer " + name + " of " + directory + ": " + e, e);
        } catch (InternalError e) {
            throw log.explain(e);
        }
    }

    public void ackUpTo(ConsumerCore consumer, long offset) {
        if (consumer.ackUpTo(offset)) {
            signalRoom();
        }
    }

    public void ack(ConsumerCore consumer, long offset) {
        if (consumer.ack(offset)) {
            signalRoom();
        }
    }

    public void ack(ConsumerCore consumer, long[] offsets) {
        if (consumer.ack(offsets)) {
            signalRoom();
        }
    }

    public void nack(ConsumerCore consumer, long offset, long delayNanos) {
        if (consumer.nack(offset, delayNanos)) {
            moveDeadLetters(consumer);
        }
        notEmpty.signalAll();
    }

    public void deadLetter(ConsumerCore consumer, long offset) {
        if (settings.delivery().deadLetterDir() == null) {
            throw new ConfigException(
                    "dead_letter_dir",
                    "",
                    "the directory of a queue, for the dead letter " + offset + " of consumer " + consumer.name());
        }
        consumer.deadLetter(offset);
        moveDeadLetters(consumer);
    }

    /** Makes the attempts, acks and delays of in-flight records durable, those of first deliveries included. */
    public void saveDeliveries(ConsumerCore consumer) {
        change(consumer.name(), consumer::saveDeliveries);
    }

    public void release(ConsumerCore consumer, long[] offsets) {
        consumer.release(offsets);
        notEmpty.signalAll();
    }

    private void moveDeadLetters(ConsumerCore consumer) {
        deadLetters.moveDeadLetters(consumer);
        signalRoom();
    }

    // Wakes producers, which may find space in the ring now, and consumers, which may find room in their window.
    void signalRoom() {
        signalAll();
        if (writer != null) {
            writer.spaceMayBeFree();
        }
    }

    public Message poll(ConsumerCore consumer) {
        try {
            Message found;
            do {
                found = consumer.poll();
            } while (found == null && consumer.awaitOlder(ConsumerCore.NO_DEADLINE));
            return found;
        } finally {
            moveAnyDeadLetters(consumer); // dead letters count towards max_unacked
        }
    }

    public boolean poll(ConsumerCore consumer, MessageHandler handler) {
        boolean isDelivered = false;
        try {
            boolean isPopped;
            do {
                isPopped = consumer.poll(handler);
            } while (!isPopped && consumer.awaitOlder(ConsumerCore.NO_DEADLINE));
            isDelivered = true;
            return isPopped;
        } finally {
            moveAnyDeadLetters(consumer);
            if (!isDelivered) {
                notEmpty.signalAll(); // the record that the handler did not get was released
            }
        }
    }

    public int poll(ConsumerCore consumer, int maxRecords, long maxBytes, boolean own, MessageHandler handler) {
        return poll(consumer, maxRecords, maxBytes, own, handler, ConsumerCore.NO_DEADLINE);
    }

    /**
     * As the other one, for a call with a timeout.
     *
     * @param deadline its end, by System.nanoTime
     */
    public int poll(
            ConsumerCore consumer, int maxRecords, long maxBytes, boolean own, MessageHandler handler, long deadline) {
        boolean delivered = false;
        try {
            int count;
            do {
                count = consumer.poll(maxRecords, maxBytes, own, handler);
            } while (count == 0 && consumer.awaitOlder(deadline));
            delivered = true;
            return count;
        } finally {
            moveAnyDeadLetters(consumer);
            if (!delivered) {
                notEmpty.signalAll(); // the records that the handler did not get were released
            }
        }
    }

    // Moves records without attempts left. A failure of the dead-letter queue does not fail this pop.
    private void moveAnyDeadLetters(ConsumerCore consumer) {
        if (consumer.hasDeadLetters()) {
            try {
                moveDeadLetters(consumer);
            } catch (MmapQueueException e) {
                GuardedLog.log(() -> LOG.warn("{}", e.getMessage()));
            } catch (RuntimeException | OutOfMemoryError e) { // the caller would not get what it has popped
                GuardedLog.log(() -> LOG.warn("dead letters of consumer {} were not moved", consumer.name(), e));
            }
        }
    }

    /** Returns when the consumer may find a record, when {@code gone} is true, at the deadline, or earlier. */
    public void awaitRecord(ConsumerCore consumer, long deadline, BooleanSupplier gone) throws InterruptedException {
        long until = consumer.quietUntil();
        notEmpty.await(until - deadline < 0 ? until : deadline, () -> gone.getAsBoolean() || consumer.hasNext());
    }

    public List<String> consumerNames() {
        return onConsumer("*", () -> {
            registry.refresh();
            return registry.names();
        });
    }

    /** As {@code MmapQueue.purge}. */
    public long purge() {
        writer(); // throws in a process that only reads
        shipping.checkMayPurge();
        return onConsumer("*", () -> {
            try {
                return consumers.purge(log, endOffset());
            } finally {
                signalRoom();
            }
        });
    }

    public boolean owns(String consumer) {
        return consumers.owns(consumer);
    }

    public List<ConsumerStats> consumerStats() {
        return onConsumer("*", () -> statistics().ofConsumers());
    }

    /** As {@code MmapQueue.ackedRanges}. */
    public List<OffsetRange> ackedRanges(String name) {
        return onConsumer(name, () -> {
            // First: it begins at the committed offset of its time, and only a move sets that back.
            ByteBuffer inFlight = consumers.storedInFlight(name);
            OptionalLong committed = statistics().passedOffset(name);
            return committed.isEmpty() ? List.of() : InFlightFile.acked(inFlight, committed.getAsLong(), endOffset());
        });
    }

    /** As {@link Statistics#passedOffset}, of a consumer of any process; empty if no consumer has this name. */
    OptionalLong passedOffset(String name) {
        return onConsumer(name, () -> statistics().passedOffset(name));
    }

    /** As {@link Statistics#droppedFirst}, of a consumer of any process. */
    OptionalLong droppedFirst(String name) {
        return onConsumer(name, () -> statistics().droppedFirst(name));
    }

    /** The least offset that a consumer of any process, except one, has not passed; Long.MAX_VALUE without consumers. */
    long leastPassedOffset(String except) {
        return onConsumer("*", () -> statistics().leastPassedOffset(except));
    }

    private Statistics statistics() throws IOException {
        registry.refresh();
        return new Statistics(log, endOffset(), registry, consumers, older.isThere(), writer);
    }

    /** The damaged ranges that consumers of this process have skipped, by name. */
    public Map<String, List<DamagedRange>> damagedRanges() {
        return consumers.damagedRanges();
    }

    /** The shipping of this queue into its archive. */
    public Shipping shipping() {
        return shipping;
    }

    /** The records by their offsets, those that only the archive has included. */
    public WholeLog records() {
        return records;
    }

    /** The log, for readers. */
    public Log log() {
        return log;
    }

    /** The queue's UUID; throws ConfigException in version 1. */
    public UUID id() {
        log.randomAccess(); // throws in version 1
        return meta.fields().uuid();
    }

    /** The offset of the next record; at least the read offset of each consumer of this process. */
    public long endOffset() {
        if (writer == null) {
            return log.endOffset();
        }
        long end = writer.endOffset();
        long read = consumers.greatestReadOffset();
        // A consumer may pop a record before its push has stored the new end, which random reads need.
        return read <= end ? end : Math.max(read, writer.settledEndOffset());
    }

    public List<ProducerStats> producerStats() {
        return onConsumer("*", () -> registry.producerStats(this::endOffset));
    }

    /** Whether the ring has no room for a record of max_event_size at this moment. */
    public boolean isFull() {
        return onConsumer("*", () -> {
            registry.refresh();
            long passable = writer == null ? registry.lowWatermark() : writer.passable();
            return Statistics.isFull(settings, meta, passable);
        });
    }

    /** As {@code MmapQueue.heldBy}. */
    public String heldBy() {
        if (settings.archiving().overflows()) {
            return shipping.whyFull();
        }
        Registry.Named slowest = registry.slowestConsumer();
        if (slowest == null) {
            return "it has no consumer, so no record was acked";
        }
        long lag = Math.max(0, meta.writing() - registry.lowWatermark());
        return "the slowest consumer is " + slowest.name() + ", " + lag + " bytes behind"
                + shipping.troubleOf(slowest.name()).map(text -> "; " + text).orElse("");
    }

    public QueueStats stats() {
        return onConsumer("*", () -> Statistics.ofQueue(meta, registry, geometry, swapper, log, this::endOffset));
    }

    /** As {@code MmapQueue.gc}. */
    public long gc() {
        return inside(writer()::gc);
    }

    /** As {@code MmapQueue.metrics}. */
    public List<Sample> metrics() {
        return inside(() -> meter.samples(this::stats, this::consumerStats));
    }

    /** Flushes and closes. Waits for running calls; waiting calls throw ClosedException. */
    public void close() {
        shipping.closeThen(() -> {
            endSaver();
            shutdown.close();
        });
    }

    /** Closes the queue, and deletes its files. */
    void destroy() {
        shipping.closeThen(() -> {
            endSaver();
            shutdown.destroy();
        });
    }

    private void endSaver() {
        if (saver != null) {
            saver.close();
        }
    }

    /** Whether the last handle has been closed. */
    public boolean isClosed() {
        return shutdown.isClosed();
    }

    /** Throws LockedException if another process owns the consumer. */
    public void checkFree(String consumer) {
        change(consumer, () -> consumers.checkFree(consumer));
    }
}
