package org.mmapqueue.soak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.harness.Tally;
import org.mmapqueue.support.QuickDirectory;

/** The short form of {@link ConsumerRace}: each race once, with few steps. */
@Tag("long-form")
@Tag("slow")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ConsumerRaceTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private ConsumerRaces races(long seed) {
        return new ConsumerRaces(temp.resolve("queue"), seed);
    }

    private static void assertGood(Tally tally, String... tried) {
        assertEquals(List.of(), tally.faults());
        for (String each : tried) {
            assertTrue(tally.of(each) > 0, "never: " + each + ": " + tally.counts());
        }
        assertTrue(tally.of("generations") > 10, "the ring must wrap: " + tally.counts());
    }

    @Test
    void aConsumerThatIsCreatedMovedAndDeletedSeesEveryRecord() throws Exception {
        assertGood(
                races(1).churn(2, 2, 60),
                "created at EARLIEST",
                "created at LATEST",
                "created at OFFSET",
                "created at TIMESTAMP",
                "opened again",
                "deleted",
                "seek back",
                "seek forward");
    }

    @Test
    void aKilledProcessBlocksNoOther() throws Exception {
        assertGood(
                races(2).kills(Integer.getInteger("crash.rounds", 2) * 3), "killed", "opened by the writer's process");
    }

    @Test
    void aReaderWithoutAConsumerNeverReadsWrongBytes() throws Exception {
        assertGood(races(3).reads(2, 2000), "get", "find", "records read", "get, out of range", "bytes deleted");
    }

    @Test
    void twoProcessesAckEveryRecord() throws Exception {
        assertGood(races(4).acks(6000), "acks of one", "acks of several", "acks of all up to one", "nacks");
    }

    @Test
    void aSlowConsumerOfAnotherProcessIsDropped() throws Exception {
        assertGood(races(5).lag(10), "records dropped", "records read");
    }
}
