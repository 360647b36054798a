package org.mmapqueue.metrics;

import static org.mmapqueue.metrics.Metric.Kind.COUNTER;
import static org.mmapqueue.metrics.Metric.Kind.GAUGE;
import static org.mmapqueue.metrics.Metric.Kind.HISTOGRAM;
import static org.mmapqueue.metrics.Metric.KnownTo.ALL;
import static org.mmapqueue.metrics.Metric.KnownTo.ALL_OF_CONSUMER;
import static org.mmapqueue.metrics.Metric.KnownTo.OWNER;
import static org.mmapqueue.metrics.Metric.KnownTo.WRITER;
import static org.mmapqueue.metrics.Metric.KnownTo.WRITER_OF_CONSUMER;
import static org.mmapqueue.metrics.Metric.Unit.BYTES;
import static org.mmapqueue.metrics.Metric.Unit.COUNT;
import static org.mmapqueue.metrics.Metric.Unit.RATIO;
import static org.mmapqueue.metrics.Metric.Unit.RECORDS;
import static org.mmapqueue.metrics.Metric.Unit.SECONDS;

import java.util.stream.DoubleStream;

/**
 * Every metric of a queue, with the same name in all outputs. Counters start at 0 when a process opens the queue or the
 * consumer; in a process that does not write the queue, counters of positions start at its first call.
 */
public enum Metric {
    /** Pushed records. */
    PUSHED_RECORDS(COUNTER, RECORDS, ALL, "pushed_records_total", "Records pushed."),
    /** Pushed bytes. */
    PUSHED_BYTES(
            COUNTER,
            BYTES,
            ALL,
            "pushed_bytes_total",
            "Bytes of the log that pushes have used, headers and padding included."),
    /** Retained records. */
    RETAINED_RECORDS(GAUGE, RECORDS, ALL, "retained_records", "Records from the log start to the log end."),
    /** Used bytes of the ring. */
    USED_BYTES(
            GAUGE,
            BYTES,
            ALL,
            "used_bytes",
            "Bytes of the ring that no push may use, as some consumer has not acked them."),
    /** Bytes of the ring. */
    CAPACITY_BYTES(GAUGE, BYTES, ALL, "capacity_bytes", "Bytes of the ring, headers included."),
    /** Used part of the ring. */
    FILL(GAUGE, RATIO, ALL, "fill_ratio", "Used part of the ring, from 0 to 1."),
    /** Bytes that are not durable. */
    UNSYNCED_BYTES(GAUGE, BYTES, ALL, "unsynced_bytes", "Bytes of the log that are not known to be durable."),
    /** Mapped bytes. */
    MAPPED_BYTES(
            GAUGE, BYTES, ALL, "mapped_bytes", "Bytes of the queue that the reporting process has mapped into memory."),
    /** The number of consumers. */
    CONSUMERS(GAUGE, COUNT, ALL, "consumers", "Consumers of the queue, of any process."),
    /** Recoveries. */
    RECOVERIES(GAUGE, COUNT, ALL, "recoveries", "Recoveries after an unclean end since the queue was created."),
    /** The duration of the last open's recovery. */
    RECOVERY_SECONDS(
            GAUGE,
            SECONDS,
            WRITER,
            "recovery_seconds",
            "Duration of the recovery when the queue was opened; 0 after a clean close."),
    /** Bytes cut off by the last open's recovery. */
    RECOVERY_TRUNCATED_BYTES(
            GAUGE,
            BYTES,
            WRITER,
            "recovery_truncated_bytes",
            "Bytes after the last whole record that this recovery has cut off."),
    /** Durations of fsyncs of records. */
    FSYNC_SECONDS(HISTOGRAM, SECONDS, WRITER, "fsync_seconds", "Durations of fsyncs of parts of segments."),
    /** Pushes that waited for room. */
    ROOM_WAITS(COUNTER, COUNT, WRITER, "room_waits_total", "Pushes that were stored after a wait for room."),
    /** Time that pushes waited for room. */
    ROOM_WAIT_SECONDS(
            COUNTER,
            SECONDS,
            WRITER,
            "room_wait_seconds_total",
            "Time that pushes have waited for room, the sum of all threads."),

    /** Popped records. */
    POPPED_RECORDS(
            COUNTER,
            RECORDS,
            ALL_OF_CONSUMER,
            "popped_records_total",
            "Records popped for the first time: what the reading offset has passed."),
    /** Popped bytes. */
    POPPED_BYTES(COUNTER, BYTES, ALL_OF_CONSUMER, "popped_bytes_total", "Bytes of the log of these records."),
    /** Acked records. */
    ACKED_RECORDS(
            COUNTER,
            RECORDS,
            ALL_OF_CONSUMER,
            "acked_records_total",
            "Records acked: what the committed offset has passed."),
    /** Acked bytes. */
    ACKED_BYTES(COUNTER, BYTES, ALL_OF_CONSUMER, "acked_bytes_total", "Bytes of the log of these records."),
    /** Redelivered records. */
    REDELIVERED_RECORDS(
            COUNTER,
            RECORDS,
            OWNER,
            "redelivered_records_total",
            "Deliveries of records that had been delivered before."),
    /** Redelivered bytes. */
    REDELIVERED_BYTES(COUNTER, BYTES, OWNER, "redelivered_bytes_total", "Payload bytes of these deliveries."),
    /** Dead-lettered records. */
    DEAD_LETTERED_RECORDS(
            COUNTER, RECORDS, OWNER, "dead_lettered_records_total", "Records moved to the dead-letter queue."),
    /** Dead-lettered bytes. */
    DEAD_LETTERED_BYTES(COUNTER, BYTES, OWNER, "dead_lettered_bytes_total", "Payload bytes of these records."),
    /** Dropped records. */
    DROPPED_RECORDS(
            COUNTER,
            RECORDS,
            WRITER_OF_CONSUMER,
            "dropped_records_total",
            "Records dropped for the consumer by max_consumer_lag or max_age."),
    /** Dropped bytes. */
    DROPPED_BYTES(COUNTER, BYTES, WRITER_OF_CONSUMER, "dropped_bytes_total", "Bytes of the log of these records."),
    /** Damaged records. */
    DAMAGED_RECORDS(
            COUNTER, RECORDS, OWNER, "damaged_records_total", "Damaged records skipped by the consumer (on_damage)."),
    /** Lag in records. */
    LAG_RECORDS(
            GAUGE,
            RECORDS,
            ALL_OF_CONSUMER,
            "lag_records",
            "Records that are not acked; for a consumer that another process owns, those from its committed offset"
                    + " on."),
    /** Lag in records that the ring has given up. */
    ARCHIVED_LAG_RECORDS(
            GAUGE,
            RECORDS,
            ALL_OF_CONSUMER,
            "archived_lag_records",
            "Records that are not acked, and that the ring has given up: the consumer reads them in the archive."),
    /** Lag in bytes. */
    LAG_BYTES(
            GAUGE, BYTES, ALL_OF_CONSUMER, "lag_bytes", "Bytes of the log from the committed position to the log end."),
    /** The age of the oldest record that is not acked. */
    OLDEST_UNACKED_AGE(
            GAUGE,
            SECONDS,
            ALL_OF_CONSUMER,
            "oldest_unacked_age_seconds",
            "Age of the first record that is not acked; 0 without one, or without timestamps."),
    /** Records in flight. */
    IN_FLIGHT_RECORDS(
            GAUGE,
            RECORDS,
            ALL_OF_CONSUMER,
            "in_flight_records",
            "Records popped, and neither acked nor requeued, prefetched ones included.");

    /** The prefix of each name, except in MBeans and Spark's gauges, which have a prefix of their own. */
    public static final String PREFIX = "mmapqueue_";

    /** The kinds of metrics that Prometheus knows. */
    public enum Kind {
        /** Only grows, from 0. */
        COUNTER,
        /** Any number. */
        GAUGE,
        /** Counts by duration. */
        HISTOGRAM
    }

    /** What a metric counts. */
    public enum Unit {
        /** Records. */
        RECORDS,
        /** Bytes. */
        BYTES,
        /** Seconds. */
        SECONDS,
        /** A part of 1. */
        RATIO,
        /** Something else that is counted in whole numbers. */
        COUNT
    }

    /** The processes that know a figure; in others it is absent. */
    enum KnownTo {
        ALL,
        WRITER,
        ALL_OF_CONSUMER,
        WRITER_OF_CONSUMER,
        OWNER
    }

    private final Kind kind;
    private final Unit unit;
    private final KnownTo knownTo;
    private final String shortName;
    private final String help;

    Metric(Kind kind, Unit unit, KnownTo knownTo, String shortName, String help) {
        this.kind = kind;
        this.unit = unit;
        this.knownTo = knownTo;
        this.shortName = shortName;
        this.help = help;
    }

    /** {@return the kind} */
    public Kind kind() {
        return kind;
    }

    /** {@return the unit} */
    public Unit unit() {
        return unit;
    }

    /** {@return the name, with the prefix} */
    public String fullName() {
        return PREFIX + shortName;
    }

    /** {@return the name without the prefix} */
    public String shortName() {
        return shortName;
    }

    /** {@return a sentence on what it counts} */
    public String help() {
        return help;
    }

    /** {@return whether each consumer has a value of its own} */
    public boolean isOfConsumer() {
        return knownTo.ordinal() >= KnownTo.ALL_OF_CONSUMER.ordinal();
    }

    /** {@return whether only the process that writes the queue knows it} */
    public boolean isWritersAlone() {
        return knownTo == KnownTo.WRITER || knownTo == KnownTo.WRITER_OF_CONSUMER;
    }

    /** {@return whether only the process that owns the consumer knows it} */
    public boolean isOwnersAlone() {
        return knownTo == KnownTo.OWNER;
    }

    /**
     * Combines the values of several consumers.
     *
     * @param values a value for each consumer
     * @return the sum; for a lag or an age, the maximum; 0 without consumers
     */
    public double together(DoubleStream values) {
        boolean isSum = kind == Kind.COUNTER || this == IN_FLIGHT_RECORDS;
        return isSum ? values.sum() : values.max().orElse(0);
    }
}
