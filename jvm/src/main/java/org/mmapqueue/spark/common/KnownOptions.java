package org.mmapqueue.spark.common;

import static org.mmapqueue.spark.common.OptionUse.BATCH_READ;
import static org.mmapqueue.spark.common.OptionUse.BATCH_WRITE;
import static org.mmapqueue.spark.common.OptionUse.CREATE;
import static org.mmapqueue.spark.common.OptionUse.REAL_TIME_READ;
import static org.mmapqueue.spark.common.OptionUse.REAL_TIME_WRITE;
import static org.mmapqueue.spark.common.OptionUse.STREAM_READ;
import static org.mmapqueue.spark.common.OptionUse.STREAM_WRITE;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.config.Similar;

/**
 * The known options and the uses that each affects. An option without effect is an error that names it: a misspelt
 * option, an option for another use, or one of another source. The error does not show the option's value, which may be
 * a password. Thread-safe.
 */
public final class KnownOptions {
    /** All reads except in real-time mode. */
    public static final Set<OptionUse> READS = Set.copyOf(EnumSet.of(BATCH_READ, STREAM_READ));
    /** All writes except in real-time mode. */
    public static final Set<OptionUse> WRITES = Set.copyOf(EnumSet.of(BATCH_WRITE, STREAM_WRITE));
    /** All uses. */
    public static final Set<OptionUse> ALL = Set.copyOf(EnumSet.allOf(OptionUse.class));

    /** Known options by normalized name. */
    private static final Map<String, Known> KNOWN = new HashMap<>();
    /** Options that Spark handles itself and passes on, by normalized name; they are ignored. */
    private static final Map<String, Known> OF_SPARK = new HashMap<>();
    /** Replacements for options of Kafka's source, by normalized name. */
    private static final Map<String, String> OF_KAFKA = new HashMap<>();
    /** Replacements for other options, by normalized name. */
    private static final Map<String, String> OTHERS = new HashMap<>();

    private static final String KAFKA_PREFIX = "kafka.";
    private static final String NOTHING = "none is needed, as there are no servers";
    private static final String ONE_QUEUE = "path, and filter on the column partition";

    private record Known(String name, Set<OptionUse> uses) {}

    static {
        known(ALL, Options.PATH);
        known(EnumSet.of(BATCH_READ, STREAM_READ, REAL_TIME_READ), "startingOffsets", "startingTimestamp", "consumer");
        known(EnumSet.of(BATCH_READ, STREAM_READ, REAL_TIME_READ, STREAM_WRITE, REAL_TIME_WRITE), "failOnDataLoss");
        known(READS, "minPartitions", "maxPartitionBytes");
        known(EnumSet.of(BATCH_READ), "endingOffsets", "endingTimestamp");
        known(
                EnumSet.of(STREAM_READ),
                "maxOffsetsPerTrigger",
                "minOffsetsPerTrigger",
                "maxTriggerDelay",
                "maxBytesPerTrigger");
        known(WRITES, "key");
        known(EnumSet.of(BATCH_WRITE, STREAM_WRITE, REAL_TIME_WRITE), "sync", "pushTimeout");
        known(EnumSet.of(BATCH_WRITE, STREAM_WRITE, CREATE), Options.PARTITIONS);
        Set<OptionUse> making = EnumSet.of(BATCH_WRITE, STREAM_WRITE, REAL_TIME_WRITE, CREATE);
        known(making, QueueConfig.defaults().keySet().toArray(String[]::new));
        // onDamage is an option of reads and, with the same normalized name, a key of the configuration.
        Set<OptionUse> damage = EnumSet.of(BATCH_READ, STREAM_READ, REAL_TIME_READ);
        damage.addAll(making);
        known(damage, "onDamage");

        // Options that Spark derives from other settings, or handles itself.
        ofSpark(
                EnumSet.of(STREAM_WRITE),
                "checkpointLocation",
                "queryName",
                "asyncProgressTrackingEnabled",
                "asyncProgressTrackingCheckpointIntervalMs",
                "_asyncProgressTrackingOverrideSinkSupportCheck");
        ofSpark(WRITES, "comment", "collation", "location", "provider");

        OF_KAFKA.put("kafka.bootstrap.servers", "path, the queue's directory");
        OF_KAFKA.put("kafka.group.id", "consumer");
        OF_KAFKA.put("kafka.max.request.size", "max_event_size");
        OF_KAFKA.put("kafka.delivery.timeout.ms", "pushTimeout");
        OF_KAFKA.put("kafka.acks", "sync");
        OF_KAFKA.put("subscribe", Options.PATH);
        OF_KAFKA.put("topic", Options.PATH);
        OF_KAFKA.put("subscribePattern", ONE_QUEUE);
        OF_KAFKA.put("assign", ONE_QUEUE);
        OF_KAFKA.put("startingOffsetsByTimestamp", "startingTimestamp");
        OF_KAFKA.put("endingOffsetsByTimestamp", "endingTimestamp");
        OF_KAFKA.put(
                "startingOffsetsByTimestampStrategy",
                "startingTimestamp, which means the log end if no record is as recent");
        OF_KAFKA.put("groupIdPrefix", "consumer");
        OF_KAFKA.put("includeHeaders", "put headers into the column value");
        OF_KAFKA.put("maxRecordsPerPartition", "maxPartitionBytes or minPartitions");
        for (String name :
                List.of("kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs")) {
            OF_KAFKA.put(name, NOTHING);
        }
        OTHERS.put("maxFilesPerTrigger", "is a file source's; use maxOffsetsPerTrigger");
        OTHERS.put("paths", "has no effect here; a source reads one queue: load each and union them");
        OTHERS.put("queue_dir", "has no effect here; use path");
        OTHERS.put("read_only", "has no effect here; reads open a queue read-only, and writes do not");
        OTHERS.put("v1_recover", "has no effect here; queues of format version 1 are not supported");
        List.of(OF_KAFKA, OTHERS).forEach(KnownOptions::makePlain);
        OTHERS.keySet().forEach(KNOWN::remove);
    }

    private KnownOptions() {}

    private static void known(Set<OptionUse> uses, String... names) {
        Arrays.stream(names).forEach(name -> KNOWN.put(Options.plain(name), new Known(name, uses)));
    }

    private static void ofSpark(Set<OptionUse> uses, String... names) {
        Arrays.stream(names).forEach(name -> OF_SPARK.put(Options.plain(name), new Known(name, uses)));
    }

    private static void makePlain(Map<String, String> names) {
        Map<String, String> plain = new HashMap<>();
        names.forEach((name, text) -> plain.put(Options.plain(name), text));
        names.clear();
        names.putAll(plain);
    }

    /**
     * Whether the queue has an option of this name, for any use.
     *
     * @param name in any spelling
     * @return whether the option exists
     */
    public static boolean isKnown(String name) {
        return KNOWN.containsKey(Options.plain(name));
    }

    /**
     * Checks that each option has an effect.
     *
     * @param given options given for this use, without defaults that were set elsewhere
     * @param uses the uses; an option must affect at least one of them
     * @throws IllegalArgumentException if an option has no effect; the message names all of them, the uses of each, and
     *     replacements for options of other sources
     */
    public static void refuseOthers(Options given, Set<OptionUse> uses) {
        List<String> refused = new ArrayList<>();
        for (String name : given.names()) {
            String why = fault(name, uses);
            if (why != null) {
                refused.add("option " + name + " " + why);
            }
        }
        if (!refused.isEmpty()) {
            throw new IllegalArgumentException(String.join("; ", refused));
        }
    }

    private static String fault(String name, Set<OptionUse> uses) {
        // Spark's internal options and its configuration.
        if (name.startsWith("__") || name.startsWith("spark.")) {
            return null;
        }
        String plain = Options.plain(name);
        Known known = KNOWN.getOrDefault(plain, OF_SPARK.get(plain));
        if (known != null) {
            return known.uses().stream().anyMatch(uses::contains) ? null : otherUse(known, uses);
        }
        if (OTHERS.containsKey(plain)) {
            return OTHERS.get(plain);
        }
        if (OF_KAFKA.containsKey(plain) || plain.startsWith(KAFKA_PREFIX)) {
            String instead = OF_KAFKA.getOrDefault(plain, NOTHING);
            boolean isAdvice = instead.startsWith("none ") || instead.startsWith("put ");
            return "is Kafka's; " + (isAdvice ? "" : "use ") + instead;
        }
        List<String> names = KNOWN.values().stream()
                .filter(each -> each.uses().stream().anyMatch(uses::contains))
                .map(Known::name)
                .sorted()
                .toList();
        return "has no effect: there is no such option"
                + Similar.to(name, names)
                        .map(near -> "; did you mean " + near + "?")
                        .orElse("; allowed: " + String.join(", ", names));
    }

    private static String otherUse(Known known, Set<OptionUse> uses) {
        return "has no effect on " + text(uses) + "; it applies to " + text(known.uses());
    }

    private static String text(Set<OptionUse> uses) {
        return Arrays.stream(OptionUse.values())
                .filter(uses::contains)
                .filter(use -> use != CREATE || uses.size() == 1)
                .map(OptionUse::toString)
                .collect(Collectors.joining(", "));
    }
}
