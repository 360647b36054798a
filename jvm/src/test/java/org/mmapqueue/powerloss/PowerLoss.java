package org.mmapqueue.powerloss;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.Logger;

/**
 * Cuts the power of queues at random and looks at what is left ({@code make powerloss}). Arguments: runs (default
 * 1000), the first seed (default 1). The exit status is 1 when something was lost, wrong or out of order.
 */
public final class PowerLoss {
    private static final int OPERATIONS = 150;
    private static final int CUTS_IN_HUNDRED_CALLS = 4;
    private static final int SHOWN = 20;
    private static final Path MEMORY = Path.of("/dev/shm");

    private final Tally tally = new Tally();
    private final Map<String, Integer> findings = new TreeMap<>();

    private PowerLoss() {}

    /** Runs it. */
    public static void main(String[] arguments) throws IOException {
        int runs = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 1000;
        long seed = arguments.length > 1 ? Long.parseLong(arguments[1]) : 1;
        LogManager.getLogManager().reset();
        Logger.getLogger("").setLevel(Level.OFF);
        PowerLoss all = new PowerLoss();
        long start = System.nanoTime();
        for (long each = seed; each < seed + runs; each++) {
            all.run(each);
        }
        System.out.printf(
                "%d runs, seeds %d..%d, %d s%n%s",
                runs, seed, seed + runs - 1, (System.nanoTime() - start) / 1_000_000_000, all.tally);
        int failed = all.findings.values().stream().mapToInt(Integer::intValue).sum();
        System.out.printf("%d runs failed%n", failed);
        all.findings.forEach((finding, count) -> System.out.printf("  %5d  %s%n", count, finding));
        System.exit(failed == 0 ? 0 : 1);
    }

    private void run(long seed) throws IOException {
        try (Workshop workshop = new Workshop(directory())) {
            new Program(workshop, seed, tally).run(OPERATIONS, CUTS_IN_HUNDRED_CALLS);
        } catch (RuntimeException | AssertionError e) {
            if (findings.size() < SHOWN) {
                System.out.println("seed " + seed + ": " + e);
                e.printStackTrace(System.out);
            }
            findings.merge(e.toString().replaceAll("\\d+", "#").replaceAll("/\\S*/", ""), 1, Integer::sum);
        }
    }

    private static Path directory() throws IOException {
        return Files.isWritable(MEMORY)
                ? Files.createTempDirectory(MEMORY, "mmapqueue-power-")
                : Files.createTempDirectory("mmapqueue-power-");
    }
}
