package org.mmapqueue.spark.read.plan;

import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.spark.common.OpenPartitions;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.PartitionOffsets;

/** Finds the offsets that options mean, partition by partition. Any number of threads. */
public final class OffsetRanges {
    /**
     * The consumer whose position "committed" means when none is named. When it does not exist, it would begin with the
     * oldest record.
     */
    public static final String DEFAULT_CONSUMER = "default";

    private OffsetRanges() {}

    /**
     * Where to begin. An offset that was named is given as it is: it may be one that is not retained any more. One
     * after the end of the log is that end where data loss is not an error.
     *
     * @param partitions the open queue
     * @param options say it
     * @param consumer the one whose position "committed" means
     * @return the first record's offset by partition
     * @throws IllegalArgumentException when an option does not fit this queue
     */
    public static PartitionOffsets starts(OpenPartitions partitions, ReadOptions options, String consumer) {
        return options.startingTimestamp().isPresent()
                ? at(
                        partitions,
                        ReadOptions.STARTING_TIMESTAMP,
                        options.startingTimestamp().getAsLong())
                : places(partitions, options.startingOffsets(), consumer, options.failOnDataLoss());
    }

    /**
     * Where a batch ends.
     *
     * @param partitions the open queue
     * @param options say it
     * @param consumer the one whose position "committed" means
     * @return the offset behind the last record by partition
     * @throws IllegalArgumentException when an option does not fit this queue
     */
    public static PartitionOffsets ends(OpenPartitions partitions, ReadOptions options, String consumer) {
        return options.endingTimestamp().isPresent()
                ? at(
                        partitions,
                        ReadOptions.ENDING_TIMESTAMP,
                        options.endingTimestamp().getAsLong())
                : places(partitions, options.endingOffsets(), consumer, options.failOnDataLoss());
    }

    private static PartitionOffsets places(
            OpenPartitions partitions, OffsetSpec spec, String consumer, boolean failOnDataLoss) {
        return switch (spec.kind()) {
            case EARLIEST -> partitions.earliest();
            case LATEST -> partitions.latest();
            case COMMITTED -> partitions.offsets((id, queue) -> committed(queue, partitions, id, consumer));
            case NUMBER -> {
                if (partitions.count() > 1) {
                    throw Options.bad(
                            spec.option(),
                            spec.text(),
                            "an offset for each partition, as the queue has " + partitions.count() + ", such as {\"0\":"
                                    + spec.number() + ",\"1\":…}");
                }
                yield partitions.offsets((id, queue) -> checked(spec, partitions, id, spec.number(), failOnDataLoss));
            }
            case EACH -> {
                checkNames(spec, partitions);
                yield partitions.offsets((id, queue) -> each(spec, partitions, id, failOnDataLoss));
            }
        };
    }

    private static void checkNames(OffsetSpec spec, OpenPartitions partitions) {
        List<Integer> wanted =
                partitions.directories().stream().map(each -> each.id()).toList();
        if (!List.copyOf(spec.each().map().keySet()).equals(wanted)) {
            throw Options.bad(
                    spec.option(),
                    spec.text(),
                    "an offset for each of the partitions that the queue has: "
                            + wanted.stream().map(String::valueOf).collect(Collectors.joining(", ")));
        }
    }

    private static long each(OffsetSpec spec, OpenPartitions partitions, int id, boolean failOnDataLoss) {
        MmapQueue queue = partitions.queue(id);
        long offset = spec.each().of(id, OffsetSpec.EARLIEST);
        if (offset == OffsetSpec.EARLIEST) {
            return queue.firstOffset();
        }
        return offset == OffsetSpec.LATEST ? queue.endOffset() : checked(spec, partitions, id, offset, failOnDataLoss);
    }

    private static long checked(
            OffsetSpec spec, OpenPartitions partitions, int id, long offset, boolean failOnDataLoss) {
        long end = partitions.queue(id).endOffset();
        if (offset > end && !failOnDataLoss) {
            DataLoss.found(
                    false,
                    partitions.directories().get(id),
                    end,
                    offset,
                    "the log ends with offset " + end + " (option " + spec.option() + ")");
            return end;
        }
        if (offset > end) {
            throw Options.bad(
                    spec.option(),
                    spec.text(),
                    "at most " + end + " in partition " + id + ", which ends" + " there, in "
                            + partitions.directories().get(id).path());
        }
        return offset;
    }

    private static long committed(MmapQueue queue, OpenPartitions partitions, int id, String consumer) {
        List<ConsumerStats> all = queue.consumerStats();
        for (ConsumerStats each : all) {
            if (each.name().equals(consumer)) {
                return each.committedOffset();
            }
        }
        if (consumer.equals(DEFAULT_CONSUMER)) {
            return queue.firstOffset();
        }
        throw Options.bad(
                ReadOptions.CONSUMER,
                consumer,
                "a consumer that partition " + id + " has, in "
                        + partitions.directories().get(id).path() + ": "
                        + all.stream().map(ConsumerStats::name).collect(Collectors.joining(", ")));
    }

    private static PartitionOffsets at(OpenPartitions partitions, String option, long micros) {
        return partitions.offsets((id, queue) -> {
            try {
                OptionalLong found = queue.find(micros);
                return found.isPresent() ? found.getAsLong() : queue.endOffset();
            } catch (ConfigException e) {
                throw new IllegalArgumentException(
                        "option " + option + ": partition " + id + " stores no timestamps"
                                + " (timestamps = false), in "
                                + partitions.directories().get(id).path(),
                        e);
            }
        });
    }
}
