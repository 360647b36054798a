package org.mmapqueue.crash;

import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import org.mmapqueue.harness.Violation;

/**
 * The instant at which a process is killed.
 *
 * @param kind the kind of call to wait for, or null
 * @param amount how many such calls must have begun; without a kind, how many bytes of journal must be written
 * @param micros the delay after that, in µs
 */
record KillInstant(Event.Kind kind, int amount, int micros) {
    private static final long LONGEST_MILLIS = 2000;
    /** Calls that are rare or short, and change several files. */
    private static final List<Event.Kind> DELICATE = List.of(
            Event.Kind.OPEN,
            Event.Kind.OPEN,
            Event.Kind.CLOSE,
            Event.Kind.CLOSE,
            Event.Kind.CLOSE,
            Event.Kind.OPEN_CONSUMER,
            Event.Kind.CREATE_CONSUMER,
            Event.Kind.DELETE_CONSUMER,
            Event.Kind.SEEK,
            Event.Kind.GC,
            Event.Kind.FLUSH);

    /** Chooses: early, during the open; after a time; after some calls; or during a delicate call. */
    static KillInstant random(SplittableRandom random) {
        return switch (random.nextInt(6)) {
            case 0 -> new KillInstant(null, 0, random.nextInt(60_000));
            case 1 -> new KillInstant(null, 0, logarithmic(random, 5_000, 400_000));
            case 2, 3 -> new KillInstant(null, logarithmic(random, 60, 300_000), 0);
            default ->
                new KillInstant(
                        DELICATE.get(random.nextInt(DELICATE.size())),
                        1 + random.nextInt(3),
                        random.nextInt(random.nextBoolean() ? 300 : 6_000));
        };
    }

    private static int logarithmic(SplittableRandom random, double min, double max) {
        return (int) (min * Math.pow(max / min, random.nextDouble()));
    }

    /** Waits for the instant, and kills the process. */
    void strike(WorkerProcess process) throws InterruptedException {
        if (kind != null) {
            process.awaitBegun(kind, amount, LONGEST_MILLIS / 4);
        } else if (amount > 0) {
            process.awaitBytes(amount, LONGEST_MILLIS);
        }
        for (long end = System.nanoTime() + 1000L * micros; end - System.nanoTime() > 0; ) {
            LockSupport.parkNanos(end - System.nanoTime());
        }
        if (!process.kill()) {
            throw new Violation("a process has ended before it was killed, with status " + process.awaitEnd());
        }
    }
}
