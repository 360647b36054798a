package org.mmapqueue.spark.read.task;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.mmapqueue.spark.read.plan.Backlog;

/** Metrics of a scan in the SQL tab. Spark instantiates them by class name. */
public final class ScanMetrics {
    private ScanMetrics() {}

    /** Records read, including those that a filter on their timestamp has dropped. */
    public static final class Records extends CustomSumMetric {
        static final String NAME = "recordsRead";

        /** Called by Spark, by reflection. */
        public Records() {}

        @Override
        public String name() {
            return NAME;
        }

        @Override
        public String description() {
            return "records read";
        }
    }

    /** Payload bytes read. */
    public static final class Bytes extends CustomSumMetric {
        static final String NAME = "bytesRead";

        /** Called by Spark, by reflection. */
        public Bytes() {}

        @Override
        public String name() {
            return NAME;
        }

        @Override
        public String description() {
            return "payload bytes read";
        }
    }

    /** Records that were not retained any more. */
    public static final class Dropped extends CustomSumMetric {
        static final String NAME = "recordsDropped";

        /** Called by Spark, by reflection. */
        public Dropped() {}

        @Override
        public String name() {
            return NAME;
        }

        @Override
        public String description() {
            return "records not retained any more";
        }
    }

    /** Records skipped because of damage. */
    public static final class Damaged extends CustomSumMetric {
        static final String NAME = "recordsDamaged";

        /** Called by Spark, by reflection. */
        public Damaged() {}

        @Override
        public String name() {
            return NAME;
        }

        @Override
        public String description() {
            return "records skipped because of damage";
        }
    }

    /** Segments read; a segment that two tasks read counts twice. */
    public static final class Segments extends CustomSumMetric {
        static final String NAME = "segmentsRead";

        /** Called by Spark, by reflection. */
        public Segments() {}

        @Override
        public String name() {
            return NAME;
        }

        @Override
        public String description() {
            return "segments read";
        }
    }

    /** The total wait of tasks for read permits, in ms. */
    public static final class MemoryWait extends CustomSumMetric {
        static final String NAME = "memoryWaitMs";

        /** Called by Spark, by reflection. */
        public MemoryWait() {}

        @Override
        public String name() {
            return NAME;
        }

        @Override
        public String description() {
            return "ms waited for a segment in memory";
        }
    }

    /** The total wait of tasks for new records, in ms; in real-time mode only. */
    public static final class RecordWait extends CustomSumMetric {
        static final String NAME = "recordWaitMs";

        /** Called by Spark, by reflection. */
        public RecordWait() {}

        @Override
        public String name() {
            return NAME;
        }

        @Override
        public String description() {
            return "ms waited for records";
        }
    }

    /** Records behind a micro-batch, when it was planned. */
    public static final class LagRecords extends CustomSumMetric {
        static final String NAME = "lagRecords";

        /** Called by Spark, by reflection. */
        public LagRecords() {}

        @Override
        public String name() {
            return NAME;
        }

        @Override
        public String description() {
            return "lag in records";
        }
    }

    /** Bytes of the log behind a micro-batch, when it was planned. */
    public static final class LagBytes extends CustomSumMetric {
        static final String NAME = "lagBytes";

        /** Called by Spark, by reflection. */
        public LagBytes() {}

        @Override
        public String name() {
            return NAME;
        }

        @Override
        public String description() {
            return "lag in bytes";
        }
    }

    /** The age of the oldest record behind a micro-batch, when it was planned, in ms. */
    public static final class LagAge extends CustomSumMetric {
        static final String NAME = "lagAgeMs";

        /** Called by Spark, by reflection. */
        public LagAge() {}

        @Override
        public String name() {
            return NAME;
        }

        @Override
        public String description() {
            return "lag in ms";
        }
    }

    private record Value(String name, long value) implements CustomTaskMetric {}

    /**
     * The metrics of a scan.
     *
     * @param streaming whether a query with a lag scans
     * @return the metrics for Spark
     */
    public static CustomMetric[] all(boolean streaming) {
        List<CustomMetric> all = new ArrayList<>(List.of(
                new Records(),
                new Bytes(),
                new Dropped(),
                new Damaged(),
                new Segments(),
                new MemoryWait(),
                new RecordWait()));
        if (streaming) {
            all.addAll(List.of(new LagRecords(), new LagBytes(), new LagAge()));
        }
        return all.toArray(CustomMetric[]::new);
    }

    /**
     * The values of a task.
     *
     * @param figures the task's figures
     * @return the values for Spark
     */
    public static CustomTaskMetric[] values(ScanFigures figures) {
        List<CustomTaskMetric> values = new ArrayList<>(List.of(
                new Value(Records.NAME, figures.records()),
                new Value(Bytes.NAME, figures.bytes()),
                new Value(Dropped.NAME, figures.dropped()),
                new Value(Damaged.NAME, figures.damaged()),
                new Value(Segments.NAME, figures.segments()),
                new Value(MemoryWait.NAME, figures.memoryWaitMillis()),
                new Value(RecordWait.NAME, figures.recordWaitMillis())));
        Backlog lag = figures.lag();
        if (lag != null) {
            values.add(new Value(LagRecords.NAME, lag.records()));
            values.add(new Value(LagBytes.NAME, lag.bytes()));
            values.add(new Value(LagAge.NAME, TimeUnit.MICROSECONDS.toMillis(lag.ageMicros())));
        }
        return values.toArray(CustomTaskMetric[]::new);
    }
}
