package org.mmapqueue.spark.write.sink;

import java.util.Arrays;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.Write;

/** Metrics of a write in the SQL tab. Spark instantiates them by class name. */
public final class WriteMetrics {
    private static final String RECORDS = "recordsWritten";
    private static final String BYTES = "bytesWritten";
    private static final String SEGMENTS = "segmentsWritten";
    private static final String LOCK_WAIT = "lockWaitMs";
    private static final String ROOM_WAIT = "roomWaitMs";
    private static final String ROOM_WAIT_BEFORE = "roomWaitBeforeMs";
    private static final String COMMIT = "commitMs";

    /** Whether this version of Spark supports metrics of the driver. */
    private static final boolean FROM_DRIVER = Arrays.stream(Write.class.getMethods())
            .anyMatch(each -> each.getName().equals("reportDriverMetrics"));

    private WriteMetrics() {}

    /** Rows staged by tasks. */
    public static final class Records extends CustomSumMetric {
        /** Called by Spark, by reflection. */
        public Records() {}

        @Override
        public String name() {
            return RECORDS;
        }

        @Override
        public String description() {
            return "records written";
        }
    }

    /** Bytes staged by tasks, including framing. */
    public static final class Bytes extends CustomSumMetric {
        /** Called by Spark, by reflection. */
        public Bytes() {}

        @Override
        public String name() {
            return BYTES;
        }

        @Override
        public String description() {
            return "bytes written";
        }
    }

    /** Segments that received rows of the driver's pushes. */
    public static final class Segments extends CustomSumMetric {
        /** Called by Spark, by reflection. */
        public Segments() {}

        @Override
        public String name() {
            return SEGMENTS;
        }

        @Override
        public String description() {
            return "segments written";
        }
    }

    /** The driver's wait for commits of other writes, in ms. */
    public static final class LockWait extends CustomSumMetric {
        /** Called by Spark, by reflection. */
        public LockWait() {}

        @Override
        public String name() {
            return LOCK_WAIT;
        }

        @Override
        public String description() {
            return "ms waited for other commits";
        }
    }

    /** The driver's wait for room in the queue, in ms. */
    public static final class RoomWait extends CustomSumMetric {
        /** Called by Spark, by reflection. */
        public RoomWait() {}

        @Override
        public String name() {
            return ROOM_WAIT;
        }

        @Override
        public String description() {
            return "ms waited for room";
        }
    }

    /** The duration of the commit on the driver, with all waits, in ms. */
    public static final class Commit extends CustomSumMetric {
        /** Called by Spark, by reflection. */
        public Commit() {}

        @Override
        public String name() {
            return COMMIT;
        }

        @Override
        public String description() {
            return "ms of the commit";
        }
    }

    /** The driver's wait for room at the end of the micro-batch before, in ms: Spark takes metrics of a stream from tasks alone. */
    public static final class RoomWaitBefore extends CustomSumMetric {
        /** Called by Spark, by reflection. */
        public RoomWaitBefore() {}

        @Override
        public String name() {
            return ROOM_WAIT_BEFORE;
        }

        @Override
        public String description() {
            return "ms the micro-batch before waited for room";
        }
    }

    private record Value(String name, long value) implements CustomTaskMetric {}

    /** The metrics that Spark supports for a write: a stream has only those of tasks in the SQL tab. */
    public static CustomMetric[] all(boolean streaming) {
        if (streaming) {
            return new CustomMetric[] {new Records(), new Bytes(), new RoomWaitBefore()};
        }
        if (!FROM_DRIVER) {
            return new CustomMetric[] {new Records(), new Bytes()};
        }
        return new CustomMetric[] {
            new Records(), new Bytes(), new Segments(), new LockWait(), new RoomWait(), new Commit()
        };
    }

    /** The driver's values. */
    public static CustomTaskMetric[] of(PushFigures figures) {
        return new CustomTaskMetric[] {
            new Value(SEGMENTS, figures.segments()),
            new Value(LOCK_WAIT, figures.lockWaitMillis()),
            new Value(ROOM_WAIT, figures.roomWaitMillis()),
            new Value(COMMIT, figures.commitMillis())
        };
    }

    /**
     * A task's values.
     *
     * @param roomWaitBeforeMillis the figure of {@link RoomWaitBefore}, if this task reports it; else -1
     */
    public static CustomTaskMetric[] of(long records, long bytes, long roomWaitBeforeMillis) {
        Value recordCount = new Value(RECORDS, records);
        Value byteCount = new Value(BYTES, bytes);
        return roomWaitBeforeMillis < 0
                ? new CustomTaskMetric[] {recordCount, byteCount}
                : new CustomTaskMetric[] {recordCount, byteCount, new Value(ROOM_WAIT_BEFORE, roomWaitBeforeMillis)};
    }
}
