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
    private static final Map<Path, Shared> OPEN = new HashMap<>();

    private static final class Shared {
        private final QueueCore core;
        private int handles;

        Shared(QueueCore core) {
            this.core = core;
        }
    }

    private OpenQueues() {
    }

    /** A queue that the caller gives back with {@link #release}. */
    static QueueCore acquire(QueueConfig config) {
        synchronized (OPEN) {
            Shared shared = OPEN.get(key(config.queueDir()));
            if (shared != null) {
                refuseOther(config, shared.core.settings());
            } else {
                shared = new Shared(QueueCore.open(config));
                OPEN.put(key(config.queueDir()), shared); // the key of a directory that is there by now
            }
            shared.handles++;
            return shared.core;
        }
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

    private static Path key(Path directory) {
        Path absolute = directory.toAbsolutePath().normalize();
        try {
            return Files.exists(absolute) ? absolute.toRealPath() : absolute;
        } catch (IOException e) {
            throw new MmapQueueException("the directory " + directory + " can not be read: " + e, e);
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
