package org.mmapqueue.spark.read.task;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** What the SQL tab shows of a scan. Spark makes the metrics anew by their classes' names. */
public final class ScanMetrics {
    private ScanMetrics() {}

    /** Records that were read, those that a filter on their time has dropped included. */
    public static final class Records extends CustomSumMetric {
        static final String NAME = "recordsRead";

        /** Made by Spark. */
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

    /** Bytes of payload that were read. */
    public static final class Bytes extends CustomSumMetric {
        static final String NAME = "bytesRead";

        /** Made by Spark. */
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

    /** Records that were not there any more. */
    public static final class Lost extends CustomSumMetric {
        static final String NAME = "recordsLost";

        /** Made by Spark. */
        public Lost() {}

        @Override
        public String name() {
            return NAME;
        }

        @Override
        public String description() {
            return "records not retained any more";
        }
    }

    /** Segments that tasks have read in: one that two tasks share counts twice. */
    public static final class Segments extends CustomSumMetric {
        static final String NAME = "segmentsRead";

        /** Made by Spark. */
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

    /** Ms that tasks have waited until a segment could be kept in memory. */
    public static final class MemoryWait extends CustomSumMetric {
        static final String NAME = "memoryWaitMs";

        /** Made by Spark. */
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

    /** Ms that tasks have waited for records that were not pushed yet: in real-time mode alone. */
    public static final class RecordWait extends CustomSumMetric {
        static final String NAME = "recordWaitMs";

        /** Made by Spark. */
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
     * @return what Spark is told of them
     */
    public static CustomMetric[] all() {
        return new CustomMetric[] {
            new Records(), new Bytes(), new Lost(), new Segments(), new MemoryWait(), new RecordWait()
        };
    }

    /**
     * What a task has counted.
     *
     * @param records records read
     * @param bytes bytes of payload read
     * @param lost records that were not there any more
     * @param segments segments that were read in
     * @param memoryWait ms waited until a segment could be kept in memory
     * @param recordWait ms waited for records that were not there yet
     * @return their values
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
}
