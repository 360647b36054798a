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

/** The way in from py4j. Safe for any number of threads. */
public final class Bridge {
    private static final Logger LOG = LoggerFactory.getLogger(Bridge.class);
    private static final String VERSION_RESOURCE = "/org/mmapqueue/version.properties";
    static final String SEPARATOR = "\0";

    private static final String CAPACITY = "capacity";
    private static final String CAPACITY_SEGMENTS = "queue_capacity_segments";
    private static final String SEGMENT_SIZE = "segment_size";
    private static final String QUEUE_DIR = "queue_dir";
    // Only decides how a NEW queue is made: what the open queue really has is compared afterwards.
    private static final long DEFAULT_SEGMENT_SIZE = 131_072;
    private static final long LEAST_SEGMENTS = 2;
    private static final long MOST_SEGMENTS = 1 << 30;

    private static final Set<QueueHandle> OPEN = ConcurrentHashMap.newKeySet();

    static {
        // The parent of a JVM of our own may be killed; what it has pushed goes to the disk all the same.
        Runtime.getRuntime().addShutdownHook(new Thread(Bridge::closeAll, "mmapqueue-close-at-exit"));
    }

    private Bridge() {}

    /**
     * The version of the jar.
     *
     * @return as in the name of the jar
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
     * @param options keys and values by turns, joined by NUL characters: the keys of {@link QueueConfig#of}, and
     *        {@code capacity}, a number of bytes, which stands for queue_capacity_segments and is rounded up to whole
     *        segments
     * @return a handle of its own, whether or not the directory is open already
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

    /** Opens with a capacity in bytes; the segment size that it is measured in may be known to the directory alone. */
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
            // There is a queue already, and its segments are of another size: it says itself of which.
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
                // One that can not be closed is recovered at its next open; the others are still to be closed.
                LOG.warn("closing at exit failed", e);
            }
        }
    }
}
