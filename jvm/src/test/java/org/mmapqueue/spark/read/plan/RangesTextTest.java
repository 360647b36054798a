package org.mmapqueue.spark.read.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Ranges, as plans show them. */
class RangesTextTest {
    @Test
    void aFewRangesAreNamed() {
        assertEquals("[]", RangesText.of(List.of()));
        assertEquals(
                "[0: 12..39, 7: 5..5, 9: 3..]",
                RangesText.of(List.of(
                        new ReadRange(0, 12, 40), new ReadRange(7, 5, 6), new ReadRange(9, 3, Long.MAX_VALUE))));
    }

    @Test
    void manyRangesAreCounted() {
        List<ReadRange> ranges =
                IntStream.range(0, 1000).mapToObj(id -> new ReadRange(id, 0, 2)).toList();
        assertEquals(
                "[0: 0..1, 1: 0..1, 2: 0..1, 3: 0..1, 4: 0..1, 5: 0..1, 6: 0..1, 7: 0..1, and 992 more]",
                RangesText.of(ranges));
        assertEquals("[0: 0..1]", RangesText.of(ranges.subList(0, 1)));
    }
}
