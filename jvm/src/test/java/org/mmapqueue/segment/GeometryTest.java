package org.mmapqueue.segment;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GeometryTest {
    private final Geometry v2 = new Geometry(Format.V2, 4096, 5);
    private final Geometry v1 = new Geometry(Format.V1, 4096, 5);

    @Test
    void version2HasAHeaderInEachSegment() {
        assertEquals(64, v2.dataStart());
        assertEquals(4032, v2.dataBytes());
        assertEquals(0, v1.dataStart());
        assertEquals(4096, v1.dataBytes());
    }

    /** A position at a segment's end belongs to that segment as an end, and to the next one as a beginning. */
    @ParameterizedTest
    @CsvSource({
        "0, 0, -1, 4096",
        "1, 0, 0, 1",
        "4095, 0, 0, 4095",
        "4096, 1, 0, 4096",
        "4097, 1, 1, 1",
        "40960, 10, 9, 4096",
        "41000, 10, 10, 40"
    })
    void positions(long position, long segment, long segmentOfEnd, int byteOfEnd) {
        assertEquals(segment, v2.segmentOf(position));
        assertEquals(segmentOfEnd, v2.segmentOfEnd(position));
        assertEquals(byteOfEnd, v2.byteOfEnd(position));
        assertEquals(position, v2.position(segmentOfEnd, byteOfEnd));
    }

    @Test
    void slotsTurn() {
        assertEquals("0_segment.dat", v2.fileName(0));
        assertEquals("4_segment.dat", v2.fileName(4));
        assertEquals("0_segment.dat", v2.fileName(5));
        assertEquals("2_segment.dat", v2.fileName(5_000_000_002L));
        assertEquals(2, v2.slotOf(5_000_000_002L));
    }

    @Test
    void positionsBeyond32Bits() {
        Geometry large = new Geometry(Format.V2, 1 << 30, 1 << 30);
        long position = large.position(3_000_000_000L, 77);
        assertEquals(3_000_000_000L, large.segmentOf(position));
        assertEquals(77, large.byteOfEnd(position));
    }
}
