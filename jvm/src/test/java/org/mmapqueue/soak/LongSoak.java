package org.mmapqueue.soak;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.mmapqueue.support.Directories;

/**
 * A {@link SoakRun} as a command of its own ({@code make soak-long}). Arguments: minutes, seed (or "" for one by the
 * clock), parent of the queue's directory. Prints how far everybody is every minute, and a table at the end; exit
 * status 1 when a record was lost, doubled or out of order, or when a process holds more and more.
 */
public final class LongSoak {
    private static final int SAMPLES_PER_MINUTE = 12;
    private static final int SHOWN = 20;

    private LongSoak() {}

    /** Runs it. */
    public static void main(String[] args) throws Exception {
        double minutes = Double.parseDouble(args[0]);
        if (!(minutes >= 0.1 && minutes <= 100_000)) {
            throw new IllegalArgumentException("MINUTES = " + args[0] + "; allowed: 0.1 to 100000");
        }
        long seed = args[1].isEmpty() ? System.nanoTime() & 0xFFFFFF : Long.parseLong(args[1]);
        Path parent = Files.createTempDirectory(Path.of(args[2]), "mmapqueue-soak-");
        System.out.printf("%.1f minutes, seed %d, in %s%n", minutes, seed, parent);
        boolean good;
        try (SoakRun run = new SoakRun(parent.resolve("queue"), seed)) {
            Thread teller = new Thread(() -> tell(run), "soak-teller");
            teller.setDaemon(true);
            teller.start();
            run.run(Duration.ofMillis((long) (minutes * 60_000)), (int) Math.max(9, minutes * SAMPLES_PER_MINUTE));
            good = report(run);
        }
        if (good) {
            Directories.delete(parent);
        }
        System.exit(good ? 0 : 1);
    }

    private static void tell(SoakRun run) {
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
        System.out.println(good ? "no record missing, doubled or out of order; no growth" : "failed");
        return good;
    }
}
