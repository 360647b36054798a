package org.mmapqueue.spark.work;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.read.plan.ReadOptions;

/**
 * The validated options of a query. Immutable.
 *
 * @param id the query, for the calls of its handler
 * @param path the queue's directory, or that of its partitions
 * @param consumer the consumer that pops
 * @param maxRecords the maximum number of records of a micro-batch
 * @param maxBytes the maximum number of payload bytes of a micro-batch; the first record may be larger
 * @param retryMicros the delay of a record without one of its own, in µs; -1 for one that grows with the attempts
 * @param reading the options of tasks
 */
record WorkOptions(
        String id, Path path, String consumer, int maxRecords, long maxBytes, long retryMicros, ReadOptions reading) {
    /** The delay after the first attempt, its maximum, and the attempts up to which it doubles. */
    private static final long FIRST_RETRY_MICROS = 100_000;

    private static final long LONGEST_RETRY_MICROS = 60_000_000;
    private static final int MOST_DOUBLINGS = 20;

    static WorkOptions of(Options options) {
        Map<String, String> reading = new HashMap<>();
        reading.put("consumer", options.text("consumer", "default"));
        if (options.isSet("minPartitions")) {
            reading.put("minPartitions", options.text("minPartitions", null));
        }
        ReadOptions read = ReadOptions.of(new Options(reading), new Options(Map.of()));
        return new WorkOptions(
                options.text("id", ""),
                options.path(),
                read.consumer(),
                (int) Math.min(Integer.MAX_VALUE, options.number("maxRecords", 10_000, 1)),
                options.bytes("maxBytes", 64L << 20),
                options.number("retryMicros", -1, -1),
                read);
    }

    /** The delay of redelivery of a record, in µs: by default that of the Python module's {@code process}. */
    long retryMicros(int attempts) {
        if (retryMicros >= 0) {
            return retryMicros;
        }
        int doublings = Math.min(Math.max(0, attempts - 1), MOST_DOUBLINGS);
        return Math.min(LONGEST_RETRY_MICROS, FIRST_RETRY_MICROS << doublings);
    }

    @Override
    public String toString() {
        return "mmapqueue " + path + " (work of consumer " + consumer + ")";
    }
}
