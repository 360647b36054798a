package org.mmapqueue.queue;

import java.nio.file.Path;

import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;

/**
 * The values that an open queue works with: what was set, else what the directory has, else the defaults.
 *
 * @param geometry the ring
 * @param maxInMemSegments segments mapped at most
 * @param flushPeriodMillis in ms
 * @param flushCeilingNum in records
 * @param maxEventSize in bytes
 * @param timestamps whether records get one
 * @param v1RecoverWriting whether a version 1 directory is taken for whole up to its writing position
 * @param readOnly whether another process writes
 */
record Settings(Geometry geometry, int maxInMemSegments, long flushPeriodMillis, int flushCeilingNum, int maxEventSize,
        boolean timestamps, boolean v1RecoverWriting, boolean readOnly) {

    /** For a directory that holds no queue yet. */
    static Settings forNew(QueueConfig config) {
        int version = (int) config.number(ConfigKey.FORMAT_VERSION);
        Geometry geometry = new Geometry(version, (int) config.number(ConfigKey.SEGMENT_SIZE),
                (int) config.number(ConfigKey.QUEUE_CAPACITY_SEGMENTS));
        return of(config, geometry, (int) config.number(ConfigKey.MAX_EVENT_SIZE),
                version == 2 && config.flag(ConfigKey.TIMESTAMPS));
    }

    /**
     * For a directory that holds a queue.
     *
     * @throws ConfigException when a set key differs from what the queue was made with
     */
    static Settings forExisting(QueueConfig config, MetaFields found) {
        refuseOther(config, ConfigKey.FORMAT_VERSION, found.version());
        refuseOther(config, ConfigKey.SEGMENT_SIZE, found.segmentSize());
        refuseOther(config, ConfigKey.QUEUE_CAPACITY_SEGMENTS, found.capacity());
        Geometry geometry = new Geometry(found.version(), found.segmentSize(), found.capacity());
        int maxEventSize = config.isSet(ConfigKey.MAX_EVENT_SIZE) ? (int) config.number(ConfigKey.MAX_EVENT_SIZE)
                : found.maxEventSize();
        boolean timestamps = config.isSet(ConfigKey.TIMESTAMPS) ? config.flag(ConfigKey.TIMESTAMPS)
                : found.timestamps();
        return of(config, geometry, maxEventSize, found.version() == 2 && timestamps);
    }

    private static Settings of(QueueConfig config, Geometry geometry, int maxEventSize, boolean timestamps) {
        if (geometry.version() == 1 && config.isSet(ConfigKey.TIMESTAMPS) && config.flag(ConfigKey.TIMESTAMPS)) {
            throw new ConfigException("timestamps", "true", "false in format version 1, which stores none");
        }
        // One record must fit beside a segment that is not quite acked yet.
        long room = (geometry.capacity() - 1L) * geometry.dataBytes();
        long overhead = 2L * RecordDescriptor.HEADER + RecordDescriptor.HEADER - 1;
        // Satellite keeps room for the largest record free, and a segment more.
        boolean tight = geometry.version() == 1 && geometry.capacity() <= 1 + maxEventSize / geometry.segmentSize();
        if (maxEventSize + overhead > room || tight) {
            throw new ConfigException("max_event_size", Integer.toString(maxEventSize),
                    "less than what a ring of " + geometry.capacity() + " segments of " + geometry.segmentSize()
                            + " bytes has room for");
        }
        return new Settings(geometry, (int) config.number(ConfigKey.MAX_IN_MEM_SEGMENTS),
                config.number(ConfigKey.FLUSH_PERIOD), (int) config.number(ConfigKey.FLUSH_CEILING_NUM), maxEventSize,
                timestamps, config.text(ConfigKey.V1_RECOVER).equals("writing"), config.flag(ConfigKey.READ_ONLY));
    }

    private static void refuseOther(QueueConfig config, ConfigKey key, long found) {
        if (config.isSet(key) && config.number(key) != found) {
            throw new ConfigException(key.keyName(), config.text(key),
                    "the queue in " + config.queueDir() + " was made with " + found);
        }
    }

    /** The configuration with every value said. */
    QueueConfig asConfig(Path queueDir) {
        return QueueConfig.builder(queueDir).segmentSize(geometry.segmentSize()).maxInMemSegments(maxInMemSegments)
                .queueCapacitySegments(geometry.capacity()).flushPeriodMillis(flushPeriodMillis)
                .flushCeilingNum(flushCeilingNum).maxEventSize(maxEventSize).timestamps(timestamps)
                .formatVersion(geometry.version()).v1Recover(v1RecoverWriting ? "writing" : "watermark")
                .readOnly(readOnly).build();
    }
}
