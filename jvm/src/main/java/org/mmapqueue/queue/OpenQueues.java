package org.mmapqueue.queue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.MmapQueueException;

/** The queues that this process has open, so that opening a directory twice shares one. Any number of threads. */
final class OpenQueues {
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

    private static final class Shared {
        private final QueueCore core;
        private int handles = 1;

        Shared(QueueCore core) {
            this.core = core;
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
            return open(QueueConfig.builder(directory).readOnly(true).build(), true);
        }
    }

    private static QueueCore open(QueueConfig config, boolean readOnly) {
        Shared shared = new Shared(QueueCore.open(config));
        OPEN.put(Key.of(config.queueDir(), readOnly), shared); // the key of a directory that is there by now
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
                core.close();
            }
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
