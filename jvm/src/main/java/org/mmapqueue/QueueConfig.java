package org.mmapqueue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.mmapqueue.config.ConfigKey;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.ConfigException;

/**
 * The configuration with which a queue is opened. Immutable.
 *
 * <p>A key that is not set takes its value from the directory if it holds a queue, else from the defaults. Of the keys
 * that the directory determines (capacity, segment_size, queue_capacity_segments, format_version), a set key must agree
 * with it; otherwise the open throws. Sizes may be written as "128k" or "16m". docs/reference/configuration.md has all
 * keys, defaults and ranges.
 */
public final class QueueConfig {
    /** The default of queue_dir: Satellite's default, relative to the working directory. */
    public static final String DEFAULT_QUEUE_DIR = "satellite-mmap-queue";

    private final ConfigValues values;

    QueueConfig(ConfigValues values) {
        this.values = values;
    }

    /**
     * Starts a configuration.
     *
     * @param queueDir the directory of the queue; created at open if it does not exist
     * @return a builder with nothing else set
     */
    public static Builder builder(Path queueDir) {
        return new Builder(Objects.requireNonNull(queueDir, "queueDir"));
    }

    /**
     * Starts a configuration of the queue in {@link #DEFAULT_QUEUE_DIR}.
     *
     * @return a builder with nothing set
     */
    public static Builder builder() {
        return builder(Path.of(DEFAULT_QUEUE_DIR));
    }

    /**
     * A configuration from keys and values as text.
     *
     * @param options keys as in docs/reference/configuration.md; without queue_dir it is {@link #DEFAULT_QUEUE_DIR}
     * @return the configuration
     * @throws ConfigException for an unknown key, an empty queue_dir or a value out of range
     */
    public static QueueConfig of(Map<String, String> options) {
        return new QueueConfig(ConfigValues.of(options, DEFAULT_QUEUE_DIR));
    }

    /**
     * Returns the defaults: what a new queue has when no key is set. With {@code capacity} alone, segment_size,
     * queue_capacity_segments, max_in_mem_segments and max_event_size follow from it.
     *
     * @return the default of each key except queue_dir
     */
    public static Map<String, String> defaults() {
        Path directory = Path.of(DEFAULT_QUEUE_DIR);
        Map<String, String> defaults = new LinkedHashMap<>(
                Settings.forNew(ConfigValues.of(directory)).asConfig(directory).asMap());
        defaults.remove("queue_dir");
        return defaults;
    }

    /** {@return the directory of the queue, queue_dir} */
    public Path queueDir() {
        return values.queueDir();
    }

    /** {@return the keys that are set, queue_dir included, with their values in normal form} */
    public Map<String, String> asMap() {
        return values.asMap();
    }

    ConfigValues values() {
        return values;
    }

    @Override
    public String toString() {
        return asMap().toString();
    }

    /** Sets keys one by one; a value out of range throws {@link ConfigException} at once. Not thread-safe. */
    public static final class Builder extends ArchiveSettings<Builder> {
        private ConfigValues values;

        private Builder(Path queueDir) {
            this.values = ConfigValues.of(queueDir);
        }

        @Override
        Builder set(ConfigKey key, String text) {
            values = values.with(key, text);
            return this;
        }

        /**
         * Bytes of the ring: the maximum content of the queue, and the maximum disk space of its segments. The size and the
         * number of segments, the limit of mapped segments and the largest payload are derived from it unless they are
         * set.
         *
         * @param bytes 8192 to 2^60; rounded up to whole segments. The default is 512 MiB
         * @return this
         */
        public Builder capacity(long bytes) {
            return set(ConfigKey.CAPACITY, Long.toString(bytes));
        }

        /**
         * Bytes of the ring, as {@link #capacity(long)}.
         *
         * @param size such as 512m or 4g
         * @return this
         */
        public Builder capacity(String size) {
            return set(ConfigKey.CAPACITY, size);
        }

        /**
         * Bytes of each segment file.
         *
         * @param bytes 4096 to 1 GiB; rounded down to a multiple of 4096
         * @return this
         */
        public Builder segmentSize(long bytes) {
            return set(ConfigKey.SEGMENT_SIZE, Long.toString(bytes));
        }

        /**
         * Bytes of each segment file.
         *
         * @param size 4k to 1g; rounded down to a multiple of 4096
         * @return this
         */
        public Builder segmentSize(String size) {
            return set(ConfigKey.SEGMENT_SIZE, size);
        }

        /**
         * The maximum number of segments mapped at once.
         *
         * @param segments at least 4; less is raised to 4
         * @return this
         */
        public Builder maxInMemSegments(int segments) {
            return set(ConfigKey.MAX_IN_MEM_SEGMENTS, Integer.toString(segments));
        }

        /**
         * Number of segments in the ring, which bounds what the queue holds.
         *
         * @param segments at least 2
         * @return this
         */
        public Builder queueCapacitySegments(int segments) {
            return set(ConfigKey.QUEUE_CAPACITY_SEGMENTS, Integer.toString(segments));
        }

        /**
         * The maximum time until a record is fsynced.
         *
         * @param period at least 1 ms; like every duration here, rounded up to whole milliseconds
         * @return this
         */
        public Builder flushPeriod(Duration period) {
            return set(ConfigKey.FLUSH_PERIOD, period);
        }

        /**
         * The number of unsynced records that starts a flush.
         *
         * @param records at least 1
         * @return this
         */
        public Builder flushCeilingNum(int records) {
            return set(ConfigKey.FLUSH_CEILING_NUM, Integer.toString(records));
        }

        /**
         * The largest payload of a record.
         *
         * @param bytes 1 to 134217727
         * @return this
         */
        public Builder maxEventSize(long bytes) {
            return set(ConfigKey.MAX_EVENT_SIZE, Long.toString(bytes));
        }

        /**
         * The largest payload of a record.
         *
         * @param size such as 20k
         * @return this
         */
        public Builder maxEventSize(String size) {
            return set(ConfigKey.MAX_EVENT_SIZE, size);
        }

        /**
         * Whether each record stores when it was pushed. It takes no more space.
         *
         * @param stored true to store it
         * @return this
         */
        public Builder timestamps(boolean stored) {
            return set(ConfigKey.TIMESTAMPS, Boolean.toString(stored));
        }

        /**
         * The format of a new directory.
         *
         * @param version 2, or 1 for the format of Apache SkyWalking Satellite
         * @return this
         */
        public Builder formatVersion(int version) {
            return set(ConfigKey.FORMAT_VERSION, Integer.toString(version));
        }

        /**
         * The position up to which recovery keeps the records of a version 1 directory after its writer was killed.
         *
         * @param position "watermark" as in Satellite, or "writing" if the machine did not lose power
         * @return this
         */
        public Builder v1Recover(String position) {
            return set(ConfigKey.V1_RECOVER, position);
        }

        /**
         * Whether the queue is opened without the right to push, while another process may write it.
         *
         * @param only true to only pop, ack and read
         * @return this
         */
        public Builder readOnly(boolean only) {
            return set(ConfigKey.READ_ONLY, Boolean.toString(only));
        }

        /**
         * The maximum number of records that a consumer may pop beyond its first unacked one.
         *
         * @param records 1 to 1073741824
         * @return this
         */
        public Builder maxUnacked(int records) {
            return set(ConfigKey.MAX_UNACKED, Integer.toString(records));
        }

        /**
         * The lease of a popped record. Without an ack or a nack the record is redelivered when the lease ends.
         *
         * @param lease the time after it was popped; zero for never
         * @return this
         */
        public Builder visibilityTimeout(Duration lease) {
            return set(ConfigKey.VISIBILITY_TIMEOUT, lease);
        }

        /**
         * How often a record is delivered before it goes to the dead-letter queue.
         *
         * @param attempts deliveries, with deadLetterDir set; 0 for no limit
         * @return this
         */
        public Builder maxAttempts(int attempts) {
            return set(ConfigKey.MAX_ATTEMPTS, Integer.toString(attempts));
        }

        /**
         * The dead-letter queue: it gets records that were delivered max_attempts times and never acked.
         *
         * @param directory another queue's directory; created when a record needs it
         * @return this
         */
        public Builder deadLetterDir(Path directory) {
            return set(ConfigKey.DEAD_LETTER_DIR, directory.toString());
        }

        /**
         * The lag above which records are dropped for a consumer.
         *
         * @param bytes from its committed position to the log end; 0 for no limit
         * @return this
         */
        public Builder maxConsumerLag(long bytes) {
            return set(ConfigKey.MAX_CONSUMER_LAG, Long.toString(bytes));
        }

        /**
         * The age from which records are dropped for a consumer that has not acked them. Needs timestamps. Where the ring
         * overflows into its archive, the age from which that keeps them no longer; at least the archive's own age then.
         *
         * @param age zero for no limit
         * @return this
         */
        public Builder maxAge(Duration age) {
            return set(ConfigKey.MAX_AGE, age);
        }

        /**
         * What a consumer does at a damaged record: {@code error} throws CorruptException, {@code skip} continues after
         * the damage, logs it, and lists it ({@link Consumer#damagedRanges}).
         *
         * @param action {@code error} or {@code skip}
         * @return this
         */
        public Builder onDamage(String action) {
            return set(ConfigKey.ON_DAMAGE, action);
        }

        /**
         * How long acked records are retained while the ring has space.
         *
         * @param age the time since the push; zero for no rule by age
         * @return this
         */
        public Builder retain(Duration age) {
            return set(ConfigKey.RETAIN_MS, age);
        }

        /**
         * How many acked bytes are retained while the ring has space.
         *
         * @param bytes of the log, up to its end; 0 for no rule by size
         * @return this
         */
        public Builder retainBytes(long bytes) {
            return set(ConfigKey.RETAIN_BYTES, Long.toString(bytes));
        }

        /**
         * When ring files without retained records are deleted.
         *
         * @param idle the time without pushes and acks; zero for never
         * @return this
         */
        public Builder gcOnIdle(Duration idle) {
            return set(ConfigKey.GC_ON_IDLE, idle);
        }

        /**
         * How a thread waits for a record or for space.
         *
         * @param strategy "spin" (a whole core), "backoff" (spins for a moment, then sleeps) or "park" (sleeps)
         * @return this
         */
        public Builder waitStrategy(String strategy) {
            return set(ConfigKey.WAIT_STRATEGY, strategy);
        }

        /**
         * The permissions of new files, independent of the umask.
         *
         * @param octal "600" (the owner alone), "640", "644", "660", "664" or "666"; directories also get
         *     execute for each read
         * @return this
         */
        public Builder fileMode(String octal) {
            return set(ConfigKey.FILE_MODE, octal);
        }

        /** {@return an immutable configuration with the keys that were set} */
        public QueueConfig build() {
            return new QueueConfig(values);
        }
    }
}
