package org.mmapqueue.soak;

import java.util.Arrays;
import java.util.TreeMap;
import org.mmapqueue.harness.TestRecord;

/**
 * Counts what the threads of one consumer pop: each offset exactly once, and for each producer the numbers 0, 1, 2, …
 * in the order of offsets. Records that are popped ahead of another thread's wait for them. Thread-safe.
 */
final class SoakCounter {
    private final String name;
    private final long[] numbers;
    private final TreeMap<Long, long[]> ahead = new TreeMap<>();
    private long next;

    /**
     * Has counted nothing yet.
     *
     * @param name of the consumer
     * @param producers the number of producers
     */
    SoakCounter(String name, int producers) {
        this.name = name;
        this.numbers = new long[producers];
    }

    /**
     * Counts consecutive records.
     *
     * @param first the offset of the first one
     * @param keys their keys
     * @return the offset before which every record has been counted
     * @throws IllegalStateException if one is missing, duplicated, or out of order
     */
    synchronized long count(long first, long[] keys) {
        Long before = ahead.floorKey(first + keys.length - 1);
        boolean overlaps = before != null && before + ahead.get(before).length > first;
        if (first < next || overlaps) {
            throw new IllegalStateException("consumer " + name + ": " + first + ".." + (first + keys.length - 1)
                    + " come twice; counted were those before " + next + ", and " + ahead.keySet());
        }
        ahead.put(first, keys);
        while (!ahead.isEmpty() && ahead.firstKey() == next) {
            for (long key : ahead.pollFirstEntry().getValue()) {
                countOne(key);
            }
        }
        return next;
    }

    private void countOne(long key) {
        int producer = TestRecord.producer(key);
        long number = TestRecord.number(key);
        if (number != numbers[producer]) {
            throw new IllegalStateException("consumer " + name + ", offset " + next + ": number " + number
                    + " of producer " + producer + " comes, expected " + numbers[producer]);
        }
        numbers[producer]++;
        next++;
    }

    synchronized long counted() {
        return next;
    }

    /**
     * Compares the counts with the pushed records, at the end.
     *
     * @param pushed the number of pushed records of each producer
     * @throws IllegalStateException if they differ
     */
    synchronized void require(long[] pushed) {
        if (!ahead.isEmpty() || !Arrays.equals(numbers, pushed)) {
            throw new IllegalStateException("consumer " + name + " has counted " + Arrays.toString(numbers)
                    + ", and ahead of it " + ahead.keySet() + "; pushed were " + Arrays.toString(pushed));
        }
    }
}
