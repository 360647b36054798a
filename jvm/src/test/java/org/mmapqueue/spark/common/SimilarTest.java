package org.mmapqueue.spark.common;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Which word a misspelt one may stand for. */
class SimilarTest {
    private static final List<String> NAMES =
            List.of("startingOffsets", "endingOffsets", "segment_size", "sync", "key");

    @Test
    void isTheNearestOne() {
        assertEquals(Optional.of("startingOffsets"), Similar.to("startingOfset", NAMES));
        assertEquals(Optional.of("endingOffsets"), Similar.to("endingoffset", NAMES));
        assertEquals(Optional.of("segment_size"), Similar.to("segmentSise", NAMES));
        assertEquals(Optional.of("sync"), Similar.to("sinc", NAMES));
    }

    @Test
    void isNoneFarAway() {
        assertEquals(Optional.empty(), Similar.to("colour", NAMES));
        assertEquals(Optional.empty(), Similar.to("", NAMES));
        assertEquals(Optional.empty(), Similar.to("kyes", NAMES));
    }
}
