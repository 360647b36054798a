package org.mmapqueue.crash;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.QuickDirectory;

/** The short form of the kill loop. System properties: crash.seed chooses another one, crash.rounds a longer one. */
@Tag("long-form")
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CrashTest {
    private static final int ROUNDS = Integer.getInteger("crash.rounds", 3);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final Tally tally = new Tally();

    private void assertNoFailure() {
        System.out.println(tally.table());
        assertEquals(List.of(), tally.failures());
    }

    /** Several directories, a few rounds in each, one of them of version 1. */
    @Test
    void killedAtAnyMomentNothingIsLostAndNothingComesBack() throws Exception {
        long seed = Long.getLong("crash.seed", 20_240_607L);
        try (Children children = new Children(Worker.class, 2)) {
            KillLoop loop = new KillLoop(seed, temp, false, tally, children);
            for (int number = 0; number < 4; number++) {
                loop.directory(number, 2, ROUNDS);
            }
            loop.directory(4, 1, ROUNDS);
        }
        assertNoFailure();
        assertTrue(tally.sum(Tally.Count.RECORDS) > 10L * ROUNDS, "only a few records were pushed");
    }

    @Test
    void cutOffAtEachFileOperationNothingIsLostAndNothingComesBack() throws Exception {
        int operations = new KillPoints(temp, tally).run(200);
        assertNoFailure();
        assertTrue(operations > 300, "the scenario has only " + operations + " file operations");
    }
}
