package org.mmapqueue.spark.read.plan;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SortedSet;
import java.util.stream.Collectors;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.PartitionOffsets;
import org.mmapqueue.spark.source.OpenPartitions;
import org.mmapqueue.spark.source.ReadablePartition;

/** Resolves starting and ending offsets of options in each partition. Thread-safe. */
public final class OffsetRanges {
    /**
     * The consumer that "committed" refers to if option consumer is not given. If it does not exist, the log start is
     * used.
     */
    public static final String DEFAULT_CONSUMER = "default";

    private OffsetRanges() {}

    /**
     * Resolves the start. An explicit offset is returned even if it is not retained any more. If data loss is not an
     * error, an offset after the log end becomes the log end.
     *
     * @param partitions the open queue
     * @param options the options of the read
     * @param consumer the consumer that "committed" refers to
     * @return the first offset by partition
     * @throws IllegalArgumentException if an option does not fit this queue
     */
    public static PartitionOffsets starts(OpenPartitions partitions, ReadOptions options, String consumer) {
        return options.startingTimestamp().isPresent()
                ? at(
                        partitions,
                        ReadOptions.STARTING_TIMESTAMP,
                        options.startingTimestamp().getAsLong(),
                        options.skipsDamage())
                : offsets(partitions, options.startingOffsets(), consumer, options);
    }

    /**
     * Resolves the end of a batch.
     *
     * @param partitions the open queue
     * @param options the options of the read
     * @param consumer the consumer that "committed" refers to
     * @return the offset after the last record by partition
     * @throws IllegalArgumentException if an option does not fit this queue
     */
    public static PartitionOffsets ends(OpenPartitions partitions, ReadOptions options, String consumer) {
        return options.endingTimestamp().isPresent()
                ? at(
                        partitions,
                        ReadOptions.ENDING_TIMESTAMP,
                        options.endingTimestamp().getAsLong(),
                        options.skipsDamage())
                : offsets(partitions, options.endingOffsets(), consumer, options);
    }

    private static PartitionOffsets offsets(
            OpenPartitions partitions, OffsetSpec spec, String consumer, ReadOptions options) {
        return switch (spec.kind()) {
            case EARLIEST -> partitions.offsets(each -> OverDamage.firstOffset(each, options.skipsDamage()));
            case LATEST -> partitions.latest();
            case COMMITTED -> partitions.offsets(each -> committed(each, consumer, options.skipsDamage()));
            case NUMBER -> {
                if (partitions.count() > 1) {
                    throw Options.bad(
                            spec.option(),
                            spec.text(),
                            "an offset for each partition, as the queue has " + partitions.count() + ", such as {\"0\":"
                                    + spec.number() + ",\"1\":…}");
                }
                yield partitions.offsets(each -> checked(spec, each, spec.number(), options.failOnDataLoss()));
            }
            case EACH -> {
                checkNames(spec, partitions);
                yield partitions.offsets(each -> each(spec, each, options));
            }
        };
    }

    private static void checkNames(OffsetSpec spec, OpenPartitions partitions) {
        SortedSet<Integer> wanted = partitions.ids();
        if (!spec.each().map().keySet().equals(wanted)) {
            throw Options.bad(
                    spec.option(),
                    spec.text(),
                    "an offset for each of the partitions that the queue has: "
                            + wanted.stream().map(String::valueOf).collect(Collectors.joining(", ")));
        }
    }

    private static long each(OffsetSpec spec, ReadablePartition partition, ReadOptions options) {
        long offset = spec.each().of(partition.id(), OffsetSpec.EARLIEST);
        if (offset == OffsetSpec.EARLIEST) {
            return OverDamage.firstOffset(partition, options.skipsDamage());
        }
        return offset == OffsetSpec.LATEST
                ? partition.endOffset()
                : checked(spec, partition, offset, options.failOnDataLoss());
    }

    private static long checked(OffsetSpec spec, ReadablePartition partition, long offset, boolean failOnDataLoss) {
        long end = partition.endOffset();
        if (offset > end && !failOnDataLoss) {
            DataLoss.found(
                    false,
                    partition.id(),
                    partition.path(),
                    end,
                    offset,
                    "the log ends with offset " + end + " (option " + spec.option() + ")");
            return end;
        }
        if (offset > end) {
            throw Options.bad(
                    spec.option(),
                    spec.text(),
                    "at most " + end + " in partition " + partition.id() + ", which ends there, in "
                            + partition.path());
        }
        return offset;
    }

    private static long committed(ReadablePartition partition, String consumer, boolean skipsDamage) {
        Map<String, Long> all = partition.committedOffsets();
        if (all.containsKey(consumer)) {
            return all.get(consumer);
        }
        if (consumer.equals(DEFAULT_CONSUMER)) {
            return OverDamage.firstOffset(partition, skipsDamage);
        }
        throw Options.bad(
                ReadOptions.CONSUMER,
                consumer,
                "a consumer that partition " + partition.id() + " has, in " + partition.path() + ": "
                        + String.join(", ", all.keySet()));
    }

    private static PartitionOffsets at(OpenPartitions partitions, String option, long micros, boolean skipsDamage) {
        return partitions.offsets(partition -> {
            try {
                OptionalLong found =
                        OverDamage.find(partition, Instant.EPOCH.plus(micros, ChronoUnit.MICROS), skipsDamage);
                return found.isPresent() ? found.getAsLong() : partition.endOffset();
            } catch (ConfigException e) {
                throw new IllegalArgumentException(
                        "option " + option + ": partition " + partition.id() + " stores no timestamps"
                                + " (timestamps = false), in "
                                + partition.path(),
                        e);
            }
        });
    }
}
