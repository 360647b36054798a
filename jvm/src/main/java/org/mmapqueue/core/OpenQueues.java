package org.mmapqueue.core;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.QueueListener;
import org.mmapqueue.QueueStats;
import org.mmapqueue.config.ConfigKey;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.RealPath;
import org.mmapqueue.io.Storage;
import org.mmapqueue.jmx.QueueBeans;
import org.mmapqueue.metrics.Sample;

/**
 * The open queues of this process: handles of the same directory share one. Safe for any number of threads. The table
 * is locked for look-ups only: while a queue is opened or closed, only callers of the same queue wait.
 */
public final class OpenQueues {
    /**
     * Mapped segments besides one for each reader: for records that continue in a second segment, and for consumers.
     */
    private static final int READERS_SPARE = 5;

    /** At most two per directory: a queue that is open read-only does not prevent opening it to write. */
    private static final Map<Key, Entry> TABLE = new HashMap<>();

    private static final OpenQueueListeners LISTENERS = new OpenQueueListeners();

    static {
        // A JVM may lack the module; a short-lived one should not start the MBean server.
        if (ModuleLayer.boot().findModule("java.management").isPresent()
                && Boolean.parseBoolean(System.getProperty("mmapqueue.jmx", "true"))) {
            LISTENERS.add(new QueueBeans());
        }
    }

    private record Key(Path directory, boolean readOnly) {
        static Key of(Path directory, boolean readOnly) {
            try {
                return new Key(RealPath.of(directory), readOnly);
            } catch (IOException e) {
                throw new MmapQueueException("the directory " + directory + " cannot be read: " + e, e);
            }
        }
    }

    /** A queue that is being opened, is open, or is being closed. Guarded by the table's lock. */
    private static final class Entry implements QueueListener.Figures {
        /** Null while the queue is being opened. */
        private volatile QueueCore core;
        /** The dead-letter directory, without symbolic links; null for none. */
        private final Path deadLetters;

        private int handles;
        /** Complete when the opening has ended, with or without success; replaced when the queue is being closed. */
        private CompletableFuture<Void> changed = new CompletableFuture<>();

        private volatile boolean closing;

        Entry(Path deadLetters) {
            this.deadLetters = deadLetters;
        }

        boolean isOpen() {
            return core != null && !closing;
        }

        @Override
        public Optional<QueueStats> stats() {
            return ask(core::stats);
        }

        @Override
        public Optional<List<ConsumerStats>> consumerStats() {
            return ask(core::consumerStats);
        }

        @Override
        public Optional<List<Sample>> metrics() {
            return ask(core::metrics);
        }

        // Takes no lock: a queue that was closed since throws, and gives an empty result.
        private <T> Optional<T> ask(Supplier<T> figure) {
            try {
                return closing ? Optional.empty() : Optional.of(figure.get());
            } catch (ClosedException e) {
                return Optional.empty();
            }
        }
    }

    private OpenQueues() {}

    /** Opens a queue, or shares the open one, until the caller calls {@link #release}. */
    public static QueueCore acquire(ConfigValues config) {
        boolean readOnly = config.flag(ConfigKey.READ_ONLY);
        Key own = Key.of(config.queueDir(), readOnly);
        return acquire(
                config,
                readOnly ? List.of(own, new Key(own.directory(), false)) : List.of(own),
                own,
                true,
                () -> QueueCore.open(config, 0));
    }

    /** Opens a queue on another storage, for tests; shared and released as any other. Its threads do not run. */
    public static QueueCore acquire(ConfigValues config, Storage storage) {
        Key own = Key.of(config.queueDir(), false);
        return acquire(config, List.of(own), own, false, () -> QueueCore.open(config, storage));
    }

    /** Returns the queue that this process has open to write, if any; otherwise a read-only one. */
    public static QueueCore acquireToRead(Path directory) {
        Key own = Key.of(directory, true);
        ConfigValues config = ConfigValues.of(directory).with(ConfigKey.READ_ONLY, "true");
        // Allows one reading thread per processor.
        int mapped = READERS_SPARE + Runtime.getRuntime().availableProcessors();
        return acquire(
                config,
                List.of(new Key(own.directory(), false), own),
                own,
                false,
                () -> QueueCore.open(config, mapped));
    }

    // Shares the queue of the first key that is open; otherwise opens the queue under its own key.
    private static QueueCore acquire(
            ConfigValues config, List<Key> shareable, Key own, boolean refusesOther, Supplier<QueueCore> opener) {
        String directory = config.text(ConfigKey.DEAD_LETTER_DIR);
        Path deadLetters = directory.isEmpty() ? null : Settings.Delivery.realPath(Path.of(directory));
        while (true) {
            CompletableFuture<Void> changed = null;
            Entry made = null;
            QueueCore shared = null;
            synchronized (TABLE) {
                for (Key key : shareable) {
                    Entry entry = TABLE.get(key);
                    if (entry != null && entry.isOpen()) {
                        entry.handles++;
                        shared = entry.core;
                        break;
                    }
                    changed = entry != null && changed == null ? entry.changed : changed;
                }
                if (shared == null && changed == null) {
                    refuseDeadLetterLoop(own.directory(), deadLetters, directory);
                    made = new Entry(deadLetters);
                    TABLE.put(own, made);
                }
            }
            if (shared != null) {
                return checked(shared, config, refusesOther);
            }
            if (made != null) {
                return open(opener, made);
            }
            changed.join(); // not interruptible, since opening and closing always end
        }
    }

    // Releases the queue again if the caller must not share it: another directory may be at its path by now.
    private static QueueCore checked(QueueCore shared, ConfigValues config, boolean refusesOther) {
        boolean done = false;
        try {
            shared.checkPlace();
            if (refusesOther) {
                refuseOther(config, shared.settings());
            }
            done = true;
            return shared;
        } finally {
            if (!done) {
                release(shared);
            }
        }
    }

    // Each queue keeps its dead-letter queue open: a cycle of them would never be closed, and dead letters would
    // circulate.
    private static void refuseDeadLetterLoop(Path directory, Path deadLetters, String value) {
        Set<Path> chain = new LinkedHashSet<>();
        chain.add(directory);
        Path next = deadLetters;
        while (next != null) {
            if (!chain.add(next)) {
                throw new ConfigException(
                        "dead_letter_dir",
                        value,
                        "a queue with dead letters that do not come back: "
                                + chain.stream().map(Path::toString).collect(Collectors.joining(" → ")) + " → " + next);
            }
            Entry entry = TABLE.get(new Key(next, false));
            next = entry == null ? null : entry.deadLetters;
        }
    }

    private static QueueCore open(Supplier<QueueCore> opener, Entry entry) {
        QueueCore core = null;
        try {
            core = opener.get();
            return core;
        } finally {
            synchronized (TABLE) {
                if (core == null) {
                    TABLE.values().remove(entry);
                } else {
                    entry.core = core;
                    entry.handles = 1;
                    LISTENERS.opened(core.directory(), entry);
                }
                entry.changed.complete(null);
            }
            LISTENERS.tell();
        }
    }

    /** Closes the queue when this was its last handle. */
    public static void release(QueueCore core) {
        Entry entry;
        synchronized (TABLE) {
            // Looked up by identity, not by path: the directory may have been moved or deleted.
            entry = TABLE.values().stream()
                    .filter(each -> each.core == core)
                    .findFirst()
                    .orElseThrow();
            entry.handles--;
            if (entry.handles > 0) {
                return;
            }
            beginClose(entry);
        }
        end(entry, core::close);
    }

    private static void beginClose(Entry entry) {
        entry.closing = true;
        entry.changed = new CompletableFuture<>();
        LISTENERS.closed(entry.core.directory(), entry);
    }

    private static void end(Entry entry, Runnable close) {
        try {
            close.run();
        } finally {
            synchronized (TABLE) {
                TABLE.values().remove(entry);
                entry.changed.complete(null);
            }
            LISTENERS.tell();
        }
    }

    /**
     * Closes the queue and deletes its files, if this is its only handle.
     *
     * @throws LockedException if another handle, also a read-only one, is open in this process, or another
     *     process owns a consumer; the queue stays open then
     */
    public static void destroy(QueueCore core) {
        checkConsumers(core);
        Entry entry;
        synchronized (TABLE) {
            entry = unused(core);
            entry.handles = 0;
            beginClose(entry);
        }
        end(entry, core::destroy);
    }

    /**
     * Changes nothing.
     *
     * @throws LockedException as {@link #destroy} would throw it now
     */
    public static void checkUnused(QueueCore core) {
        checkConsumers(core);
        synchronized (TABLE) {
            Entry unused = unused(core);
        }
    }

    private static void checkConsumers(QueueCore core) {
        core.consumerNames().forEach(core::checkFree);
    }

    // The entry of a queue with one handle. The caller holds the table's lock.
    private static Entry unused(QueueCore core) {
        Map.Entry<Key, Entry> found = TABLE.entrySet().stream()
                .filter(each -> each.getValue().core == core)
                .findFirst()
                .orElseThrow();
        Entry entry = found.getValue();
        if (entry.handles > 1 || TABLE.containsKey(new Key(found.getKey().directory(), true))) {
            long self = ProcessHandle.current().pid();
            throw new LockedException(
                    "the queue in " + core.directory() + " has another handle in this process, pid " + self
                            + ": close it before the queue is destroyed",
                    self);
        }
        return entry;
    }

    /** Adds a listener: reports to it the open queues, and from now on each open and close. */
    public static void add(QueueListener listener) {
        synchronized (TABLE) {
            LISTENERS.add(listener);
            TABLE.values().stream()
                    .filter(Entry::isOpen)
                    .forEach(each -> LISTENERS.opened(listener, each.core.directory(), each));
        }
        LISTENERS.tell();
    }

    /** Removes a listener. */
    public static void remove(QueueListener listener) {
        synchronized (TABLE) {
            LISTENERS.remove(listener);
        }
    }

    private static void refuseOther(ConfigValues wanted, Settings open) {
        for (ConfigKey key : ConfigKey.values()) {
            if (wanted.isSet(key) && !open.isInEffect(key, wanted)) {
                throw new ConfigException(
                        key.keyName(),
                        wanted.text(key),
                        "the queue in " + wanted.queueDir() + " is open in this process already, with "
                                + open.asConfig(wanted.queueDir()).text(key));
            }
        }
    }
}
