package org.mmapqueue.spark.read.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.mmapqueue.spark.common.PartitionOffsets;

class IdleAckTest {
    private static final PartitionOffsets ONE = PartitionOffsets.parse("{\"0\":1}");
    private static final PartitionOffsets TWO = PartitionOffsets.parse("{\"0\":2}");

    /** Near the overflow of a clock that may begin anywhere. */
    private long now = Long.MAX_VALUE - TimeUnit.SECONDS.toNanos(20);

    private final IdleAck ack = new IdleAck(() -> now);

    @Test
    void pausesGrowToHalfAMinute() {
        ack.at(ONE);
        assertEquals(List.of(1, 3, 7, 15, 31, 61, 91, 121), dueSeconds(130));
    }

    @Test
    void aNewPositionBeginsAgain() {
        ack.at(ONE);
        dueSeconds(100);
        ack.at(TWO);
        assertEquals(List.of(1, 3, 7), dueSeconds(10));
        assertFalse(ack.isAt(ONE));
        assertTrue(ack.isAt(TWO));
    }

    @Test
    void theSamePositionGoesOn() {
        ack.at(ONE);
        dueSeconds(7);
        ack.at(PartitionOffsets.parse(ONE.json()));
        assertEquals(List.of(8), dueSeconds(10));
    }

    @Test
    void oneLookAtATime() {
        ack.at(ONE);
        ack.begin();
        ack.at(TWO);
        assertEquals(List.of(), dueSeconds(100));
        ack.end();
        assertTrue(ack.isDue());
    }

    @Test
    void nothingIsDueAfterTheAckUntilTheQueryMoves() {
        ack.at(ONE);
        ack.done();
        assertEquals(List.of(), dueSeconds(1000));
        ack.at(TWO);
        assertEquals(List.of(1), dueSeconds(1));
    }

    // The seconds, from now on, at which a look is due.
    private List<Integer> dueSeconds(int seconds) {
        List<Integer> due = new ArrayList<>();
        for (int second = 1; second <= seconds; second++) {
            now += TimeUnit.SECONDS.toNanos(1);
            if (ack.isDue()) {
                due.add(second);
            }
        }
        return due;
    }
}
