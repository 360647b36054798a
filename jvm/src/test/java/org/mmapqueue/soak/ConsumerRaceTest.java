package org.mmapqueue.soak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.QuickDirectory;

/** The short form of {@link ConsumerRace}: each race once, with few steps. */
@Tag("long-form")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ConsumerRaceTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private ConsumerRaces races(long seed) {
        return new ConsumerRaces(temp.resolve("queue"), seed);
    }

    private static void assertGood(RaceTally tally, String... tried) {
        assertEquals(List.of(), tally.faults());
        for (String each : tried) {
            assertTrue(tally.of(each) > 0, "nothing was " + each + ": " + tally.counts());
        }
        assertTrue(tally.of("generations") > 10, "the ring must turn: " + tally.counts());
    }

    @Test
    void whoMakesMovesAndDeletesConsumersSeesEveryRecord() throws Exception {
        assertGood(
                races(1).registering(2, 2, 60),
                "made at EARLIEST",
                "made at LATEST",
                "made at OFFSET",
                "made at TIMESTAMP",
                "taken up again",
                "deleted",
                "seek back",
                "seek forward");
    }

    @Test
    void aKilledProcessLeavesNothingStuck() throws Exception {
        assertGood(
                races(2).killing(Integer.getInteger("crash.rounds", 3) * 3),
                "killed",
                "taken over by the writer's process");
    }

    @Test
    void whoReadsWithoutAConsumerNeverSeesWrongBytes() throws Exception {
        assertGood(races(3).browsing(2, 2000), "get", "find", "records read", "get, out of range", "bytes given back");
    }

    @Test
    void everyRecordIsCountedByTwoProcesses() throws Exception {
        assertGood(races(4).owning(6000), "acks of one", "acks of several", "acks of all up to one", "given back");
    }

    @Test
    void aSlowConsumerOfAnotherProcessIsDropped() throws Exception {
        assertGood(races(5).lagging(10), "records dropped", "records read");
    }
}
