package org.mmapqueue;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.async.AsyncPops;
import org.mmapqueue.async.AsyncPusher;
import org.mmapqueue.core.OpenQueues;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.ReadOnlyException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.metrics.Sample;
import org.mmapqueue.recovery.QueueDirectory;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.write.Writer;

/**
 * A persistent queue in a directory of memory-mapped files.
 *
 * <pre>{@code
 * try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(Path.of("events")).build())) {
 *     queue.push("one".getBytes(UTF_8));
 *     Message message = queue.consumer().pop();
 *     queue.consumer().ack(message);
 * }
 * }</pre>
 *
 * <p><b>Durability.</b> When push returns, the record survives the death of the process. It survives a loss of power as
 * soon as {@link #flush} or {@link #pushSync} returns, or flush_period has passed. In-flight records are redelivered
 * after the next open.
 *
 * <p><b>Handles.</b> This object is a handle. Opening the same directory again in this process returns another handle
 * of the same queue; closing the last handle closes the queue. Any number of threads may use a handle.
 *
 * <p><b>Errors.</b> Every call throws ClosedException after {@link #close}. A push stores nothing when it throws {@link
 * org.mmapqueue.errors.FullException} (no space within the timeout; without a timeout, at once), {@link
 * org.mmapqueue.errors.TooLargeException} (a record above max_event_size, or a batch above the ring's capacity) or
 * InterruptedException. {@link org.mmapqueue.errors.PoisonedException} means that a flush or an append has failed:
 * close the queue and open it again. A handle of {@link #openToRead}, or with read_only, throws {@link
 * org.mmapqueue.errors.ReadOnlyException} from every call that writes records. Calls that read records throw {@link
 * org.mmapqueue.errors.CorruptException} at a damaged record, and {@link org.mmapqueue.errors.OutOfRangeException} at
 * an offset below {@link #firstOffset} or beyond {@link #endOffset}.
 */
public final class MmapQueue extends RandomAccess implements AutoCloseable {
    private final QueueCore core;
    private final boolean readOnly;
    private volatile @Nullable Consumer defaultConsumer;
    /** Guarded by this handle's monitor. */
    private @Nullable AsyncPusher async;
    /** Those of the consumers of this handle; guarded by this handle's monitor. */
    private final Set<AsyncPops> pops = new HashSet<>();

    private volatile boolean closed;

    MmapQueue(QueueCore core, boolean readOnly) {
        this.core = core;
        this.readOnly = readOnly;
    }

    /**
     * Opens the queue in a directory: creates it if none exists, and recovers it if it was not closed.
     *
     * @param config the directory, and the values of the keys
     * @return a handle, which the caller closes
     * @throws org.mmapqueue.errors.LockedException if another process writes the queue
     * @throws org.mmapqueue.errors.ConfigException if a value is out of range, or differs from the directory's
     * @throws org.mmapqueue.errors.CorruptException if the queue is damaged; no file is changed
     * @throws MmapQueueException if a file cannot be opened
     */
    public static MmapQueue open(QueueConfig config) {
        return new MmapQueue(OpenQueues.acquire(config.values()), false);
    }

    /**
     * Opens an existing queue to read it. If this process has the queue open, the handle shares it and its
     * configuration. Otherwise the queue is opened with read_only = true, and any process may write it.
     *
     * @param directory the queue's directory
     * @return a handle that cannot push, which the caller closes
     * @throws org.mmapqueue.errors.ConfigException if the format version is 1 and this process does not write the queue
     * @throws org.mmapqueue.errors.CorruptException if the queue is damaged; no file is changed
     * @throws MmapQueueException if there is no queue, or a file cannot be opened
     */
    public static MmapQueue openToRead(Path directory) {
        return new MmapQueue(OpenQueues.acquireToRead(Objects.requireNonNull(directory, "directory")), true);
    }

    /**
     * Adds a listener, called for each queue that is open in this process, and for each that is opened or closed later.
     *
     * @param listener the listener, kept until it is removed
     */
    public static void addListener(QueueListener listener) {
        OpenQueues.add(Objects.requireNonNull(listener, "listener"));
    }

    /**
     * Removes a listener.
     *
     * @param listener a listener that was added
     */
    public static void removeListener(QueueListener listener) {
        OpenQueues.remove(listener);
    }

    @Override
    Writer writer() {
        QueueCore open = core();
        if (readOnly) {
            throw new ReadOnlyException("the queue in " + open.directory() + " was opened by openToRead");
        }
        return open.writer();
    }

    @Override
    synchronized AsyncPusher async() {
        Writer writer = writer();
        AsyncPusher pusher = async;
        if (pusher == null) {
            pusher = new AsyncPusher(writer, "mmapqueue-" + core.directory().getFileName() + "-async");
            async = pusher;
        }
        return pusher;
    }

    /** Closes asynchronous pops when this handle is closed. */
    synchronized void add(AsyncPops started) {
        pops.add(started);
    }

    synchronized void remove(AsyncPops ended) {
        pops.remove(ended);
    }

    @Override
    QueueCore core() {
        if (closed) {
            throw new ClosedException("this handle of the queue is closed");
        }
        return core;
    }

    static long nanos(Duration timeout) {
        if (timeout.isNegative()) {
            return 0;
        }
        try {
            // Half of the range of long, so that a deadline of now + timeout does not overflow.
            return Math.min(timeout.toNanos(), Long.MAX_VALUE / 2);
        } catch (ArithmeticException e) {
            return Long.MAX_VALUE / 2;
        }
    }

    /**
     * Returns the consumer {@code default}. If it does not exist, the first pop, seek or label creates it, at the log
     * start; other calls create nothing, so an ack cannot make the queue retain records. Stop its readers before you
     * delete it: the next pop creates it again.
     *
     * @return the consumer, owned by this process from this call on, or from its creation on
     * @throws org.mmapqueue.errors.LockedException if another process owns the consumer
     */
    public Consumer consumer() {
        Consumer known = defaultConsumer;
        if (known == null || closed || known.isClosed()) {
            QueueCore open = core();
            boolean exists = open.consumerNames().contains(Registry.DEFAULT);
            known = exists ? consumer(Registry.DEFAULT, StartAt.EARLIEST) : new Consumer(this, open, Registry.DEFAULT);
            defaultConsumer = known;
        }
        return known;
    }

    /**
     * Returns a consumer; creates it if it does not exist. Each consumer gets every record.
     *
     * @param name 1 to 100 letters, digits, '_', '-' or '.'
     * @param start its position if this call creates it
     * @return the consumer, owned by this process until the consumer or the queue is closed
     * @throws org.mmapqueue.errors.LockedException if another process owns the consumer
     * @throws org.mmapqueue.errors.ConfigException if the name is not allowed
     */
    public Consumer consumer(String name, StartAt start) {
        QueueCore open = core();
        return new Consumer(this, open, open.consumer(name, start));
    }

    /**
     * Creates a consumer without owning it: from now on the queue retains records that the consumer has not acked. Does
     * nothing if the consumer exists.
     *
     * @param name 1 to 100 letters, digits, '_', '-' or '.'
     * @param start its position
     * @throws org.mmapqueue.errors.ConfigException if the name is not allowed
     */
    public void createConsumer(String name, StartAt start) {
        core().createConsumer(name, start);
    }

    /**
     * Deletes a consumer, so that the ring may reuse the space that it retained. If this process owns the consumer, it
     * is closed first. After the last consumer was deleted, the queue retains every record from that consumer's
     * committed position on, until it is full.
     *
     * @param name the consumer's name
     * @throws org.mmapqueue.errors.LockedException if another process owns the consumer
     * @throws org.mmapqueue.errors.ConfigException if no consumer has this name, or the format version is 1, in
     *     which the default consumer cannot be deleted
     */
    public void deleteConsumer(String name) {
        core().deleteConsumer(name);
    }

    /** {@return the names of all consumers, whichever process owns them: {@code default} first, the others sorted} */
    public List<String> consumers() {
        return core().consumerNames();
    }

    /**
     * Whether this process owns a consumer, through any handle.
     *
     * @param name the consumer's name
     * @return whether {@link #consumer(String, StartAt)} was called here, and the consumer was not closed since
     */
    public boolean owns(String name) {
        return core().owns(name);
    }

    /** {@return the progress of each consumer, in the order of {@link #consumers}} */
    public List<ConsumerStats> consumerStats() {
        return core().consumerStats();
    }

    /**
     * Returns the last batch of each idempotent producer, also for a handle that cannot write.
     *
     * @return in alphabetical order of the names; empty in format version 1
     */
    public List<ProducerStats> producerStats() {
        return core().producerStats();
    }

    /**
     * Returns the damaged ranges that the consumers of this process have skipped ({@code on_damage = skip}) since they
     * were opened.
     *
     * @return by consumer's name, the latest ranges of each, at most a thousand; consumers without damage are left out
     */
    public Map<String, List<DamagedRange>> damagedRanges() {
        return core().damagedRanges();
    }

    /**
     * {@return the queue's identity, which is generated with the queue and never changes}
     *
     * @throws org.mmapqueue.errors.ConfigException in format version 1, which has none
     */
    public UUID id() {
        return core().id();
    }

    /**
     * Reads the identity of the queue that is in a directory now. It differs from the {@link #id} of an open queue when
     * that queue's directory was replaced. Reads one small file and opens nothing.
     *
     * @param directory the queue's directory
     * @return the identity; empty if there is no queue, or one of format version 1
     * @throws org.mmapqueue.errors.CorruptException if the meta page is damaged
     * @throws MmapQueueException if the file cannot be read
     */
    public static Optional<UUID> idIn(Path directory) {
        return QueueDirectory.idIn(DiskStorage.INSTANCE, directory);
    }

    /**
     * Lets a directory replace the host that ships its queue into an archive now, or another copy of the directory: after
     * a disk has moved, a host was renamed, or a backup was restored. It takes effect when this directory is shipped the
     * next time. From then on the other one acks nothing any more, and ends with an error.
     *
     * @param directory the queue's directory
     * @param archive the archive's directory
     * @return false if the archive does not exist, or nobody ships the queue into it
     * @throws org.mmapqueue.errors.LockedException if a process ships this directory, or this one has the queue open
     * @throws MmapQueueException if there is no queue, or the archive cannot be read
     */
    public static boolean takeOver(Path directory, URI archive) {
        try (MmapQueue queue = toChangeShipping(directory)) {
            return queue.core().shipping().takeOver(archive);
        }
    }

    /**
     * Forgets the archive into which a queue was shipped. A queue that was shipped once is shipped into the same archive
     * for ever, even if another one is at its place; after this call it may be shipped into another one, from its first
     * record that was not shipped on.
     *
     * @param directory the queue's directory
     * @return false if the queue was never shipped
     * @throws org.mmapqueue.errors.LockedException if a process ships this directory, or this one has the queue open
     * @throws MmapQueueException if there is no queue, or a file cannot be deleted
     */
    public static boolean leaveArchive(Path directory) {
        try (MmapQueue queue = toChangeShipping(directory)) {
            return queue.core().shipping().leaveArchive();
        }
    }

    private static MmapQueue toChangeShipping(Path directory) {
        return openToRead(directory);
    }

    /**
     * Makes every push and every ack before this call durable.
     *
     * @throws org.mmapqueue.errors.PoisonedException if an fsync fails
     */
    public void flush() {
        writer().flush();
    }

    /**
     * Deletes the ring files that hold no retained record. The writer creates them again when it needs them.
     *
     * @return the bytes of disk space that were released
     */
    public long gc() {
        writer();
        return core().gc();
    }

    /**
     * Acks all records that are in the queue at the call, for all consumers: those never popped, those in flight, and
     * those requeued. A later ack of one of them does nothing. Without a consumer, the queue no longer retains any of
     * them. Records that are pushed during the call stay. Like an ack, it is durable with the next flush.
     *
     * @return the number of records, from the first one that some consumer had not acked
     * @throws org.mmapqueue.errors.LockedException if another process owns a consumer; nothing was acked
     * @throws org.mmapqueue.errors.ConfigException if this process ships the queue into an archive
     * @throws MmapQueueException if this handle cannot write
     */
    public long purge() {
        writer();
        return core().purge();
    }

    /**
     * Closes the queue and deletes its files, and the directory if it is then empty. A later open creates a new queue,
     * with another identity. A kill during the call may leave segments without a meta page, which no open accepts as a
     * queue: delete the directory then.
     *
     * @throws org.mmapqueue.errors.LockedException if another handle of this process, or another process that owns a
     * consumer, has the queue open; the queue stays open then. A process that only reads, without a consumer, holds no
     * lock: it keeps the deleted files open until it closes the queue
     * @throws MmapQueueException if this handle cannot write, or a file cannot be deleted
     */
    public void destroy() {
        writer();
        QueueCore open;
        synchronized (this) {
            open = core();
            closed = true;
        }
        try {
            OpenQueues.destroy(open);
        } finally {
            closed = open.isClosed();
            if (closed) {
                closeAsync();
            }
        }
    }

    /** {@return the state of the queue; each figure holds at some moment during the call} */
    public QueueStats stats() {
        return core().stats();
    }

    /**
     * Returns the queue's metrics. Pushes, pops and acks pay nothing for them: each call computes how far cursors have
     * moved. {@link org.mmapqueue.metrics.PrometheusText} writes them as text; the MBean {@code
     * org.mmapqueue:type=Queue,directory="…"} has the same figures.
     *
     * @return the samples of metrics that this process knows, in the order of {@link org.mmapqueue.metrics.Metric}'s
     *     queue metrics,
     *     then for each consumer
     */
    public List<Sample> metrics() {
        return core().metrics();
    }

    /**
     * Returns whether the ring has no room for a record of max_event_size; a smaller record may still fit. If it has
     * room, a push of one record does not throw FullException, unless other threads push at the same time.
     *
     * @return true if the ring is full
     */
    public boolean isFull() {
        return core().isFull();
    }

    /**
     * Describes what retains the ring, as the message of FullException does.
     *
     * @return the slowest consumer, its lag in bytes and, if this process ships for it in vain, since when and why; or that the
     *     queue has no consumer
     */
    public String heldBy() {
        return core().heldBy();
    }

    /** {@return the configuration in force, with a value for every key} */
    public QueueConfig config() {
        return new QueueConfig(core().settings().asConfig(core.directory()));
    }

    @Override
    boolean isClosed() {
        return closed;
    }

    /**
     * Closes this handle. Closing the last handle of the process flushes and closes the queue. Idempotent.
     *
     * @throws MmapQueueException if the last flush fails; the next open recovers
     */
    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        try {
            core.signalAll(); // wakes calls that wait through this handle; other handles may keep the queue open
            closeAsync();
        } finally {
            OpenQueues.release(core);
        }
    }

    // Completes futures without a lock. A push that began before the close has created the pusher by now, or throws.
    private void closeAsync() {
        AsyncPusher pusher;
        synchronized (this) {
            pusher = async;
            pops.forEach(AsyncPops::close);
            pops.clear();
        }
        if (pusher != null) {
            pusher.close();
        }
    }
}
