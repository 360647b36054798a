package org.mmapqueue.spark.write.sink;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.spark.common.Closing;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.write.staging.StagingArea;

/** Opens the partitions of a queue for writing, and makes missing ones. */
final class SinkPartitions {
    private static final String QUEUE_DIR = "queue_dir";
    private static final String MAX_EVENT_SIZE = "max_event_size";
    /** Default of a new queue's max_event_size in bytes, if the ring has room: rows are larger than messages. */
    private static final int DEFAULT_MAX_EVENT_SIZE = 16 << 20;
    /** Keys that a new partition takes from the existing ones, unless given. */
    private static final List<String> INHERITED = List.of(
            SinkConfig.SEGMENT_SIZE,
            SinkConfig.CAPACITY_SEGMENTS,
            MAX_EVENT_SIZE,
            "timestamps",
            "retain_ms",
            "retain_bytes");

    private SinkPartitions() {}

    /**
     * Opens all partitions.
     *
     * @return the partitions, by number; the caller closes them
     * @throws IllegalArgumentException if the number of partitions is not possible, or a key is invalid
     * @throws org.mmapqueue.errors.LockedException if another process writes one of them
     */
    static List<MmapQueue> open(Path root, SinkConfig config) {
        return open(root, config, MmapQueue::open);
    }

    /** As above, with a given way to open a partition. */
    static List<MmapQueue> open(Path root, SinkConfig config, Function<QueueConfig, MmapQueue> opener) {
        List<PartitionDirectory> there = PartitionDirectory.isQueue(root) ? PartitionDirectory.find(root) : List.of();
        check(root, there, config.partitions());
        int count = Math.max(1, Math.max(config.partitions(), there.size()));
        boolean inRoot = there.isEmpty() ? count == 1 : there.get(0).directory().equals(root);
        List<MmapQueue> open = new ArrayList<>();
        boolean done = false;
        try {
            for (int id = 0; id < count; id++) {
                Path directory = inRoot ? root : PartitionDirectory.of(root, id).directory();
                boolean grown = id >= there.size() && !there.isEmpty();
                open.add(open(directory, grown ? like(open.get(0), config.keys()) : config.keys(), opener));
            }
            done = true;
            return open;
        } finally {
            if (!done) {
                Closing.all(open, MmapQueue::close);
            }
        }
    }

    private static void check(Path root, List<PartitionDirectory> there, int wanted) {
        for (int id = 0; id < there.size(); id++) {
            if (there.get(id).id() != id) {
                throw bad(
                        "path",
                        root.toString(),
                        "a directory with partitions from p=0 on; this one holds p="
                                + there.get(id).id() + " and no p=" + id + ": put that back, create an empty queue"
                                + " there, or write to another directory");
            }
        }
        if (wanted != 0 && wanted < there.size()) {
            throw bad(
                    "partitions",
                    Integer.toString(wanted),
                    there.size() + " or more, as the queue in " + root + " has " + there.size() + "; partitions"
                            + " cannot be removed");
        }
        if (wanted > 1 && !there.isEmpty() && there.get(0).directory().equals(root)) {
            throw bad(
                    "partitions",
                    Integer.toString(wanted),
                    "1, as the queue is in " + root + " itself and not in directories p=0, p=1, …, so"
                            + " partitions cannot be added; write to another directory");
        }
        if (wanted > 1 && there.isEmpty() && Files.isDirectory(root)) {
            refuseForeign(root);
        }
    }

    private static void refuseForeign(Path root) {
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(root)) {
            for (Path entry : entries) {
                String name = entry.getFileName().toString();
                // A directory p=… without a queue: a process was killed while it created this partition.
                if (!name.startsWith("p=") && !name.equals(StagingArea.NAME)) {
                    throw bad(
                            "path",
                            root.toString(),
                            "a directory that holds a queue, or an empty one; this one holds " + name);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the directory " + root + " cannot be read: " + e, e);
        }
    }

    private static IllegalArgumentException bad(String name, String value, String allowed) {
        return new IllegalArgumentException("option " + name + " = " + value + "; allowed: " + allowed);
    }

    private static Map<String, String> like(MmapQueue first, Map<String, String> keys) {
        Map<String, String> all = new HashMap<>(keys);
        Map<String, String> found = first.config().asMap();
        for (String key : INHERITED) {
            if (!key.equals(SinkConfig.CAPACITY_SEGMENTS) || !keys.containsKey(SinkConfig.CAPACITY)) {
                all.putIfAbsent(key, found.get(key));
            }
        }
        return all;
    }

    private static MmapQueue open(Path directory, Map<String, String> keys, Function<QueueConfig, MmapQueue> opener) {
        Map<String, String> all = new HashMap<>(keys);
        all.put(QUEUE_DIR, directory.toString());
        try {
            if (PartitionDirectory.isQueue(directory) || keys.containsKey(MAX_EVENT_SIZE)) {
                return opener.apply(QueueConfig.of(all));
            }
            return openNew(all, opener);
        } catch (ConfigException e) {
            boolean isPath = e.key().equals(QUEUE_DIR);
            if (isPath || keys.containsKey(e.key())) {
                throw new IllegalArgumentException(
                        "option " + (isPath ? Options.PATH : e.key()) + " = " + e.value() + "; allowed: " + e.allowed(),
                        e);
            }
            throw e;
        }
    }

    private static MmapQueue openNew(Map<String, String> keys, Function<QueueConfig, MmapQueue> opener) {
        Map<String, String> wide = new HashMap<>(keys);
        wide.put(MAX_EVENT_SIZE, Integer.toString(DEFAULT_MAX_EVENT_SIZE));
        try {
            return opener.apply(QueueConfig.of(wide));
        } catch (ConfigException e) {
            if (!e.key().equals(MAX_EVENT_SIZE)) {
                throw e;
            }
            // The ring has no room for the larger max_event_size.
            return opener.apply(QueueConfig.of(keys));
        }
    }
}
