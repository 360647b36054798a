package org.mmapqueue.spark.read.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import org.apache.spark.sql.connector.read.InputPartition;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.spark.source.OpenPartitions;
import org.mmapqueue.spark.source.ReadablePartition;

/** Splits ranges into input partitions of about equal size, one for each task. Immutable. */
public final class InputPlanner {
    /** The smallest size of a part in bytes: reading it takes as long as starting a task. */
    static final long LEAST_BYTES = 1 << 20;
    /** The smallest size of a part in rows, if only offsets are read. */
    private static final long LEAST_OFFSETS = 1 << 20;
    /** The maximum number of preferred hosts of a task that reads several ranges. */
    private static final int MOST_HOSTS = 3;

    private final int cores;
    private final int minPartitions;
    private final long maxBytes;
    private final boolean skipsDamage;

    /**
     * Makes a planner.
     *
     * @param options options minPartitions, maxPartitionBytes and onDamage
     * @param cores the number of tasks that run at once
     */
    public InputPlanner(ReadOptions options, int cores) {
        this.cores = Math.max(1, cores);
        this.minPartitions = options.minPartitions();
        this.maxBytes = options.maxPartitionBytes();
        this.skipsDamage = options.skipsDamage();
    }

    /**
     * Splits ranges.
     *
     * @param partitions the open queue
     * @param ranges the ranges to read
     * @param stored whether records are read; false if only offsets are
     * @return the parts, in the order of the ranges
     */
    public List<QueueInputPartition> plan(OpenPartitions partitions, List<ReadRange> ranges, boolean stored) {
        long total = 0;
        for (ReadRange each : ranges) {
            total += stored ? partitions.partition(each.partition()).bytes(each.from(), each.to()) : each.records();
        }
        long part = stored ? part(total, maxBytes, LEAST_BYTES) : part(total, Long.MAX_VALUE, LEAST_OFFSETS);
        List<QueueInputPartition> inputs = new ArrayList<>();
        for (ReadRange each : ranges) {
            ReadablePartition partition = partitions.partition(each.partition());
            long[] bounds = stored ? split(partition, each, part) : even(each, part);
            for (int i = 1; i < bounds.length; i++) {
                inputs.add(input(partition, bounds[i - 1], bounds[i]));
            }
        }
        return inputs;
    }

    /**
     * Splits ranges, and puts small ones together: many partitions with few new records each need few tasks. The order
     * of a partition's records is kept.
     *
     * @param partitions the open queue
     * @param ranges the ranges to read
     * @param stored whether records are read; false if only offsets are
     * @return the input of each task
     */
    public List<InputPartition> planPacked(OpenPartitions partitions, List<ReadRange> ranges, boolean stored) {
        List<QueueInputPartition> inputs = plan(partitions, ranges, stored);
        int least = minPartitions > 0 ? minPartitions : cores;
        if (inputs.size() <= least) {
            return List.copyOf(inputs);
        }
        ToLongFunction<QueueInputPartition> bytes =
                each -> stored ? partitions.partition(each.location().id()).bytes(each.from(), each.to()) : 0;
        List<InputPartition> packed = new ArrayList<>();
        for (List<QueueInputPartition> task : new TaskPacking(maxBytes, least).pack(inputs, bytes)) {
            packed.add(task.size() == 1 ? task.get(0) : new PackedInputPartition(task, hosts(task, bytes)));
        }
        return packed;
    }

    /** The hosts that hold the most bytes of a task, as of Spark's file sources. */
    private static List<String> hosts(List<QueueInputPartition> task, ToLongFunction<QueueInputPartition> bytes) {
        Map<String, Long> held = new TreeMap<>();
        for (QueueInputPartition each : task) {
            each.hosts().forEach(host -> held.merge(host, bytes.applyAsLong(each), Long::sum));
        }
        return held.entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
                .limit(MOST_HOSTS)
                .map(Map.Entry::getKey)
                .toList();
    }

    private QueueInputPartition input(ReadablePartition partition, long from, long to) {
        return new QueueInputPartition(
                partition.location(from, to),
                partition.queueId(),
                partition.hosts(from, to),
                from,
                to,
                skipsDamage,
                partition.mayHaveLost(from, to));
    }

    private long[] split(ReadablePartition partition, ReadRange range, long part) {
        try {
            return partition.split(range.from(), range.to(), part);
        } catch (CorruptException e) {
            if (skipsDamage) {
                return new long[] {range.from(), range.to()};
            }
            throw e;
        }
    }

    /** The size of a part: enough parts to keep all cores busy, within the smallest and the largest size. */
    private long part(long total, long most, long least) {
        long parts = Math.max(1, ceiling(total, most));
        if (minPartitions > 0) {
            parts = Math.max(parts, minPartitions);
        } else {
            parts = Math.max(parts, Math.min(cores, ceiling(total, least)));
            parts = parts > cores ? ceiling(parts, cores) * cores : parts;
        }
        return Math.max(1, ceiling(total, parts));
    }

    private static long ceiling(long number, long by) {
        return number / by + (number % by == 0 ? 0 : 1);
    }

    private static long[] even(ReadRange range, long part) {
        int parts = (int) ceiling(range.records(), part);
        long[] bounds = new long[parts + 1];
        for (int i = 0; i < parts; i++) {
            bounds[i] = range.from() + i * part;
        }
        bounds[parts] = range.to();
        return bounds;
    }
}
