package org.mmapqueue.consume;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntConsumer;
import org.mmapqueue.DamagedRange;
import org.mmapqueue.StartAt;
import org.mmapqueue.config.Names;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.io.GuardedLog;
import org.mmapqueue.io.ProcessLock;
import org.mmapqueue.io.Storage;
import org.mmapqueue.io.Threads;
import org.mmapqueue.lookup.Log;
import org.mmapqueue.lookup.RandomAccessReader;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.ConsumerImage.Word;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.InFlightDescriptor;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Format;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The consumers that this process owns. Safe for any number of threads.
 *
 * <p>Any process creates and deletes consumers. The process that opens a consumer first owns it: it holds the OS lock
 * consumers/&lt;name&gt;.lock.
 */
public final class Consumers implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(Consumers.class);
    private static final String LOCK_SUFFIX = ".lock";
    /** The lock file of deletions. No consumer can have this name. */
    private static final String DELETE_LOCK = ".delete.lock";

    private static final int DELETE_TRIES = 500;
    private static final long DELETE_WAIT_NANOS = 10_000_000;
    /** Mapped segments for uses other than consumers: two for the writer, one for a reader that follows a record. */
    private static final int SEGMENTS_RESERVED = 3;

    private final Storage storage;
    private final Settings settings;
    private final Format format;
    private final MetaPage meta;
    private final Registry registry;
    // Changed under the monitor; read by any thread.
    private final Map<String, ConsumerCore> open = new ConcurrentHashMap<>();
    private volatile boolean stopped;
    /** Whether the last save in the background has failed. */
    private volatile boolean saveFails;
    /** Raises the limit of mapped segments to a number. */
    private IntConsumer mappedLimit = segments -> {};

    private QueueArchive archive = QueueArchive.NONE;

    public Consumers(Storage storage, Settings settings, MetaPage meta, Registry registry) {
        this.storage = storage;
        this.settings = settings;
        this.format = settings.geometry().format();
        this.meta = meta;
        this.registry = registry;
    }

    /** Sets the function that raises the limit of mapped segments when more consumers are opened. */
    public void growBy(IntConsumer limit) {
        mappedLimit = limit;
    }

    /** Sets the archive of what the ring gives up. */
    public void readOlderFrom(QueueArchive older) {
        archive = older;
    }

    /** The segments of all consumers' reading positions. */
    public long[] readingSegments() {
        // Includes consumers of other processes: a few segments mapped without use cost little.
        return registry.all().stream()
                .mapToLong(each -> settings.geometry().segmentOf(each.cursors().reading()))
                .toArray();
    }

    /**
     * Opens a consumer, which this process then owns; creates it if it does not exist.
     *
     * @param user who has it open, until {@link #leave} or {@link #forget} is called for it
     */
    public ConsumerCore get(String name, StartAt start, Log log, Object user) throws IOException {
        return open(name, start, olderIfNew(name, start, log), log, Set.of(user));
    }

    // Without the monitor, as it may wait for the archive.
    private OptionalLong olderIfNew(String name, StartAt start, Log log) throws IOException {
        checkOpen();
        check(name);
        if (open.containsKey(name)) {
            return OptionalLong.empty();
        }
        registry.refresh();
        return registry.find(name) == null ? older(start, log) : OptionalLong.empty();
    }

    // A new consumer begins at an older record, if there is one.
    private synchronized ConsumerCore open(String name, StartAt start, OptionalLong older, Log log, Set<Object> users)
            throws IOException {
        checkOpen();
        ConsumerCore core = open.get(name);
        if (core == null) {
            core = opened(name, start, older, log);
        }
        core.users().addAll(users);
        return core;
    }

    private ConsumerCore opened(String name, StartAt start, OptionalLong older, Log log) throws IOException {
        check(name);
        mappedLimit.accept(open.size() + 1 + SEGMENTS_RESERVED);
        registry.refresh();
        boolean isOlder = older.isPresent() && registry.find(name) == null;
        Closeable ownership = own(name);
        try {
            StartAt first = isOlder ? StartAt.EARLIEST : start;
            ConsumerCore core = new ConsumerCore(
                    name, page(name, first, log), log, settings.delivery(), inFlightFile(name), archive, ownership);
            while (isOlder && !core.seekBehind(older.getAsLong(), log.locate(StartAt.EARLIEST), registry)) {
                // The writer has reclaimed the ring's first record just now; the next round finds another one.
            }
            open.put(name, core);
            return core;
        } catch (Throwable e) {
            ownership.close();
            throw e;
        }
    }

    private void checkOpen() {
        if (stopped) {
            throw new ClosedException("the queue is closed");
        }
    }

    private void check(String name) {
        Names.check("consumer", name);
        if (!format.hasNamedConsumers() && !name.equals(Registry.DEFAULT)) {
            throw new ConfigException(
                    "consumer", name, Registry.DEFAULT + " alone, in a directory of format version 1");
        }
    }

    private Closeable own(String name) throws IOException {
        if (!format.hasNamedConsumers()) {
            return () -> {}; // only one process opens a directory of version 1, and Satellite has no lock files
        }
        registry.refuseLink();
        if (!Files.isDirectory(registry.directory())) {
            storage.createDirectories(registry.directory());
        }
        return lock(name + LOCK_SUFFIX, "consumer " + name);
    }

    private Closeable lock(String file, String what) throws IOException {
        storage.checkPlace(); // the lock file is created where it is missing
        return ProcessLock.acquire(registry.directory().resolve(file), what, FileMode.of(settings.fileMode()));
    }

    private InFlightFile inFlightFile(String name) {
        Path path = registry.directory().resolve(name + InFlightDescriptor.SUFFIX);
        return format.hasNamedConsumers() ? new InFlightFile(storage, path, meta.fields()) : null;
    }

    private ConsumerCursors page(String name, StartAt start, Log log) throws IOException {
        ConsumerCursors there = registry.takeUp(name, () -> log.find(StartAt.EARLIEST));
        if (there != null) {
            checkInRing(name, there, log);
            return there;
        }
        if (start.kind() == StartAt.Kind.COMMITTED) {
            throw new ConfigException(
                    "start", "committed", "earliest, latest, an offset or a time: consumer " + name + " is new");
        }
        inFlightFile(name).delete();
        return registry.create(name, () -> log.find(start));
    }

    private void checkInRing(String name, ConsumerCursors cursors, Log log) {
        Path file = registry.path(name);
        log.checkInRing("the committed position of consumer " + name, cursors.committed(), file, Word.COMMITTED.at());
        log.checkInRing("the dropped position of consumer " + name, cursors.dropped(), file, Word.DROPPED.at());
    }

    /** Creates a consumer without owning it; does nothing if it exists. */
    public void create(String name, StartAt start, Log log) throws IOException {
        createIfNew(name, start, olderIfNew(name, start, log), log);
    }

    // Looks again, under the monitor: another thread may have created and opened the consumer since, and keeps it open.
    private synchronized void createIfNew(String name, StartAt start, OptionalLong older, Log log) throws IOException {
        checkOpen();
        check(name);
        registry.refresh();
        if (registry.find(name) == null) {
            try {
                if (older.isPresent()) {
                    release(open(name, start, older, log, Set.of())); // only an owner is moved
                } else {
                    whileHolding(own(name), () -> page(name, start, log));
                }
            } catch (LockedException e) {
                // Another process creates the consumer, or has created it and owns it.
                registry.refresh();
                if (registry.find(name) == null) {
                    throw e;
                }
            }
        }
    }

    /** Deletes a consumer that no other process owns. */
    public synchronized void delete(String name) throws IOException {
        checkOpen();
        check(name);
        registry.refresh();
        if (registry.find(name) == null) {
            throw new ConfigException("consumer", name, "one of " + registry.names());
        }
        if (!format.hasNamedConsumers()) {
            throw new ConfigException(
                    "consumer", name, "none: version 1 has " + Registry.DEFAULT + " alone, and" + " always");
        }
        ConsumerCore core = open.remove(name);
        if (core != null) {
            closeToDelete(core);
        }
        whileHolding(
                own(name),
                () -> whileDeleting(() -> {
                    registry.delete(name);
                    inFlightFile(name).delete();
                }));
    }

    // A full disk, on which the records in flight cannot be saved, keeps no one from deleting them.
    private static void closeToDelete(ConsumerCore core) {
        try {
            core.close();
        } catch (IOException e) {
            LOG.debug(
                    "the records in flight of consumer {}, which is deleted, were not saved: {}",
                    core.name(),
                    e.toString());
        }
    }

    // Allows one deletion at a time, of all processes: the deletion of the last consumer sets the position from which
    // the log is retained.
    private void whileDeleting(Work work) throws IOException {
        for (int tries = 1; ; tries++) {
            try {
                whileHolding(lock(DELETE_LOCK, "the deletion of a consumer"), work);
                return;
            } catch (LockedException e) {
                if (tries == DELETE_TRIES) {
                    throw e;
                }
                Threads.pause(DELETE_WAIT_NANOS);
            }
        }
    }

    private interface Work {
        void run() throws IOException;
    }

    private static void whileHolding(Closeable lock, Work work) throws IOException {
        try {
            work.run();
        } finally {
            lock.close();
        }
    }

    /** Closes a consumer, and releases its ownership. */
    public synchronized void release(ConsumerCore core) throws IOException {
        if (open.remove(core.name(), core)) {
            core.close();
        }
    }

    /** Ends the use of a consumer: closes it, as {@link #release}, unless it has another user. */
    public synchronized void leave(ConsumerCore core, Object user) throws IOException {
        core.users().remove(user);
        if (core.users().isEmpty()) {
            release(core);
        }
    }

    /** Ends a user that leaves its consumers open. */
    public void forget(Object user) {
        open.values().forEach(each -> each.users().remove(user));
    }

    /** Sets the label of a consumer. */
    public void label(ConsumerCore core, String text) throws IOException {
        if (!format.hasNamedConsumers()) {
            throw new ConfigException("label", text, "none, in a directory of format version 1");
        }
        int bytes = text.getBytes(StandardCharsets.UTF_8).length;
        if (bytes > ConsumerPage.MOST_LABEL_BYTES || text.chars().anyMatch(Character::isISOControl)) {
            throw new ConfigException(
                    "label",
                    text,
                    "up to " + ConsumerPage.MOST_LABEL_BYTES + " bytes of UTF-8, no control characters; this one has "
                            + bytes);
        }
        core.label(text);
    }

    /** Moves a consumer. */
    public void seek(ConsumerCore core, StartAt target, Log log) throws IOException {
        if (target.kind() == StartAt.Kind.COMMITTED) {
            core.seekCommitted();
            return;
        }
        if (!format.hasSegmentHeaders()) {
            throw new ConfigException(
                    "seek",
                    target.kind().toString().toLowerCase(Locale.ROOT),
                    "committed alone, in a directory of format version 1");
        }
        boolean moved = false;
        while (!moved) {
            // If the writer has reclaimed the position, the next round finds another position, or throws.
            OptionalLong older = older(target, log);
            try {
                moved = older.isPresent()
                        ? core.seekBehind(older.getAsLong(), log.locate(StartAt.EARLIEST), registry)
                        : core.seek(log.locate(target), registry);
            } catch (OutOfRangeException e) {
                if (older.isPresent() || older(target, log).isEmpty()) { // else the ring has given it up just now
                    throw e;
                }
            }
        }
    }

    // The offset of a target that only the archive has; empty if the ring has it, or nothing has.
    private OptionalLong older(StartAt target, Log log) {
        boolean isSought = target.kind() == StartAt.Kind.OFFSET || target.kind() == StartAt.Kind.TIMESTAMP;
        if (!isSought || !archive.isThere()) {
            return OptionalLong.empty();
        }
        if (target.kind() == StartAt.Kind.TIMESTAMP) {
            return archive.findBeforeRing(target, log);
        }
        long ring = log.locate(StartAt.EARLIEST).offset();
        return target.value() < ring && target.value() >= archive.firstOffset()
                ? OptionalLong.of(target.value())
                : OptionalLong.empty();
    }

    /** Saves the in-flight records of all consumers of this process. */
    public void save() throws IOException {
        for (ConsumerCore each : open.values()) {
            each.save();
        }
    }

    /** As {@link #save}, for background threads: a failure is logged, and the next call tries again. */
    public void saveOrWarn() {
        try {
            save();
            saveFails = false;
        } catch (IOException | RuntimeException | Error e) { // also OutOfMemoryError: no fsync has failed
            if (!saveFails) {
                // An exception of the log would poison the writer.
                GuardedLog.log(() -> LOG.warn(
                        "the in-flight records of consumers in {} could not be saved, which is tried again: {}",
                        registry.directory().getParent(),
                        e.toString()));
            }
            saveFails = true;
        }
    }

    /** Throws LockedException if another process owns the consumer. */
    public synchronized void checkFree(String name) throws IOException {
        if (!open.containsKey(name)) {
            own(name).close();
        }
    }

    /**
     * Commits every record before an offset, for all consumers; without a consumer, no record before it is retained any
     * more.
     *
     * @param end the offset, at most that of the log end
     * @return the number of records from the first one that some consumer had not acked up to {@code end}
     * @throws LockedException if another process owns a consumer; no consumer has moved then
     */
    public synchronized long purge(Log log, long end) throws IOException {
        checkOpen();
        registry.refresh();
        List<ConsumerCore> taken = new ArrayList<>();
        try {
            List<ConsumerCore> all = new ArrayList<>();
            for (String name : registry.names()) {
                boolean isTaken = !open.containsKey(name);
                ConsumerCore core = openIfThere(name, log);
                if (core == null) {
                    continue;
                }
                all.add(core);
                if (isTaken) {
                    taken.add(core);
                }
            }
            return all.isEmpty() ? releaseHeld(log, end) : commit(all, log, end);
        } finally {
            Closing.all(
                    taken.stream().map(core -> (Closeable) () -> release(core)).toArray(Closeable[]::new));
        }
    }

    // Returns null if another process has deleted the consumer since the registry was read: an open would create it.
    private ConsumerCore openIfThere(String name, Log log) throws IOException {
        try {
            return open(name, StartAt.COMMITTED, OptionalLong.empty(), log, Set.of());
        } catch (ConfigException e) {
            if (registry.find(name) == null) {
                return null;
            }
            throw e;
        }
    }

    private long commit(List<ConsumerCore> all, Log log, long end) {
        long least = Math.min(
                end, all.stream().mapToLong(ConsumerCore::committedOffset).min().orElse(end));
        if (!format.hasSegmentHeaders()) {
            all.forEach(core -> commitByPops(core, end));
        } else {
            RandomAccessReader.OffsetPosition target = log.locate(StartAt.offset(end));
            all.forEach(core -> core.commit(target, registry));
        }
        return end - least;
    }

    // Version 1 finds no record by its offset.
    private static void commitByPops(ConsumerCore core, long end) {
        do {
            long popped = core.readOffset();
            if (popped > core.committedOffset()) {
                core.ackUpTo(Math.min(popped, end) - 1);
            }
        } while (core.readOffset() < end
                && core.poll(1024, Long.MAX_VALUE, false, (offset, timestamp, data, start, length, attempts) -> {})
                        > 0);
        if (core.committedOffset() < end && core.readOffset() >= end) {
            core.ackUpTo(end - 1);
        }
    }

    private long releaseHeld(Log log, long end) throws IOException {
        long held = log.offsetAt(registry.lowWatermark());
        registry.noConsumer().committed(log.locate(StartAt.offset(end)).position());
        meta.force(); // as when the last consumer is deleted
        return Math.max(0, end - held);
    }

    /** Whether this process owns a consumer. */
    public boolean owns(String name) {
        return open.containsKey(Objects.requireNonNull(name, "consumer"));
    }

    /** The consumer of this name; null if this process does not own it. */
    public ConsumerCore owned(String name) {
        return open.get(name);
    }

    /** The records in flight of a consumer of any process, as its owner has stored them last; null for none. */
    public ByteBuffer storedInFlight(String name) throws IOException {
        Names.check("consumer", name);
        InFlightFile file = inFlightFile(name);
        return file == null ? null : file.read();
    }

    /** The damaged ranges that these consumers have skipped, by name. */
    public Map<String, List<DamagedRange>> damagedRanges() {
        Map<String, List<DamagedRange>> all = new TreeMap<>();
        for (ConsumerCore each : open.values()) {
            List<DamagedRange> ranges = each.damage().ranges();
            if (!ranges.isEmpty()) {
                all.put(each.name(), ranges);
            }
        }
        return all;
    }

    /** The greatest read offset of the consumers that this process owns; 0 if it owns none. Takes no lock. */
    public long greatestReadOffset() {
        return open.values().stream().mapToLong(ConsumerCore::readOffset).max().orElse(0);
    }

    /** Closes all consumers once their running calls have ended; later opens throw ClosedException. */
    public synchronized void stop() throws IOException {
        stopped = true;
        try {
            Closing.all(open.values().toArray(new Closeable[0]));
        } finally {
            open.values().removeIf(ConsumerCore::isClosed);
        }
    }

    /** Whether no call of a consumer can begin any more. */
    public synchronized boolean isStopped() {
        return stopped && open.isEmpty();
    }

    @Override
    public void close() throws IOException {
        Closing.all(this::stop, registry);
    }
}
