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

/** The short form of the kill loop. System properties: crash.seed, crash.rounds, faults.step. */
@Tag("long-form")
@Tag("slow")
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CrashTest {
    /** The distance of the file operations before which the short form interrupts. */
    private static final int STEP = Integer.getInteger("faults.step", 3);

    private static final int ROUNDS = Integer.getInteger("crash.rounds", 2);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final CrashTable table = new CrashTable();

    private void assertNoFailure() {
        System.out.println(table.table());
        assertEquals(List.of(), table.failures());
    }

    /** Four directories of version 2 and one of version 1, a few rounds in each. */
    @Test
    void aKillAtAnyInstantLosesNoRecordAndRedeliversNoAckedOne() throws Exception {
        long seed = Long.getLong("crash.seed", 20_240_607L);
        try (WorkerPool workers = new WorkerPool(Worker.class, 2)) {
            KillLoop loop = new KillLoop(seed, temp, false, table, workers);
            for (int number = 0; number < 4; number++) {
                loop.directory(number, 2, ROUNDS);
            }
            loop.directory(4, 1, ROUNDS);
        }
        assertNoFailure();
        assertTrue(table.sum(CrashTable.Count.RECORDS) > 10L * ROUNDS, "only a few records were pushed");
    }

    @Test
    void anInterruptionAtEachFileOperationLosesNoRecordAndRedeliversNoAckedOne() throws Exception {
        int operations = new KillPoints(temp, table).run(STEP, 200);
        assertNoFailure();
        assertTrue(operations > 300, "the scenario has only " + operations + " file operations");
    }
}
