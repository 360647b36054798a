package org.mmapqueue.bridge;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.MmapQueueException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens queues for py4j. Thread-safe. */
public final class Bridge {
    private static final Logger LOG = LoggerFactory.getLogger(Bridge.class);
    private static final String VERSION_RESOURCE = "/org/mmapqueue/version.properties";
    static final String SEPARATOR = "\0";

    private static final String CAPACITY = "capacity";
    private static final String CAPACITY_SEGMENTS = "queue_capacity_segments";
    private static final String SEGMENT_SIZE = "segment_size";
    private static final String QUEUE_DIR = "queue_dir";
    // Used only to create a queue; the capacity of the open queue is compared with its own segment size.
    private static final long DEFAULT_SEGMENT_SIZE = 131_072;
    private static final long LEAST_SEGMENTS = 2;
    private static final long MOST_SEGMENTS = 1 << 30;

    private static final Set<QueueHandle> OPEN = ConcurrentHashMap.newKeySet();

    static {
        // Closing flushes: also when the process that started this JVM was killed.
        Runtime.getRuntime().addShutdownHook(new Thread(Bridge::closeAll, "mmapqueue-close-at-exit"));
    }

    private Bridge() {}

    /**
     * The version of the jar.
     *
     * @return the version in the jar's file name
     */
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
     * @param options alternating keys and values, joined by NUL characters: the keys of {@link QueueConfig#of}, and
     *     {@code capacity} in bytes, which replaces queue_capacity_segments and is rounded up to whole segments
     * @return a new handle, also when the directory is open already
     * @throws MmapQueueException as {@link QueueConfig#of} and {@link MmapQueue#open} do
     */
    public static QueueHandle open(String options) {
        Map<String, String> keys = new LinkedHashMap<>();
        String[] parts = options.split(SEPARATOR, -1);
        for (int i = 0; i + 1 < parts.length; i += 2) {
            keys.put(parts[i], parts[i + 1]);
        }
        String capacity = keys.remove(CAPACITY);
        MmapQueue queue = capacity == null ? MmapQueue.open(QueueConfig.of(keys)) : openSized(keys, capacity);
        QueueHandle handle = new QueueHandle(queue, OPEN::remove);
        OPEN.add(handle);
        return handle;
    }

    /** Opens with a capacity in bytes. An existing queue decides the segment size. */
    private static MmapQueue openSized(Map<String, String> keys, String capacity) {
        if (keys.containsKey(CAPACITY_SEGMENTS)) {
            throw new ConfigException(
                    CAPACITY,
                    capacity,
                    "capacity or queue_capacity_segments (" + keys.get(CAPACITY_SEGMENTS) + "), not both");
        }
        long bytes = Long.parseLong(capacity);
        String set = QueueConfig.of(keys).asMap().get(SEGMENT_SIZE);
        long segmentSize = set == null ? DEFAULT_SEGMENT_SIZE : Long.parseLong(set);
        long segments = segments(bytes, segmentSize);
        if (segments < LEAST_SEGMENTS || segments > MOST_SEGMENTS) {
            throw new ConfigException(
                    CAPACITY,
                    capacity,
                    LEAST_SEGMENTS * segmentSize + ".." + MOST_SEGMENTS * segmentSize + " with a segment_size of "
                            + segmentSize);
        }
        Map<String, String> sized = new LinkedHashMap<>(keys);
        sized.put(CAPACITY_SEGMENTS, Long.toString(segments));
        MmapQueue queue;
        try {
            queue = MmapQueue.open(QueueConfig.of(sized));
        } catch (ConfigException e) {
            if (!e.key().equals(CAPACITY_SEGMENTS)) {
                throw e;
            }
            // The directory has a queue of another segment size. Opened without a capacity, it reports both.
            queue = MmapQueue.open(QueueConfig.of(keys));
        }
        Map<String, String> found = queue.config().asMap();
        long foundSize = Long.parseLong(found.get(SEGMENT_SIZE));
        long foundSegments = Long.parseLong(found.get(CAPACITY_SEGMENTS));
        if (segments(bytes, foundSize) != foundSegments) {
            queue.close();
            throw new ConfigException(
                    CAPACITY,
                    capacity,
                    "the queue in " + found.get(QUEUE_DIR) + " was made with " + foundSize * foundSegments + " ("
                            + foundSegments + " segments of " + foundSize + ")");
        }
        return queue;
    }

    private static long segments(long bytes, long segmentSize) {
        return bytes / segmentSize + (bytes % segmentSize == 0 ? 0 : 1);
    }

    private static void closeAll() {
        for (QueueHandle handle : OPEN) {
            try {
                handle.close();
            } catch (RuntimeException e) {
                // This queue is recovered at its next open. Close the others.
                LOG.warn("closing a queue at exit failed", e);
            }
        }
    }
}
