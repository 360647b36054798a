package org.mmapqueue.config;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.mmapqueue.concurrent.WaitStrategy;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.io.RealPath;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;

/**
 * The settings of an open queue: values that were set, else those of the directory, else the defaults. Immutable.
 *
 * @param geometry the ring
 * @param maxInMemSegments the maximum number of segments mapped at once
 * @param flushPeriodMillis the maximum time until a record is fsynced, in ms
 * @param flushCeilingNum the number of unsynced records that starts a flush
 * @param maxEventSize the largest payload, in bytes
 * @param timestamps whether records get timestamps
 * @param v1RecoverWriting whether recovery of version 1 ends at the writing position instead of the recovery point
 * @param readOnly whether another process writes
 * @param delivery limits and leases of the consumers of this process
 * @param maxConsumerLag bytes of the log that a consumer may lag; 0 for no limit
 * @param maxAgeMillis age in ms from which records are dropped that are not acked; 0 for no limit
 * @param retention how many acked records are retained
 * @param gcOnIdleMillis ms without a push after which free files are deleted; 0 for never
 * @param waiting how threads wait
 * @param fileMode permissions of new files, in octal digits
 * @param archiving where records are shipped to
 * @param given the keys that were set
 */
public record Settings(
        Geometry geometry,
        int maxInMemSegments,
        long flushPeriodMillis,
        int flushCeilingNum,
        int maxEventSize,
        boolean timestamps,
        boolean v1RecoverWriting,
        boolean readOnly,
        Delivery delivery,
        long maxConsumerLag,
        long maxAgeMillis,
        Retention retention,
        long gcOnIdleMillis,
        WaitStrategy waiting,
        String fileMode,
        Archiving archiving,
        ConfigValues given) {

    /**
     * How a consumer treats records that are not acked, and damaged records.
     *
     * @param maxUnacked the maximum number of records from the first unacked one to the last popped one
     * @param visibilityMillis visibility timeout in ms; 0 for none
     * @param maxAttempts the maximum number of deliveries of a record; 0 for no limit
     * @param deadLetterDir the dead-letter queue, or null
     * @param skipsDamage whether damaged records are skipped instead of thrown
     */
    public record Delivery(
            int maxUnacked, long visibilityMillis, int maxAttempts, Path deadLetterDir, boolean skipsDamage) {
        static Delivery of(ConfigValues config) {
            int maxAttempts = (int) config.number(ConfigKey.MAX_ATTEMPTS);
            String directory = config.text(ConfigKey.DEAD_LETTER_DIR);
            if (maxAttempts > 0 == directory.isEmpty()) {
                throw new ConfigException(
                        maxAttempts > 0 ? "dead_letter_dir" : "max_attempts",
                        maxAttempts > 0 ? directory : Integer.toString(maxAttempts),
                        "both set, or neither: records delivered max_attempts times go to dead_letter_dir");
            }
            if (!directory.isEmpty() && isSame(Path.of(directory), config.queueDir())) {
                throw new ConfigException("dead_letter_dir", directory, "another directory than the queue's own");
            }
            return new Delivery(
                    (int) config.number(ConfigKey.MAX_UNACKED),
                    config.number(ConfigKey.VISIBILITY_TIMEOUT),
                    maxAttempts,
                    directory.isEmpty() ? null : Path.of(directory),
                    config.text(ConfigKey.ON_DAMAGE).equals("skip"));
        }

        /** The real path of a dead-letter directory, without symbolic links. */
        public static Path realPath(Path deadLetters) {
            try {
                return RealPath.of(deadLetters);
            } catch (IOException e) {
                throw new ConfigException(
                        "dead_letter_dir", deadLetters.toString(), "the path of a directory that can be reached: " + e);
            }
        }

        private static boolean isSame(Path deadLetters, Path queueDir) {
            return realPath(deadLetters).equals(realPath(queueDir));
        }
    }

    /**
     * How many acked records are retained.
     *
     * @param millis age in ms up to which acked records are retained; 0 for no limit by age
     * @param bytes bytes before the log end that are retained although acked; 0 for no limit by size
     */
    public record Retention(long millis, long bytes) {
        boolean isOff() {
            return millis == 0 && bytes == 0;
        }
    }

    /**
     * The archive into which durable records are shipped, and how.
     *
     * @param uri the archive's directory; empty for nowhere
     * @param host the name under which this host is registered there; empty for the machine's host name
     * @param codec the compression of runs: none or zstd
     * @param retainMillis age in ms from which runs are deleted that every query has committed; 0 for never
     * @param periodMillis ms between two runs while there are records
     * @param bytes bytes of records that are shipped before the period is over
     * @param overflows whether the ring gives up shipped records that consumers need: they read these in the archive
     */
    public record Archiving(
            String uri, String host, String codec, long retainMillis, long periodMillis, int bytes, boolean overflows) {
        private static final List<ConfigKey> OPTIONS = List.of(
                ConfigKey.ARCHIVE_HOST,
                ConfigKey.ARCHIVE_CODEC,
                ConfigKey.ARCHIVE_RETAIN,
                ConfigKey.SHIP_PERIOD,
                ConfigKey.SHIP_BYTES,
                ConfigKey.OVERFLOW);

        /** Keys that would drop records before they are shipped. */
        private static final List<ConfigKey> DROPPING = List.of(ConfigKey.MAX_CONSUMER_LAG, ConfigKey.MAX_AGE);

        /** Where a ring overflows, max_age deletes in the archive. */
        private static final List<ConfigKey> DROPPING_OVERFLOW = List.of(ConfigKey.MAX_CONSUMER_LAG);

        static Archiving of(ConfigValues config, Format format) {
            String uri = config.text(ConfigKey.ARCHIVE_URI);
            boolean isOn = !uri.isEmpty();
            boolean overflows = config.text(ConfigKey.OVERFLOW).equals("archive");
            for (ConfigKey each : !isOn ? OPTIONS : overflows ? DROPPING_OVERFLOW : DROPPING) {
                if (!config.text(each).equals(each.defaultText())) {
                    throw new ConfigException(
                            each.keyName(),
                            config.text(each),
                            isOn
                                    ? each.defaultText() + " with archive_uri: records would be dropped before they are"
                                            + " shipped"
                                    : "nothing without archive_uri");
                }
            }
            if (isOn && !format.hasNamedConsumers()) {
                throw new ConfigException("archive_uri", uri, "none in format version 1, which stores no offsets");
            }
            if (isOn && Locations.isIn(uri, config.queueDir())) {
                throw new ConfigException("archive_uri", uri, "a directory that is not the queue's, nor below it");
            }
            if (overflows) {
                checkAbandons(config);
            }
            if (overflows && config.flag(ConfigKey.READ_ONLY)) {
                throw new ConfigException(
                        ConfigKey.OVERFLOW.keyName(),
                        "archive",
                        "wait with read_only = true: the process that writes decides what the ring gives up");
            }
            return new Archiving(
                    uri,
                    config.text(ConfigKey.ARCHIVE_HOST),
                    config.text(ConfigKey.ARCHIVE_CODEC),
                    config.number(ConfigKey.ARCHIVE_RETAIN),
                    config.number(ConfigKey.SHIP_PERIOD),
                    (int) config.number(ConfigKey.SHIP_BYTES),
                    overflows);
        }

        // The age from which the archive keeps nothing for a consumer of the queue.
        private static void checkAbandons(ConfigValues config) {
            long maxAge = config.number(ConfigKey.MAX_AGE);
            long retain = config.number(ConfigKey.ARCHIVE_RETAIN);
            if (maxAge > 0 && (retain == 0 || maxAge < retain)) {
                throw new ConfigException(
                        ConfigKey.MAX_AGE.keyName(),
                        config.text(ConfigKey.MAX_AGE),
                        "0 or at least archive_retain, which is "
                                + (retain == 0 ? "0: the archive deletes nothing" : retain + " ms"));
            }
        }

        public boolean isOn() {
            return !uri.isEmpty();
        }
    }

    /** Returns the settings for a directory that holds no queue yet. */
    public static Settings forNew(ConfigValues config) {
        Geometry geometry = Sizing.ofNew(config);
        return of(
                config,
                geometry,
                Sizing.maxEventSize(config, geometry),
                geometry.format().hasTimestamps() && config.flag(ConfigKey.TIMESTAMPS));
    }

    /**
     * What another configuration of this queue says of its archive.
     *
     * @throws ConfigException when a value is not allowed
     */
    public Archiving archivingOf(ConfigValues config) {
        return Archiving.of(config, geometry.format());
    }

    /**
     * Returns the settings for a directory that holds a queue.
     *
     * @throws ConfigException when a set key differs from the value that the queue was created with
     */
    public static Settings forExisting(ConfigValues config, MetaFields found) {
        checkSame(config, ConfigKey.FORMAT_VERSION, found.version());
        checkSame(config, ConfigKey.SEGMENT_SIZE, found.segmentSize());
        checkSame(config, ConfigKey.QUEUE_CAPACITY_SEGMENTS, found.capacity());
        if (config.isSet(ConfigKey.CAPACITY) && !Sizing.isCapacity(config, found.segmentSize(), found.capacity())) {
            throw new ConfigException(
                    "capacity",
                    config.text(ConfigKey.CAPACITY),
                    "the queue in " + config.queueDir() + " was made with "
                            + (long) found.segmentSize() * found.capacity() + " (" + found.capacity() + " segments of "
                            + found.segmentSize() + ")");
        }
        Geometry geometry = new Geometry(Format.of(found.version()), found.segmentSize(), found.capacity());
        int maxEventSize = config.isSet(ConfigKey.MAX_EVENT_SIZE)
                ? (int) config.number(ConfigKey.MAX_EVENT_SIZE)
                : found.maxEventSize();
        boolean timestamps =
                config.isSet(ConfigKey.TIMESTAMPS) ? config.flag(ConfigKey.TIMESTAMPS) : found.timestamps();
        return of(config, geometry, maxEventSize, geometry.format().hasTimestamps() && timestamps);
    }

    private static Settings of(ConfigValues config, Geometry geometry, int maxEventSize, boolean timestamps) {
        Format format = geometry.format();
        if (!format.hasTimestamps() && config.isSet(ConfigKey.TIMESTAMPS) && config.flag(ConfigKey.TIMESTAMPS)) {
            throw new ConfigException("timestamps", "true", "false in format version 1, which stores none");
        }
        Retention retention = new Retention(config.number(ConfigKey.RETAIN_MS), config.number(ConfigKey.RETAIN_BYTES));
        checkAge(ConfigKey.RETAIN_MS, retention.millis, timestamps);
        long maxAgeMillis = config.number(ConfigKey.MAX_AGE);
        checkAge(ConfigKey.MAX_AGE, maxAgeMillis, timestamps);
        if (!format.hasSegmentHeaders() && config.text(ConfigKey.ON_DAMAGE).equals("skip")) {
            throw new ConfigException(
                    "on_damage", "skip", "error in format version 1, which has no checksums to find damage by");
        }
        long maxConsumerLag = config.number(ConfigKey.MAX_CONSUMER_LAG);
        if (!format.hasRetention() && (maxConsumerLag > 0 || !retention.isOff())) {
            throw new ConfigException(
                    maxConsumerLag > 0 ? "max_consumer_lag" : "retain_bytes",
                    Long.toString(Math.max(maxConsumerLag, retention.bytes)),
                    "0 in format version 1");
        }
        boolean tight = format.reservesLargestRecord() && geometry.capacity() <= geometry.margin(maxEventSize);
        if (maxEventSize > Sizing.room(geometry) || tight) {
            throw new ConfigException(
                    "max_event_size",
                    Integer.toString(maxEventSize),
                    "less than what a ring of " + geometry.capacity() + " segments of " + geometry.segmentSize()
                            + " bytes has room for");
        }
        return new Settings(
                geometry,
                Sizing.maxInMemSegments(config, geometry),
                config.number(ConfigKey.FLUSH_PERIOD),
                (int) config.number(ConfigKey.FLUSH_CEILING_NUM),
                maxEventSize,
                timestamps,
                config.text(ConfigKey.V1_RECOVER).equals("writing"),
                config.flag(ConfigKey.READ_ONLY),
                Delivery.of(config),
                maxConsumerLag,
                maxAgeMillis,
                retention,
                config.number(ConfigKey.GC_ON_IDLE),
                WaitStrategy.valueOf(config.text(ConfigKey.WAIT_STRATEGY).toUpperCase(Locale.ROOT)),
                config.text(ConfigKey.FILE_MODE),
                Archiving.of(config, format),
                config);
    }

    private static void checkAge(ConfigKey key, long millis, boolean timestamps) {
        if (millis > 0 && !timestamps) {
            throw new ConfigException(
                    key.keyName(),
                    Long.toString(millis),
                    "0, or timestamps = true: without them the age of a record is not known");
        }
    }

    private static void checkSame(ConfigValues config, ConfigKey key, long found) {
        if (config.isSet(key) && config.number(key) != found) {
            throw new ConfigException(
                    key.keyName(), config.text(key), "the queue in " + config.queueDir() + " was made with " + found);
        }
    }

    /**
     * Whether a set key agrees with these settings. A capacity may be smaller by less than one segment, as it is
     * rounded up.
     */
    public boolean isInEffect(ConfigKey key, ConfigValues config) {
        return key == ConfigKey.CAPACITY
                ? Sizing.isCapacity(config, geometry.segmentSize(), geometry.capacity())
                : config.text(key).equals(asConfig(config.queueDir()).text(key));
    }

    /** The configuration with every key set. */
    public ConfigValues asConfig(Path queueDir) {
        ConfigValues all = ConfigValues.of(queueDir);
        for (ConfigKey key : ConfigKey.values()) {
            all = all.with(key, given.text(key));
        }
        return all.with(ConfigKey.CAPACITY, (long) geometry.segmentSize() * geometry.capacity())
                .with(ConfigKey.SEGMENT_SIZE, geometry.segmentSize())
                .with(ConfigKey.MAX_IN_MEM_SEGMENTS, maxInMemSegments)
                .with(ConfigKey.QUEUE_CAPACITY_SEGMENTS, geometry.capacity())
                .with(ConfigKey.MAX_EVENT_SIZE, maxEventSize)
                .with(ConfigKey.TIMESTAMPS, Boolean.toString(timestamps))
                .with(ConfigKey.FORMAT_VERSION, geometry.format().version());
    }
}
