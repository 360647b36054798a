package org.mmapqueue.powerloss;

import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.Logger;
import org.mmapqueue.harness.Arguments;
import org.mmapqueue.harness.TempQueues;
import org.mmapqueue.support.QuickDirectory;

/**
 * Cuts the power of simulated queues at random and checks what is left ({@code make powerloss}). Arguments: runs
 * (default 1000), the first seed (default 1). The exit status is 1 if a run has failed.
 */
public final class PowerLoss {
    private static final int OPERATIONS = 150;
    private static final int CUT_PERCENT = 4;
    private static final int SHOWN = 20;

    private final Counts counts = new Counts();
    /** How many runs have failed, by the error without its numbers. */
    private final Map<String, Integer> findings = new TreeMap<>();

    private PowerLoss() {}

    public static void main(String[] args) throws IOException {
        Arguments arguments = new Arguments(args);
        int runs = arguments.count(0, 1000);
        long seed = arguments.number(1, 1);
        LogManager.getLogManager().reset();
        Logger.getLogger("").setLevel(Level.OFF);
        PowerLoss all = new PowerLoss();
        long start = System.nanoTime();
        for (long each = seed; each < seed + runs; each++) {
            all.run(each);
        }
        System.out.printf(
                "%d runs, seeds %d..%d, %d s%n%s",
                runs, seed, seed + runs - 1, (System.nanoTime() - start) / 1_000_000_000, all.counts);
        int failed = all.findings.values().stream().mapToInt(Integer::intValue).sum();
        System.out.printf("%d runs failed%n", failed);
        all.findings.forEach((finding, count) -> System.out.printf("  %5d  %s%n", count, finding));
        System.exit(failed == 0 ? 0 : 1);
    }

    private void run(long seed) throws IOException {
        try (TempQueues directories = new TempQueues(QuickDirectory.create())) {
            new RandomRun(directories, seed, counts).run(OPERATIONS, CUT_PERCENT);
        } catch (RuntimeException | AssertionError e) {
            if (findings.size() < SHOWN) {
                System.out.println("seed " + seed + ": " + e);
                e.printStackTrace(System.out);
            }
            findings.merge(e.toString().replaceAll("\\d+", "#").replaceAll("/\\S*/", ""), 1, Integer::sum);
        }
    }
}
