package org.mmapqueue.soak;

import java.util.Arrays;
import java.util.TreeMap;

/**
 * Counts what the threads of one consumer pop: no offset is missing or comes twice, and along the offsets each
 * producer's numbers are 0, 1, 2, … Any number of threads; what is popped ahead of another thread's part waits for it.
 */
final class SoakCounter {
    /** The key of a record: the producer in its upper bits, the number below. */
    static final int NUMBER_BITS = 48;

    private final String name;
    private final long[] numbers;
    private final TreeMap<Long, long[]> ahead = new TreeMap<>();
    private long next;

    /**
     * Nothing is counted yet.
     *
     * @param name the consumer's
     * @param producers how many there are
     */
    SoakCounter(String name, int producers) {
        this.name = name;
        this.numbers = new long[producers];
    }

    static long key(int producer, long number) {
        return (long) producer << NUMBER_BITS | number;
    }

    /**
     * Takes records that follow each other.
     *
     * @param first the offset of the first one
     * @param keys their keys
     * @return the offset before which every record has been counted
     * @throws IllegalStateException when one is missing, doubled, or out of order
     */
    synchronized long count(long first, long[] keys) {
        Long before = ahead.floorKey(first + keys.length - 1);
        boolean overlaps = before != null && before + ahead.get(before).length > first;
        if (first < next || overlaps) {
            throw new IllegalStateException("consumer " + name + ": " + first + ".." + (first + keys.length - 1)
                    + " come twice; counted are those before " + next + ", and " + ahead.keySet());
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
        int producer = (int) (key >>> NUMBER_BITS);
        long number = key & (1L << NUMBER_BITS) - 1;
        if (number != numbers[producer]) {
            throw new IllegalStateException("consumer " + name + ", offset " + next + ": number " + number
                    + " of producer " + producer + " comes, " + numbers[producer] + " was to come");
        }
        numbers[producer]++;
        next++;
    }

    synchronized long counted() {
        return next;
    }

    /**
     * Compares with what was pushed, at the end.
     *
     * @param pushed how many, by producer
     * @throws IllegalStateException when it is not the same
     */
    synchronized void require(long[] pushed) {
        if (!ahead.isEmpty() || !Arrays.equals(numbers, pushed)) {
            throw new IllegalStateException("consumer " + name + " has counted " + Arrays.toString(numbers)
                    + ", and ahead of it " + ahead.keySet() + "; pushed were " + Arrays.toString(pushed));
        }
    }
}
