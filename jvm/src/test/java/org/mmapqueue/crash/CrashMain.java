package org.mmapqueue.crash;

import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.mmapqueue.harness.Arguments;
import org.mmapqueue.support.Directories;

/**
 * The kill loop as a program ({@code make crash}): kills processes at random, then interrupts them at each file
 * operation in turn, and prints one table. The exit status is 1 if a fault was found.
 */
public final class CrashMain {
    /** After each such interruption the recovery is interrupted as well. */
    private static final int COPIED_AGAIN = 10;

    private static final int HALTED_AGAIN = 40;

    private CrashMain() {}

    /**
     * Runs the loop.
     *
     * @param args rounds, seed, number of the first directory, parent of the directories
     */
    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(args);
        int rounds = arguments.count(0, 1000);
        long seed = arguments.seed(1);
        int first = arguments.count(2, 0);
        Path temp = arguments.tempDirectory(3, "mmapqueue-crash-");
        System.out.println(
                "kill loop: " + rounds + " rounds, seed " + seed + ", directories from " + first + ", in " + temp);
        long start = System.nanoTime();
        CrashTable table = new CrashTable();
        try (WorkerPool workers = new WorkerPool(Worker.class, 2)) {
            KillLoop loop = new KillLoop(seed, temp, true, table, workers);
            int number = first;
            for (int done = 0; done < rounds; number++) {
                done += loop.directory(number, rounds - done);
                if (number % 10 == 0) {
                    System.out.printf(
                            Locale.ROOT,
                            "%6d rounds, %d s, %d failures%n",
                            done,
                            TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start),
                            table.failures().size());
                }
            }
        }
        if (first == 0 && table.failures().isEmpty()) {
            new KillPoints(temp, table).run(1, COPIED_AGAIN);
            try (WorkerPool workers = new WorkerPool(HaltedWorker.class, 2)) {
                new HaltedProcesses(temp, table, workers).run(HALTED_AGAIN);
            }
        }
        if (table.failures().isEmpty()) {
            Directories.delete(temp);
        }
        table.failures().forEach(System.out::println);
        System.out.println(table.table());
        System.out.println("seed " + seed + ", " + TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start) + " s");
        System.exit(table.failures().isEmpty() ? 0 : 1);
    }
}
