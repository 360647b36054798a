package org.mmapqueue.config;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Suggestions for misspelt names. */
class SimilarTest {
    private static final List<String> NAMES =
            List.of("startingOffsets", "endingOffsets", "segment_size", "sync", "key");

    @Test
    void theNearestNameIsFound() {
        assertEquals(Optional.of("startingOffsets"), Similar.to("startingOfset", NAMES));
        assertEquals(Optional.of("endingOffsets"), Similar.to("endingoffset", NAMES));
        assertEquals(Optional.of("segment_size"), Similar.to("segmentSise", NAMES));
        assertEquals(Optional.of("sync"), Similar.to("sinc", NAMES));
    }

    @Test
    void noNameIsFoundFarAway() {
        assertEquals(Optional.empty(), Similar.to("colour", NAMES));
        assertEquals(Optional.empty(), Similar.to("", NAMES));
        assertEquals(Optional.empty(), Similar.to("kyes", NAMES));
    }
}
