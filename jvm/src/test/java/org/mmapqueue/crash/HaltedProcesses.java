package org.mmapqueue.crash;

import java.nio.file.Files;
import java.nio.file.Path;
import org.mmapqueue.harness.Violation;
import org.mmapqueue.support.Directories;

/** Halts processes at each file operation of a {@link Scenario}: {@link KillPoints} with processes. */
final class HaltedProcesses {
    private static final String ONCE = "halted at an operation";
    private static final String TWICE = "halted there, and again in the recovery";

    private final Path temp;
    private final CrashTable table;
    private final WorkerPool workers;
    private final ScenarioCheck check;

    HaltedProcesses(Path temp, CrashTable table, WorkerPool workers) {
        this.temp = temp;
        this.table = table;
        this.workers = workers;
        this.check = new ScenarioCheck(temp, table);
    }

    /** What a process has left, and whether it halted before the end of the scenario. */
    private record Halted(boolean early, ScenarioCheck.Left left) {}

    /** HaltedProcesses at each operation; after each {@code every}-th one a second process at each fifth of its own. */
    void run(int every) throws Exception {
        Path directory = temp.resolve("halted");
        boolean early = true;
        for (int n = 1; early; n++) {
            Halted first = halt(ONCE, directory, 0, n);
            check.check(ONCE, "operation " + n, first.left);
            early = first.early;
            if (early && n % every == 0) {
                runAgain(n, first.left);
            }
            Directories.delete(directory);
        }
    }

    private void runAgain(int n, ScenarioCheck.Left first) throws Exception {
        Path copy = temp.resolve("halted-again");
        boolean early = true;
        for (int m = 1; early; m += 5) {
            Directories.copy(first.directory(), copy);
            Halted second = halt(TWICE, copy, 1, m);
            check.check(TWICE, "operations " + n + " and " + m, first, second.left);
            early = second.early;
            Directories.delete(copy);
        }
    }

    private Halted halt(String group, Path directory, int part, int operation) throws Exception {
        try (WorkerProcess process = workers.take()) {
            process.order(operation + " " + part + " " + directory);
            int status = process.awaitEnd();
            if (status != HaltedWorker.HALTED && status != 0) {
                throw new Violation("part " + part + ", operation " + operation + ": the process has ended with status "
                        + status + "; its standard error: " + process.errors());
            }
            boolean early = status != 0;
            table.add(group, CrashTable.Count.KILLS, early ? 1 : 0);
            Files.createDirectories(directory);
            return new Halted(early, new ScenarioCheck.Left(directory, process.serial, process.events()));
        }
    }
}
