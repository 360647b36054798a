package org.mmapqueue.spark.common;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

import org.mmapqueue.queue.MmapQueue;
import org.mmapqueue.queue.QueueConfig;

/** Makes queues by options: the queue's own configuration keys, {@code capacity}, and {@code partitions}. */
public final class NewQueue {
    /** The option that says how many partitions there are to be. */
    public static final String PARTITIONS = "partitions";
    /** The option that stands for queue_capacity_segments, in bytes. */
    public static final String CAPACITY = "capacity";
    private static final String SEGMENTS = "queue_capacity_segments";
    private static final String SEGMENT_SIZE = "segment_size";
    private static final int MOST_PARTITIONS = 10_000;

    private NewQueue() {
    }

    /**
     * Makes the partitions that are not there.
     *
     * @param root the queue's directory
     * @param options partitions = 1, 2, … (1), and the queue's configuration
     * @throws IllegalArgumentException when there are more than asked for, or the one that there is can not become one
     *     of several
     * @throws org.mmapqueue.errors.ConfigException for a configuration that is refused
     */
    public static void make(Path root, Options options) {
        boolean there = PartitionDirectory.isQueue(root);
        int found = there ? PartitionDirectory.find(root).size() : 0;
        long wanted = options.number(PARTITIONS, Math.max(1, found), 1);
        if (wanted > MOST_PARTITIONS || wanted < found) {
            throw Options.bad(PARTITIONS, Long.toString(wanted), "a number from " + Math.max(1, found) + " to "
                    + MOST_PARTITIONS + (there ? "; the queue in " + root + " has " + found : ""));
        }
        if (wanted == found) {
            return;
        }
        boolean single = there && !Files.exists(PartitionDirectory.of(root, 0).directory());
        if (single) {
            throw Options.bad(PARTITIONS, Long.toString(wanted), "1: the queue lies in " + root + " itself, and can not"
                    + " become one of several partitions");
        }
        if (wanted == 1) {
            MmapQueue.open(config(root, options)).close();
            return;
        }
        for (int id = found; id < wanted; id++) {
            MmapQueue.open(config(PartitionDirectory.of(root, id).directory(), options)).close();
        }
    }

    /**
     * The configuration to open a partition with.
     *
     * @param directory where it lies
     * @param options those that are keys of the configuration count
     * @return the configuration
     * @throws org.mmapqueue.errors.ConfigException for a value that is refused
     */
    public static QueueConfig config(Path directory, Options options) {
        Map<String, String> values = new HashMap<>();
        for (String key : QueueConfig.defaults().keySet()) {
            if (options.isSet(key)) {
                values.put(key, options.text(key, null));
            }
        }
        if (options.isSet(CAPACITY)) {
            if (values.containsKey(SEGMENTS)) {
                throw Options.bad(CAPACITY, options.text(CAPACITY, null), "either it or " + SEGMENTS);
            }
            long segment = options.bytes(SEGMENT_SIZE, Long.parseLong(QueueConfig.defaults().get(SEGMENT_SIZE)));
            long capacity = options.bytes(CAPACITY, 0);
            values.put(SEGMENTS, Long.toString((capacity + segment - 1) / segment));
        }
        values.put("queue_dir", directory.toString());
        return QueueConfig.of(values);
    }
}
