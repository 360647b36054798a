package org.mmapqueue.crash;

import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;

/**
 * When a process is killed.
 *
 * @param kind a call, the {@code amount}-th of which has begun; null for none
 * @param amount how many calls; else how many bytes it has said, 0 for none
 * @param micros how long after that
 */
record Kill(Event.Kind kind, int amount, int micros) {
    private static final long LONGEST_MILLIS = 2000;
    /** Calls that are rare or short, and change more than one file. */
    private static final List<Event.Kind> DELICATE = List.of(
            Event.Kind.OPEN,
            Event.Kind.OPEN,
            Event.Kind.CLOSE,
            Event.Kind.CLOSE,
            Event.Kind.CLOSE,
            Event.Kind.TAKE,
            Event.Kind.CREATE,
            Event.Kind.DELETE,
            Event.Kind.SEEK,
            Event.Kind.GC,
            Event.Kind.FLUSH);

    /** Early, while it opens; after some time; when it has said so much; or in the middle of a certain call. */
    static Kill at(SplittableRandom random) {
        return switch (random.nextInt(6)) {
            case 0 -> new Kill(null, 0, random.nextInt(60_000));
            case 1 -> new Kill(null, 0, logarithmic(random, 5_000, 400_000));
            case 2, 3 -> new Kill(null, logarithmic(random, 60, 300_000), 0);
            default ->
                new Kill(
                        DELICATE.get(random.nextInt(DELICATE.size())),
                        1 + random.nextInt(3),
                        random.nextInt(random.nextBoolean() ? 300 : 6_000));
        };
    }

    private static int logarithmic(SplittableRandom random, double least, double most) {
        return (int) (least * Math.pow(most / least, random.nextDouble()));
    }

    /** Waits for the instant, and kills. */
    void strike(Child child) throws InterruptedException {
        if (kind != null) {
            child.awaitBegun(kind, amount, LONGEST_MILLIS / 4);
        } else if (amount > 0) {
            child.awaitBytes(amount, LONGEST_MILLIS);
        }
        for (long end = System.nanoTime() + 1000L * micros; end - System.nanoTime() > 0; ) {
            LockSupport.parkNanos(end - System.nanoTime());
        }
        if (!child.kill()) {
            throw new CrashError("a process has ended before it was killed, with status " + child.awaitEnd());
        }
    }
}
