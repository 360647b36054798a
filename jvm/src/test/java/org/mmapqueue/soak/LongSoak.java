package org.mmapqueue.soak;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.mmapqueue.harness.Arguments;
import org.mmapqueue.support.Directories;

/**
 * A {@link SoakRun} as a program ({@code make soak-long}). Arguments: minutes (default 30), seed (default by the clock),
 * parent of the directory. Prints the progress every minute, and a table at the end. The exit status is 1 if a record
 * was lost, duplicated or out of order, or if a process grows.
 */
public final class LongSoak {
    private static final int SAMPLES_PER_MINUTE = 12;
    private static final int SHOWN = 20;

    private LongSoak() {}

    public static void main(String[] args) throws Exception {
        Arguments arguments = new Arguments(args);
        double minutes = Double.parseDouble(arguments.text(0, "30"));
        if (!(minutes >= 0.1 && minutes <= 100_000)) {
            throw new IllegalArgumentException("MINUTES = " + minutes + "; allowed: 0.1 to 100000");
        }
        long seed = arguments.seed(1);
        Path parent = arguments.tempDirectory(2, "mmapqueue-soak-");
        System.out.printf("%.1f minutes, seed %d, in %s%n", minutes, seed, parent);
        boolean good;
        try (SoakRun run = new SoakRun(parent.resolve("queue"), seed)) {
            Thread progress = new Thread(() -> printProgress(run), "soak-progress");
            progress.setDaemon(true);
            progress.start();
            run.run(Duration.ofMillis((long) (minutes * 60_000)), (int) Math.max(9, minutes * SAMPLES_PER_MINUTE));
            good = report(run);
        }
        if (good) {
            Directories.delete(parent);
        }
        System.exit(good ? 0 : 1);
    }

    private static void printProgress(SoakRun run) {
        try {
            for (int minute = 0; ; minute++) {
                Thread.sleep(60_000);
                System.out.printf("%4d min: %s%n", minute + 1, run.progress());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static boolean report(SoakRun run) {
        System.out.print(run.table());
        for (Map.Entry<String, Long> count : run.tally().counts().entrySet()) {
            System.out.printf("%,d %s%n", count.getValue(), count.getKey());
        }
        run.tally().faults().stream().limit(SHOWN).forEach(System.out::println);
        boolean good = run.tally().faults().isEmpty();
        System.out.println(good ? "no record missing, duplicated or out of order; no growth" : "failed");
        return good;
    }
}
