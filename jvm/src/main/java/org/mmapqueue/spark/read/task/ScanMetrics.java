package org.mmapqueue.spark.read.task;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

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

    /** Lost records. */
    public static final class Lost extends CustomSumMetric {
        static final String NAME = "recordsLost";

        /** Called by Spark, by reflection. */
        public Lost() {}

        @Override
        public String name() {
            return NAME;
        }

        @Override
        public String description() {
            return "records not retained any more, or skipped because of damage";
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

    private record Value(String name, long value) implements CustomTaskMetric {}

    /**
     * The metrics of every scan.
     *
     * @return the metrics for Spark
     */
    public static CustomMetric[] all() {
        return new CustomMetric[] {
            new Records(), new Bytes(), new Lost(), new Segments(), new MemoryWait(), new RecordWait()
        };
    }

    /**
     * The values of a task.
     *
     * @param records records read
     * @param bytes bytes of payload read
     * @param lost lost records
     * @param segments segments read
     * @param memoryWait wait for read permits, in ms
     * @param recordWait wait for new records, in ms
     * @return the values for Spark
     */
    public static CustomTaskMetric[] values(
            long records, long bytes, long lost, long segments, long memoryWait, long recordWait) {
        return new CustomTaskMetric[] {
            new Value(Records.NAME, records),
            new Value(Bytes.NAME, bytes),
            new Value(Lost.NAME, lost),
            new Value(Segments.NAME, segments),
            new Value(MemoryWait.NAME, memoryWait),
            new Value(RecordWait.NAME, recordWait)
        };
    }

    /** The sums of the values of two ranges, both made by {@link #values}. */
    static CustomTaskMetric[] sum(CustomTaskMetric[] some, CustomTaskMetric[] others) {
        CustomTaskMetric[] sums = new CustomTaskMetric[some.length];
        for (int i = 0; i < sums.length; i++) {
            sums[i] = new Value(some[i].name(), some[i].value() + others[i].value());
        }
        return sums;
    }
}
