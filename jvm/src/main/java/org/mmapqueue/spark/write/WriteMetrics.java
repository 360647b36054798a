package org.mmapqueue.spark.write;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** What the SQL tab shows of a write. Spark makes the metrics anew by their class names. */
public final class WriteMetrics {
    private static final String RECORDS = "recordsWritten";
    private static final String BYTES = "bytesWritten";

    private WriteMetrics() {
    }

    /** Rows that tasks have staged. */
    public static final class Records extends CustomSumMetric {
        /** Found by its name. */
        public Records() {
        }

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
        public Bytes() {
        }

        @Override
        public String name() {
            return BYTES;
        }

        @Override
        public String description() {
            return "bytes written";
        }
    }

    private record Value(String name, long value) implements CustomTaskMetric {
    }

    static CustomMetric[] all() {
        return new CustomMetric[] {new Records(), new Bytes()};
    }

    static CustomTaskMetric[] of(long records, long bytes) {
        return new CustomTaskMetric[] {new Value(RECORDS, records), new Value(BYTES, bytes)};
    }
}
