package org.mmapqueue.core;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.Message;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.QueueStats;
import org.mmapqueue.StartAt;
import org.mmapqueue.concurrent.Signal;
import org.mmapqueue.config.ConfigKey;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.config.Settings;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.consume.Consumers;
import org.mmapqueue.consume.DeadLetters;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.io.ProcessLock;
import org.mmapqueue.io.Storage;
import org.mmapqueue.log.LogEnd;
import org.mmapqueue.lookup.Log;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.registry.Producers;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.swap.Swapper;
import org.mmapqueue.write.Writer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One open queue of this process, shared by all its handles: the parts, put together. Any number of threads.
 */
public final class QueueCore {
    private static final Logger LOG = LoggerFactory.getLogger(QueueCore.class);

    private final Path directory;
    private final Settings settings;
    private final Geometry geometry;
    private final ProcessLock lock;
    private final MetaPage meta;
    private final Swapper swapper;
    private final Registry registry;
    private final Consumers consumers;
    private final Producers producers;
    private final Log log;
    private final DeadLetters deadLetters;
    private final Signal notEmpty;
    private final Signal notFull;
    private final Writer writer;
    private boolean closed;

    /**
     * Puts an opened queue to work.
     *
     * @param producers what has been pushed once; null in version 1, and when another process writes
     * @param tail the end of the log, or null when another process writes
     */
    QueueCore(
            Path directory,
            Settings settings,
            ProcessLock lock,
            MetaPage meta,
            SegmentRing ring,
            Swapper swapper,
            Registry registry,
            Consumers consumers,
            Producers producers,
            LogEnd tail)
            throws IOException {
        this.directory = directory;
        this.settings = settings;
        this.geometry = settings.geometry();
        this.lock = lock;
        this.meta = meta;
        this.swapper = swapper;
        this.registry = registry;
        this.consumers = consumers;
        this.producers = producers;
        this.log = new Log(settings, meta, swapper, registry);
        this.deadLetters = new DeadLetters(settings, DeadLetterQueue::open);
        this.notEmpty = tail == null ? Signal.forProcesses(settings.waiting()) : Signal.forThreads(settings.waiting());
        this.notFull = Signal.forThreads(settings.waiting());
        this.writer = tail == null
                ? null
                : new Writer(
                        directory, settings, meta, ring, swapper, registry, producers, log, tail, notEmpty, notFull);
    }

    /** Opens a queue and starts its threads. */
    public static QueueCore open(ConfigValues config) {
        return open(config, new DiskStorage(FileMode.of(config.text(ConfigKey.FILE_MODE))))
                .started();
    }

    /** Opens a queue; its threads are not running yet. */
    public static QueueCore open(ConfigValues config, Storage storage) {
        return new QueueOpener(config, storage).open();
    }

    /** Starts the threads. When one can not be started, the queue is closed again. */
    QueueCore started() {
        boolean done = false;
        try {
            if (writer != null) {
                writer.start();
            }
            done = true;
            return this;
        } finally {
            if (!done) {
                close();
            }
        }
    }

    public Settings settings() {
        return settings;
    }

    public Path directory() {
        return directory;
    }

    /**
     * What pushes.
     *
     * @throws MmapQueueException when another process does
     */
    public Writer writer() {
        if (writer == null) {
            throw new MmapQueueException("the queue in " + directory + " was opened with read_only = true");
        }
        return writer;
    }

    // ---- consumers

    public ConsumerCore consumer(String name, StartAt start) {
        boolean isKnown = consumers.owns(name);
        ConsumerCore consumer = onConsumer(name, () -> consumers.get(name, start, log));
        if (!isKnown) {
            signalRoom(); // the first one of all may begin with a late record
        }
        return consumer;
    }

    public void createConsumer(String name, StartAt start) {
        onConsumer(name, () -> {
            consumers.create(name, start, log);
            return null;
        });
        signalRoom();
    }

    public void deleteConsumer(String name) {
        onConsumer(name, () -> {
            consumers.delete(name);
            return null;
        });
        signalRoom();
    }

    public void closeConsumer(ConsumerCore consumer) {
        onConsumer(consumer.name(), () -> {
            consumers.release(consumer);
            return null;
        });
    }

    public void label(ConsumerCore consumer, String text) {
        if (consumer.name().equals(Registry.DEFAULT)) {
            throw new ConfigException("label", text, "none for consumer " + Registry.DEFAULT + ", which has no page");
        }
        int bytes = text.getBytes(StandardCharsets.UTF_8).length;
        if (bytes > ConsumerPage.MOST_LABEL_BYTES || text.chars().anyMatch(Character::isISOControl)) {
            throw new ConfigException(
                    "label",
                    text,
                    "up to " + ConsumerPage.MOST_LABEL_BYTES + " bytes of UTF-8, no"
                            + " control characters; this one has " + bytes);
        }
        onConsumer(consumer.name(), () -> {
            consumer.label(text);
            return null;
        });
    }

    public void seek(ConsumerCore consumer, StartAt place) {
        onConsumer(consumer.name(), () -> {
            consumers.seek(consumer, place, log);
            return null;
        });
        buryDying(consumer);
        notEmpty.signalAll();
        signalRoom();
    }

    private <T> T onConsumer(String name, Callable<T> work) {
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

    public void ack(ConsumerCore consumer, long offset) {
        if (consumer.ack(offset)) {
            signalRoom();
        }
    }

    public void ackSingle(ConsumerCore consumer, long[] offsets) {
        if (consumer.ackSingle(offsets)) {
            signalRoom();
        }
    }

    public void nack(ConsumerCore consumer, long offset, long delayNanos) {
        if (consumer.nack(offset, delayNanos)) {
            bury(consumer);
        }
        notEmpty.signalAll();
    }

    public void unpop(ConsumerCore consumer, long[] offsets) {
        consumer.unpop(offsets);
        notEmpty.signalAll();
    }

    private void bury(ConsumerCore consumer) {
        deadLetters.bury(consumer);
        signalRoom();
    }

    // Whoever waits for room in the ring or among the unacked may have it now.
    private void signalRoom() {
        notFull.signalAll();
        notEmpty.signalAll();
        if (writer != null) {
            writer.spaceMayBeFree();
        }
    }

    public Message poll(ConsumerCore consumer) {
        try {
            return consumer.poll();
        } finally {
            buryDying(consumer); // max_unacked may stand before the next record because of them
        }
    }

    public int poll(ConsumerCore consumer, int maxRecords, long maxBytes, boolean own, MessageHandler handler) {
        boolean delivered = false;
        try {
            int count = consumer.poll(maxRecords, maxBytes, own, handler);
            delivered = true;
            return count;
        } finally {
            buryDying(consumer);
            if (!delivered) {
                notEmpty.signalAll(); // what the handler did not get was released
            }
        }
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
    public void awaitRecord(ConsumerCore consumer, long deadline) throws InterruptedException {
        long until = consumer.quietUntil();
        notEmpty.await(until - deadline < 0 ? until : deadline, consumer::hasNext);
    }

    public List<String> consumerNames() {
        return onConsumer("*", () -> {
            registry.refresh();
            return registry.names();
        });
    }

    public boolean owns(String consumer) {
        return onConsumer(consumer, () -> consumers.owns(consumer));
    }

    public List<ConsumerStats> consumerStats() {
        return onConsumer("*", () -> {
            registry.refresh();
            return new Statistics(log, endOffset(), registry, consumers).ofConsumers();
        });
    }

    // ---- reading

    /** The records, for whoever reads them. */
    public Log log() {
        return log;
    }

    /** The queue's identity. */
    public UUID id() {
        log.randomAccess(); // version 1 has none
        return new UUID(meta.fields().uuidHigh(), meta.fields().uuidLow());
    }

    public long endOffset() {
        return writer != null ? writer.endOffset() : log.endOffset();
    }

    public QueueStats stats() {
        return onConsumer("*", () -> Statistics.ofQueue(meta, registry, geometry, swapper, log, this::endOffset));
    }

    // ---- the end

    /** Flushes and closes; calls under way end first, calls that wait raise ClosedException. */
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        boolean stopped = false;
        try {
            // Each stops the calls into one part of the queue; none is left out because another one fails.
            Closing.all(this::stopAppending, consumers::stop, log);
            stopped = true;
        } catch (IOException e) {
            throw notClosed(e);
        } catch (InternalError e) {
            throw log.explain(e);
        } finally {
            notEmpty.signalAll();
            notFull.signalAll();
            release(stopped || isStopped());
        }
    }

    private void stopAppending() {
        if (writer != null) {
            writer.stopAppending();
        }
    }

    // What failed may have been something else than the stopping: a consumer's last file, for instance.
    private boolean isStopped() {
        return (writer == null || writer.isStopped()) && consumers.isStopped() && log.isStopped();
    }

    // A thread that still reads or writes a segment must not lose the mapping: that would end the JVM. Nor may another
    // process write the queue then.
    private void release(boolean stopped) {
        try {
            if (stopped) {
                Closing.all(writer, deadLetters, consumers, producers, swapper, meta, lock);
            } else {
                LOG.error("the queue in {} stays mapped and locked: not all calls could be stopped", directory);
                Closing.all(deadLetters, consumers);
            }
        } catch (IOException e) {
            throw notClosed(e);
        } catch (InternalError e) {
            throw log.explain(e);
        } finally {
            if (stopped && lock != null) {
                unlock();
            }
        }
    }

    private void unlock() {
        try {
            lock.close(); // again, when an error has cut off the first close
        } catch (IOException e) {
            throw notClosed(e);
        }
    }

    private MmapQueueException notClosed(IOException cause) {
        return new MmapQueueException("the queue in " + directory + " could not be closed: " + cause, cause);
    }
}
