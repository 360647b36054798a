package org.mmapqueue.bridge;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.MmapQueueException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens queues for py4j. Thread-safe. */
public final class Bridge {
    private static final Logger LOG = LoggerFactory.getLogger(Bridge.class);
    private static final String VERSION_RESOURCE = "/org/mmapqueue/version.properties";
    static final String SEPARATOR = "\0";

    /** The open handles, with the directory that each was opened by. */
    private static final Map<QueueHandle, String> OPEN = new ConcurrentHashMap<>();

    static {
        // Closing flushes the queues, also when the process that started this JVM was killed.
        Runtime.getRuntime().addShutdownHook(new Thread(Bridge::closeAll, "mmapqueue-close-at-exit"));
    }

    private Bridge() {}

    /** {@return the version in the jar's file name} */
    public static String version() {
        try (InputStream resource = Bridge.class.getResourceAsStream(VERSION_RESOURCE)) {
            if (resource == null) {
                return "unknown";
            }
            Properties properties = new Properties();
            properties.load(resource);
            return properties.getProperty("version", "unknown");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Opens a queue.
     *
     * @param options alternating keys and values, joined by NUL characters: the keys of {@link QueueConfig#of}
     * @return a new handle, also when the directory is already open
     * @throws MmapQueueException as {@link QueueConfig#of} and {@link MmapQueue#open} do
     */
    public static QueueHandle open(String options) {
        QueueConfig config = config(options);
        QueueHandle handle = new QueueHandle(MmapQueue.open(config), OPEN::remove);
        OPEN.put(handle, config.asMap().get("queue_dir"));
        return handle;
    }

    /**
     * Whether {@link #open} has opened a queue that was not closed since.
     *
     * @param directory the queue_dir of that call
     * @return false for a queue that is open in other processes alone
     */
    public static boolean isOpen(String directory) {
        return OPEN.containsValue(directory);
    }

    /** The configuration in the options of {@link #open}. */
    static QueueConfig config(String options) {
        Map<String, String> keys = new LinkedHashMap<>();
        String[] parts = options.split(SEPARATOR, -1);
        for (int i = 0; i + 1 < parts.length; i += 2) {
            keys.put(parts[i], parts[i + 1]);
        }
        return QueueConfig.of(keys);
    }

    private static void closeAll() {
        for (QueueHandle handle : OPEN.keySet()) {
            try {
                handle.close();
            } catch (RuntimeException e) {
                // This queue is recovered at its next open. Closes the others.
                LOG.warn("closing a queue at exit failed", e);
            }
        }
    }
}
