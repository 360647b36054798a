package org.mmapqueue.consume;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import org.mmapqueue.StartAt;
import org.mmapqueue.config.Names;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.io.ProcessLock;
import org.mmapqueue.io.Storage;
import org.mmapqueue.lookup.Log;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.registry.Registry;
import org.mmapqueue.segment.Format;

/**
 * The consumers that this process owns. Any number of threads.
 *
 * <p>Any process makes and deletes consumers; each one, the default one too, is owned by whoever asks first, here or in
 * another process. The OS lock consumers/&lt;name&gt;.lock says who.
 */
public final class Consumers implements Closeable {
    private static final String LOCK_SUFFIX = ".lock";
    /** No consumer has this name. */
    private static final String DELETE_LOCK = ".delete.lock";

    private static final int DELETE_TRIES = 500;
    private static final long DELETE_WAIT_NANOS = 10_000_000;
    /** Places in memory that the writer may need at once, and one for a reader that follows a record. */
    private static final int PLACES_KEPT = 3;

    private final Storage storage;
    private final Settings settings;
    private final Format format;
    private final MetaPage meta;
    private final Registry registry;
    private final Map<String, ConsumerCore> open = new HashMap<>();
    private boolean stopped;
    /** Takes the number of segments that are to be mapped at most, if it is more than now. */
    private IntConsumer places = segments -> {};

    public Consumers(Storage storage, Settings settings, MetaPage meta, Registry registry) {
        this.storage = storage;
        this.settings = settings;
        this.format = settings.geometry().format();
        this.meta = meta;
        this.registry = registry;
    }

    /** Says who has more segments mapped when more consumers are opened than the limit was made for. */
    public void growBy(IntConsumer limit) {
        places = limit;
    }

    /** The segments in which consumers read. */
    public long[] readingSegments() {
        // Those of other processes, too: leaving a few segments mapped for nothing costs little.
        List<Registry.Named> all = registry.all();
        long[] ids = new long[all.size()];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = settings.geometry().segmentOf(all.get(i).cursors().reading());
        }
        return ids;
    }

    /** The consumer of this name, owned by this process from now on; made when it is not there. */
    public synchronized ConsumerCore get(String name, StartAt start, Log log) throws IOException {
        checkOpen();
        ConsumerCore core = open.get(name);
        if (core != null) {
            return core;
        }
        check(name);
        places.accept(open.size() + 1 + PLACES_KEPT);
        Closeable ownership = own(name);
        boolean done = false;
        try {
            core = new ConsumerCore(
                    name, page(name, start, log), log, settings.delivery(), inFlightFile(name), ownership);
            open.put(name, core);
            done = true;
            return core;
        } finally {
            if (!done) {
                ownership.close();
            }
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
            return () -> {}; // the writer alone opens the directory, and Satellite knows no lock files
        }
        registry.refuseLink();
        if (!Files.isDirectory(registry.directory())) {
            storage.createDirectories(registry.directory());
        }
        return lock(name + LOCK_SUFFIX, "consumer " + name);
    }

    private Closeable lock(String file, String what) throws IOException {
        return ProcessLock.acquire(registry.directory().resolve(file), what, FileMode.of(settings.fileMode()));
    }

    private InFlightFile inFlightFile(String name) {
        return format.hasNamedConsumers() ? new InFlightFile(storage, registry.directory(), name, meta.fields()) : null;
    }

    private ConsumerCursors page(String name, StartAt start, Log log) throws IOException {
        ConsumerCursors there = registry.takeUp(name, () -> log.find(StartAt.EARLIEST));
        if (there != null) {
            return there;
        }
        if (start.kind() == StartAt.Kind.COMMITTED) {
            throw new ConfigException(
                    "start", "committed", "earliest, latest, an offset or a time: consumer " + name + " is new");
        }
        inFlightFile(name).delete();
        return registry.create(name, () -> log.find(start));
    }

    /** Makes a consumer and leaves it to others to own it; does nothing when it is there. */
    public synchronized void create(String name, StartAt start, Log log) throws IOException {
        checkOpen();
        check(name);
        registry.refresh();
        if (registry.find(name) == null) {
            try {
                whileHolding(own(name), () -> page(name, start, log));
            } catch (LockedException e) {
                // Another process is making it, or has made it and owns it.
                registry.refresh();
                if (registry.find(name) == null) {
                    throw e;
                }
            }
        }
    }

    /** Deletes a consumer that nobody else owns. */
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
            core.close();
        }
        whileHolding(
                own(name),
                () -> whileDeleting(() -> {
                    registry.delete(name);
                    inFlightFile(name).delete();
                }));
    }

    // One at a time, of all processes: who deletes the last one says from where on the log is kept.
    private void whileDeleting(Work work) throws IOException {
        for (int tries = 1; ; tries++) {
            try {
                whileHolding(lock(DELETE_LOCK, "the deletion of a consumer"), work);
                return;
            } catch (LockedException e) {
                if (tries == DELETE_TRIES) {
                    throw e;
                }
                LockSupport.parkNanos(DELETE_WAIT_NANOS);
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

    /** Gives a consumer up. */
    public synchronized void release(ConsumerCore core) throws IOException {
        if (open.remove(core.name(), core)) {
            core.close();
        }
    }

    /** Moves a consumer to a place. */
    public void seek(ConsumerCore core, StartAt place, Log log) throws IOException {
        if (place.kind() == StartAt.Kind.COMMITTED) {
            core.seekCommitted();
            return;
        }
        if (!format.hasSegmentHeaders()) {
            throw new ConfigException(
                    "seek",
                    place.kind().toString().toLowerCase(Locale.ROOT),
                    "committed alone, in a directory of format version 1");
        }
        boolean moved = false;
        while (!moved) {
            // When the writer has reclaimed it meanwhile: once more, which finds another place, or says what is left.
            moved = core.seek(log.locate(place), registry);
        }
    }

    /** Whether this process owns a consumer now. */
    public synchronized boolean owns(String name) {
        return open.containsKey(name);
    }

    /** The consumers that this process owns now. */
    public synchronized List<ConsumerCore> owned() {
        return new ArrayList<>(open.values());
    }

    /** Closes the consumers that are open, once the calls under way have ended; none can be opened any more. */
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
