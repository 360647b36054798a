package org.mmapqueue.crash;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.mmapqueue.support.Directories;

/**
 * The kill loop as a program of its own ({@code make crash}): kills processes that work on queues at random, then halts
 * them at every file operation in turn, and prints what it found in one table; exit status 1 when that was anything.
 */
public final class CrashMain {
    /** After which cuts the recovery is cut off, too. */
    private static final int COPIED_AGAIN = 10;

    private static final int HALTED_AGAIN = 40;

    private CrashMain() {}

    /**
     * Runs it.
     *
     * @param args rounds, seed, number of the first directory, where the directories are made
     */
    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        long seed = args[1].isEmpty() ? System.nanoTime() & 0xFFFFFF : Long.parseLong(args[1]);
        int first = Integer.parseInt(args[2]);
        Path temp = Files.createTempDirectory(Path.of(args[3]), "mmapqueue-crash-");
        System.out.println(
                "kill loop: " + rounds + " rounds, seed " + seed + ", from directory " + first + " on, in " + temp);
        long start = System.nanoTime();
        Tally tally = new Tally();
        try (Children children = new Children(Worker.class, 2)) {
            KillLoop loop = new KillLoop(seed, temp, true, tally, children);
            int number = first;
            for (int done = 0; done < rounds; number++) {
                done += loop.directory(number, rounds - done);
                if (number % 10 == 0) {
                    System.out.printf(
                            Locale.ROOT,
                            "%6d rounds, %d s, %d failures%n",
                            done,
                            TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start),
                            tally.failures().size());
                }
            }
        }
        if (first == 0 && tally.failures().isEmpty()) {
            new KillPoints(temp, tally).run(COPIED_AGAIN);
            try (Children children = new Children(HaltedWorker.class, 2)) {
                new Halts(temp, tally, children).run(HALTED_AGAIN);
            }
        }
        if (tally.failures().isEmpty()) {
            Directories.delete(temp);
        }
        tally.failures().forEach(System.out::println);
        System.out.println(tally.table());
        System.out.println("seed " + seed + ", " + TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start) + " s");
        System.exit(tally.failures().isEmpty() ? 0 : 1);
    }
}
