package org.mmapqueue.spark.write.sink;

import java.util.Arrays;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.Write;

/** What the SQL tab shows of a write. Spark makes the metrics anew by their class names. */
public final class WriteMetrics {
    private static final String RECORDS = "recordsWritten";
    private static final String BYTES = "bytesWritten";
    static final String SEGMENTS = "segmentsWritten";
    static final String LOCK_WAIT = "lockWaitMs";
    static final String ROOM_WAIT = "roomWaitMs";
    static final String COMMIT = "commitMs";

    /** Whether the driver can tell of what it does itself, which older versions of Spark have no way for. */
    private static final boolean FROM_DRIVER = Arrays.stream(Write.class.getMethods())
            .anyMatch(each -> each.getName().equals("reportDriverMetrics"));

    private WriteMetrics() {}

    /** Rows that tasks have staged. */
    public static final class Records extends CustomSumMetric {
        /** Found by its name. */
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

    /** Bytes that tasks have staged, framing included. */
    public static final class Bytes extends CustomSumMetric {
        /** Found by its name. */
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

    /** Segments that the driver has pushed rows into. */
    public static final class Segments extends CustomSumMetric {
        /** Found by its name. */
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

    /** Ms that the driver has waited for other writes of the queue to commit. */
    public static final class LockWait extends CustomSumMetric {
        /** Found by its name. */
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

    /** Ms that the driver has waited for room in the queue. */
    public static final class RoomWait extends CustomSumMetric {
        /** Found by its name. */
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

    /** Ms of the driver's own part, all waits included. */
    public static final class Commit extends CustomSumMetric {
        /** Found by its name. */
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

    private record Value(String name, long value) implements CustomTaskMetric {}

    /** Those of a write, as far as Spark takes them: of a stream's, tasks alone can tell in the SQL tab. */
    public static CustomMetric[] all(boolean streaming) {
        if (streaming || !FROM_DRIVER) {
            return new CustomMetric[] {new Records(), new Bytes()};
        }
        return new CustomMetric[] {
            new Records(), new Bytes(), new Segments(), new LockWait(), new RoomWait(), new Commit()
        };
    }

    /** What the driver has counted. */
    public static CustomTaskMetric[] of(PushFigures figures) {
        return new CustomTaskMetric[] {
            new Value(SEGMENTS, figures.segments()),
            new Value(LOCK_WAIT, figures.lockWaitMillis()),
            new Value(ROOM_WAIT, figures.roomWaitMillis()),
            new Value(COMMIT, figures.commitMillis())
        };
    }

    /** What a task has counted. */
    public static CustomTaskMetric[] of(long records, long bytes) {
        return new CustomTaskMetric[] {new Value(RECORDS, records), new Value(BYTES, bytes)};
    }
}
