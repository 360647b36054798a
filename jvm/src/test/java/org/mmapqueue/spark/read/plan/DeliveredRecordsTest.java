package org.mmapqueue.spark.read.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** The records of a micro-batch of work: where they are, and their attempts. */
class DeliveredRecordsTest {
    private static DeliveredRecords delivered(Map<Long, Integer> first) {
        return new DeliveredRecords(Map.of(3, new TreeMap<>(first), 1, new TreeMap<>(Map.of(7L, 2))));
    }

    @Test
    void aRecordHasItsAttempts() {
        DeliveredRecords records = delivered(Map.of(5L, 1, 6L, 1, 7L, 3, 9L, 3));
        int[] expected = {0, 1, 1, 3, 0, 3, 0};
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], records.attempts(3, 4 + i), "offset " + (4 + i));
        }
        assertEquals(2, records.attempts(1, 7));
        assertEquals(0, records.attempts(1, 5));
        assertEquals(0, records.attempts(2, 7));
    }

    @Test
    void runsThatAreCloseShareARange() {
        DeliveredRecords records = delivered(Map.of(0L, 2, 1000L, 2, 1001L, 1, 5000L, 1));
        assertEquals(
                List.of(new ReadRange(1, 7, 8), new ReadRange(3, 0, 1002), new ReadRange(3, 5000, 5001)),
                records.ranges());
    }

    @Test
    void noRecordsHaveNoRange() {
        assertEquals(List.of(), new DeliveredRecords(Map.of()).ranges());
    }
}
