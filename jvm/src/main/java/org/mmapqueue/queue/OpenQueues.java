package org.mmapqueue.queue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.Storage;

/** The queues that this process has open, so that opening a directory twice shares one. Any number of threads. */
final class OpenQueues {
    /** Segments that are mapped besides one for each reader: where records lead on, and for consumers. */
    private static final int READERS_SPARE = 5;
    private static final Logger LOG = LoggerFactory.getLogger(OpenQueues.class);

    /** Two for a directory at most: one that reads only does not keep another one from being opened to write. */
    private static final Map<Key, Shared> OPEN = new HashMap<>();

    private record Key(Path directory, boolean readOnly) {
        static Key of(Path directory, boolean readOnly) {
            Path absolute = directory.toAbsolutePath().normalize();
            try {
                return new Key(Files.exists(absolute) ? absolute.toRealPath() : absolute, readOnly);
            } catch (IOException e) {
                throw new MmapQueueException("the directory " + directory + " can not be read: " + e, e);
            }
        }
    }

    private static final List<QueueListener> LISTENERS = new ArrayList<>();

    private static final class Shared implements QueueListener.Figures {
        private final QueueCore core;
        private int handles = 1;

        Shared(QueueCore core) {
            this.core = core;
        }

        @Override
        public Optional<QueueStats> stats() {
            return ask(core::stats);
        }

        @Override
        public Optional<List<ConsumerStats>> consumerStats() {
            return ask(core::consumerStats);
        }

        // Under the lock: nobody closes it meanwhile.
        private <T> Optional<T> ask(Supplier<T> figure) {
            synchronized (OPEN) {
                return handles > 0 ? Optional.of(figure.get()) : Optional.empty();
            }
        }
    }

    private OpenQueues() {
    }

    /** A queue that the caller gives back with {@link #release}. */
    static QueueCore acquire(QueueConfig config) {
        boolean readOnly = config.flag(ConfigKey.READ_ONLY);
        synchronized (OPEN) {
            Shared shared = OPEN.get(Key.of(config.queueDir(), readOnly));
            if (shared == null && readOnly) {
                shared = OPEN.get(Key.of(config.queueDir(), false));
            }
            if (shared != null) {
                refuseOther(config, shared.core.settings());
                shared.handles++;
                return shared.core;
            }
            return open(config, readOnly);
        }
    }

    /** The queue that this process has open to write, if there is one; else one that reads only. */
    static QueueCore acquireToRead(Path directory) {
        synchronized (OPEN) {
            for (boolean readOnly : new boolean[] {false, true}) {
                Shared shared = OPEN.get(Key.of(directory, readOnly));
                if (shared != null) {
                    shared.handles++;
                    return shared.core;
                }
            }
            // Each core may have a thread that reads on its own.
            int mapped = Math.max(Integer.parseInt(ConfigKey.MAX_IN_MEM_SEGMENTS.defaultText()),
                    READERS_SPARE + Runtime.getRuntime().availableProcessors());
            return open(QueueConfig.builder(directory).readOnly(true).maxInMemSegments(mapped).build(), true);
        }
    }

    /** A queue on another storage, for tests; shared and released as any other. Its threads do not run. */
    static QueueCore acquire(QueueConfig config, Storage storage) {
        synchronized (OPEN) {
            Key key = Key.of(config.queueDir(), false);
            Shared shared = OPEN.get(key);
            if (shared != null) {
                shared.handles++;
                return shared.core;
            }
            shared = new Shared(QueueCore.open(config, storage));
            OPEN.put(Key.of(config.queueDir(), false), shared);
            return shared.core;
        }
    }

    private static QueueCore open(QueueConfig config, boolean readOnly) {
        Shared shared = new Shared(QueueCore.open(config));
        OPEN.put(Key.of(config.queueDir(), readOnly), shared); // the key of a directory that is there by now
        LISTENERS.forEach(each -> tell(() -> each.opened(shared.core.directory(), shared)));
        return shared.core;
    }

    /** Closes the queue when this was its last handle. */
    static void release(QueueCore core) {
        synchronized (OPEN) {
            // Not by path: somebody may have moved or deleted the directory.
            Shared shared = OPEN.values().stream().filter(each -> each.core == core).findFirst().orElseThrow();
            shared.handles--;
            if (shared.handles == 0) {
                OPEN.values().remove(shared);
                LISTENERS.forEach(each -> tell(() -> each.closed(core.directory())));
                core.close();
            }
        }
    }

    /** Tells a listener what is open, and from now on what is opened and closed. */
    static void add(QueueListener listener) {
        synchronized (OPEN) {
            LISTENERS.add(listener);
            OPEN.values().forEach(each -> tell(() -> listener.opened(each.core.directory(), each)));
        }
    }

    /** Tells it no more. */
    static void remove(QueueListener listener) {
        synchronized (OPEN) {
            LISTENERS.remove(listener);
        }
    }

    private static void tell(Runnable call) {
        try {
            call.run();
        } catch (RuntimeException e) {
            LOG.warn("a listener failed", e);
        }
    }

    private static void refuseOther(QueueConfig wanted, Settings open) {
        QueueConfig effective = open.asConfig(wanted.queueDir());
        for (ConfigKey key : ConfigKey.values()) {
            if (wanted.isSet(key) && !wanted.text(key).equals(effective.text(key))) {
                throw new ConfigException(key.keyName(), wanted.text(key), "the queue in " + wanted.queueDir()
                        + " is open in this process already, with " + effective.text(key));
            }
        }
    }
}
