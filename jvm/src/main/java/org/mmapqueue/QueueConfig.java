package org.mmapqueue;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.mmapqueue.config.ConfigKey;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.errors.ConfigException;

/**
 * What a queue is opened with. Immutable.
 *
 * <p>A key that is not set is taken from the directory when there is a queue in it, else from the defaults. A key that
 * is set must agree with the directory (segment_size, queue_capacity_segments, format_version); an open with another
 * value throws. Sizes may be written as "128k" or "16m". docs/reference/configuration.md has all keys, defaults and
 * ranges.
 */
public final class QueueConfig {
    /** Where a queue lies whose queue_dir is not set: Satellite's default, relative to the working directory. */
    public static final String DEFAULT_QUEUE_DIR = "satellite-mmap-queue";

    private final ConfigValues values;

    QueueConfig(ConfigValues values) {
        this.values = values;
    }

    /**
     * Begins a configuration.
     *
     * @param queueDir the directory of the queue; made at open when it is not there
     * @return a builder with nothing else set
     */
    public static Builder builder(Path queueDir) {
        return new Builder(Objects.requireNonNull(queueDir, "queueDir"));
    }

    /**
     * Begins a configuration of the queue in {@link #DEFAULT_QUEUE_DIR}.
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
     * The keys that there are besides queue_dir.
     *
     * @return what each counts as when it is not set, by key
     */
    public static Map<String, String> defaults() {
        Map<String, String> defaults = new LinkedHashMap<>();
        for (ConfigKey key : ConfigKey.values()) {
            defaults.put(key.keyName(), key.defaultText());
        }
        return defaults;
    }

    /**
     * Where the queue lies.
     *
     * @return the directory
     */
    public Path queueDir() {
        return values.queueDir();
    }

    /**
     * The keys that are set, with their values in normal form.
     *
     * @return keys as in docs/reference/configuration.md, queue_dir included
     */
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

    /** Sets keys one by one; a value out of range raises {@link ConfigException} at once. Not thread-safe. */
    public static final class Builder {
        private ConfigValues values;

        private Builder(Path queueDir) {
            this.values = ConfigValues.of(queueDir);
        }

        private Builder set(ConfigKey key, String text) {
            values = values.with(key, text);
            return this;
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
         * The most segments that are mapped at once.
         *
         * @param segments at least 4; less is raised to 4
         * @return this
         */
        public Builder maxInMemSegments(int segments) {
            return set(ConfigKey.MAX_IN_MEM_SEGMENTS, Integer.toString(segments));
        }

        /**
         * Segments in the ring: what the queue can hold at most.
         *
         * @param segments at least 2
         * @return this
         */
        public Builder queueCapacitySegments(int segments) {
            return set(ConfigKey.QUEUE_CAPACITY_SEGMENTS, Integer.toString(segments));
        }

        /**
         * The longest that a record waits to be fsynced to the disk.
         *
         * @param millis milliseconds, at least 1
         * @return this
         */
        public Builder flushPeriodMillis(long millis) {
            return set(ConfigKey.FLUSH_PERIOD, Long.toString(millis));
        }

        /**
         * The most records that wait to be fsynced to the disk before a flush is begun.
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
         * Whether each record stores when it was pushed (8 bytes).
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
         * Up to where a version 1 directory is taken for whole after its writer was killed.
         *
         * @param position "watermark" as Satellite does, or "writing" when the machine itself stayed up
         * @return this
         */
        public Builder v1Recover(String position) {
            return set(ConfigKey.V1_RECOVER, position);
        }

        /**
         * Whether the directory is opened to be read beside the process that writes it.
         *
         * @param only true to pop and ack, as the owner of a consumer, and push nothing
         * @return this
         */
        public Builder readOnly(boolean only) {
            return set(ConfigKey.READ_ONLY, Boolean.toString(only));
        }

        /**
         * How far a consumer may pop ahead of its first record that is not acked.
         *
         * @param records 1 to 1073741824
         * @return this
         */
        public Builder maxUnacked(int records) {
            return set(ConfigKey.MAX_UNACKED, Integer.toString(records));
        }

        /**
         * When a record that was popped, and neither acked nor nacked, is popped again.
         *
         * @param millis milliseconds after it was popped; 0 for never
         * @return this
         */
        public Builder visibilityTimeoutMillis(long millis) {
            return set(ConfigKey.VISIBILITY_TIMEOUT, Long.toString(millis));
        }

        /**
         * How often a record is handed out before it goes to the dead-letter queue.
         *
         * @param attempts times, with deadLetterDir set; 0 for without end
         * @return this
         */
        public Builder maxAttempts(int attempts) {
            return set(ConfigKey.MAX_ATTEMPTS, Integer.toString(attempts));
        }

        /**
         * The queue that takes records which were handed out max_attempts times and never acked.
         *
         * @param directory another queue's directory; made when it is needed first
         * @return this
         */
        public Builder deadLetterDir(Path directory) {
            return set(ConfigKey.DEAD_LETTER_DIR, directory.toString());
        }

        /**
         * How far a consumer may be behind before records are dropped for it.
         *
         * @param bytes of the log, between its first record that is not acked and the end; 0 for without end
         * @return this
         */
        public Builder maxConsumerLag(long bytes) {
            return set(ConfigKey.MAX_CONSUMER_LAG, Long.toString(bytes));
        }

        /**
         * For how long acked records stay to be read again, while the ring has room.
         *
         * @param millis milliseconds since they were pushed; 0 when time is no reason to keep or drop them
         * @return this
         */
        public Builder retainMillis(long millis) {
            return set(ConfigKey.RETAIN_MS, Long.toString(millis));
        }

        /**
         * How much of the log stays to be read again though it is acked, while the ring has room.
         *
         * @param bytes of the log, up to its end; 0 when size is no reason to keep or drop it
         * @return this
         */
        public Builder retainBytes(long bytes) {
            return set(ConfigKey.RETAIN_BYTES, Long.toString(bytes));
        }

        /**
         * When ring files that hold nothing are given back to the disk without being asked for.
         *
         * @param millis milliseconds without a push; 0 for never
         * @return this
         */
        public Builder gcOnIdleMillis(long millis) {
            return set(ConfigKey.GC_ON_IDLE, Long.toString(millis));
        }

        /**
         * How a thread waits for a record or for room.
         *
         * @param strategy "spin" (a whole core), "backoff" (spins for a moment, then sleeps) or "park" (sleeps)
         * @return this
         */
        public Builder waitStrategy(String strategy) {
            return set(ConfigKey.WAIT_STRATEGY, strategy);
        }

        /**
         * Who may read and write the files that are made, whatever the umask is.
         *
         * @param octal "600" (the owner alone), "640", "644", "660", "664" or "666"; directories get the right to
         *     enter with the right to read
         * @return this
         */
        public Builder fileMode(String octal) {
            return set(ConfigKey.FILE_MODE, octal);
        }

        /**
         * The configuration.
         *
         * @return an immutable configuration
         */
        public QueueConfig build() {
            return new QueueConfig(values);
        }
    }
}
