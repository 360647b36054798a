package org.mmapqueue.spark.read.plan;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The records that a consumer of work has popped for a micro-batch, with their attempts: runs of consecutive offsets with
 * equal attempts. Offsets have gaps where records were redelivered. Immutable.
 */
public final class DeliveredRecords implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Records between two runs that are read as well: that takes less time than another opening of the partition. */
    private static final long MOST_BETWEEN = 1024;

    private final TreeMap<Integer, Runs> partitions = new TreeMap<>();

    private record Runs(long[] from, long[] to, int[] attempts) implements Serializable {
        private static final long serialVersionUID = 1L;

        static Runs of(SortedMap<Long, Integer> popped) {
            int count = popped.size();
            Runs all = new Runs(new long[count], new long[count], new int[count]);
            int run = -1;
            for (Map.Entry<Long, Integer> each : popped.entrySet()) {
                long offset = each.getKey();
                int attempts = each.getValue();
                if (run < 0 || all.to[run] != offset || all.attempts[run] != attempts) {
                    run++;
                    all.from[run] = offset;
                    all.attempts[run] = attempts;
                }
                all.to[run] = offset + 1;
            }
            return new Runs(
                    Arrays.copyOf(all.from, run + 1),
                    Arrays.copyOf(all.to, run + 1),
                    Arrays.copyOf(all.attempts, run + 1));
        }

        int attempts(long offset) {
            int found = Arrays.binarySearch(from, offset);
            int run = found >= 0 ? found : -found - 2;
            return run >= 0 && offset < to[run] ? attempts[run] : 0;
        }
    }

    /**
     * Makes the runs.
     *
     * @param popped attempts by offset, for each partition
     */
    public DeliveredRecords(Map<Integer, ? extends SortedMap<Long, Integer>> popped) {
        popped.forEach((id, records) -> partitions.put(id, Runs.of(records)));
    }

    /**
     * The attempts of a record.
     *
     * @param partition the partition's number
     * @param offset the record
     * @return at least 1; 0 for a record that was not popped
     */
    public int attempts(int partition, long offset) {
        Runs runs = partitions.get(partition);
        return runs == null ? 0 : runs.attempts(offset);
    }

    /**
     * The ranges that have all records; runs that are close to each other are in one range.
     *
     * @return the ranges, by partition and offset
     */
    public List<ReadRange> ranges() {
        List<ReadRange> ranges = new ArrayList<>();
        partitions.forEach((id, runs) -> {
            int last = -1;
            for (int i = 0; i < runs.from.length; i++) {
                if (last >= 0 && runs.from[i] - ranges.get(last).to() <= MOST_BETWEEN) {
                    ranges.set(last, new ReadRange(id, ranges.get(last).from(), runs.to[i]));
                } else {
                    last = ranges.size();
                    ranges.add(new ReadRange(id, runs.from[i], runs.to[i]));
                }
            }
        });
        return ranges;
    }
}
