package org.mmapqueue.crash;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Directories;

/**
 * Kills processes at any moment, again and again in one directory, and compares what they have left with what they had
 * been told. All but the scheduling follows from the seed and the number of the directory.
 */
final class KillLoop {
    private static final int ONE_IN_VERSION_1 = 12;

    private final long seed;
    private final Path temp;
    private final boolean keep;
    private final Tally tally;
    private final Children children;

    /**
     * A loop.
     *
     * @param temp where the directories are made
     * @param keep whether one in which a fault was found is left there
     */
    KillLoop(long seed, Path temp, boolean keep, Tally tally, Children children) {
        this.seed = seed;
        this.temp = temp;
        this.keep = keep;
        this.tally = tally;
        this.children = children;
    }

    /** Works on directory {@code number}, for at most {@code mostRounds}; returns the rounds done. */
    int directory(int number, int mostRounds) throws Exception {
        int version = number % ONE_IN_VERSION_1 == ONE_IN_VERSION_1 - 1 ? 1 : 2;
        return directory(number, version, Math.min(mostRounds, 4 + Math.floorMod(seed + 11L * number, 14)));
    }

    /** Works on directory {@code number}, of this version; returns the rounds done, fewer when one has failed. */
    int directory(int number, int version, int rounds) throws Exception {
        SplittableRandom random = new SplittableRandom(seed * 0x9E3779B97F4A7C15L + number);
        OneDirectory one = new OneDirectory(random, version, temp.resolve("queue-" + number));
        tally.add(one.group, Tally.Count.DIRECTORIES, 1);
        for (int round = 0; round < rounds; round++) {
            try {
                one.round(round);
            } catch (CrashError | MmapQueueException | IllegalStateException e) {
                tally.failed(
                        one.group,
                        "seed " + seed + ", directory " + number + ", round " + round + ", " + one.plan
                                + (keep ? ", left in " + one.directory : "") + ": " + e
                                + (e.getCause() == null ? "" : "\n" + e.getCause()));
                if (keep) {
                    Files.write(Path.of(one.directory + ".journal"), one.journal);
                } else {
                    one.delete();
                }
                return round + 1;
            }
        }
        one.delete();
        return rounds;
    }

    private final class OneDirectory {
        private final SplittableRandom random;
        private final long planSeed;
        private final Plan plan;
        private final Path directory;
        private final Model model;
        private final String group;
        /** What was said in this round. */
        private final List<String> journal = new ArrayList<>();

        OneDirectory(SplittableRandom random, int version, Path directory) {
            this.random = random;
            this.planSeed = random.nextLong();
            this.plan = Plan.of(planSeed, version);
            this.directory = directory;
            this.model = new Model(plan);
            this.group = "version " + version
                    + (version == 1
                            ? ""
                            : plan.segmentSize() < 1 << 17
                                    ? ", segments of 4 to 16 KiB"
                                    : ", segments of 128 KiB to 8 MiB");
        }

        private Worker.Orders orders(int round, boolean writes, boolean hasReader, long workSeed) {
            return new Worker.Orders(directory, planSeed, plan.version(), round, writes, hasReader, workSeed);
        }

        void round(int round) throws Exception {
            tally.add(group, Tally.Count.ROUNDS, 1);
            journal.clear();
            long before = model.returned();
            // What is drawn must not depend on what has come about so far. The first writer has to make the queue.
            boolean wantsReader = random.nextInt(3) > 0;
            SplittableRandom readers = random.split();
            SplittableRandom checks = random.split();
            boolean hasReader = plan.reads() && wantsReader && Files.exists(directory.resolve("meta.dat"));
            FutureTask<List<Killed>> reading = new FutureTask<>(() -> readers(round, readers));
            if (hasReader) {
                new Thread(reading, "readers").start();
            }
            Killed writer;
            List<Killed> killed = List.of();
            try {
                writer = kill(orders(round, true, hasReader, random.nextLong()), Kill.at(random));
            } finally {
                if (hasReader) {
                    killed = result(reading);
                }
            }
            apply(writer, true);
            for (Killed reader : killed) {
                apply(reader, false);
                tally.add(group, Tally.Count.READERS, 1);
            }
            tally.add(group, Tally.Count.RECORDS, model.returned() - before);
            verify(checks);
        }

        private List<Killed> result(FutureTask<List<Killed>> task) throws InterruptedException {
            try {
                return task.get();
            } catch (ExecutionException e) {
                throw new CrashError("a process that reads: " + e.getCause().getMessage(), e.getCause());
            }
        }

        /** Processes that only read, one after the other, beside the one that writes, and without it. */
        private List<Killed> readers(int round, SplittableRandom own) throws Exception {
            List<Killed> killed = new ArrayList<>();
            for (int i = 1 + own.nextInt(2); i > 0; i--) {
                killed.add(kill(orders(round, false, true, own.nextLong()), Kill.at(own)));
            }
            return killed;
        }

        private Killed kill(Worker.Orders orders, Kill kill) throws Exception {
            try (Child child = children.take()) {
                child.order(orders.line());
                try {
                    kill.strike(child);
                } catch (CrashError e) {
                    throw new CrashError(e.getMessage() + "; it said: " + child.errors(), e);
                }
                tally.add(group, Tally.Count.KILLS, 1);
                return new Killed(child.serial, child.events());
            }
        }

        private void apply(Killed killed, boolean writes) {
            Event.Kind last = Event.Kind.READY;
            killed.events.forEach(each -> journal.add((writes ? "writer " : "reader ") + killed.serial + ": " + each));
            for (Event event : killed.events) {
                try {
                    model.apply(killed.serial, writes, event);
                } catch (CrashError e) {
                    throw new CrashError((writes ? "the writer" : "a reader") + " said: " + event, e);
                }
                if (event.phase() == Event.Phase.DONE) {
                    tally.add(group, Tally.Count.CALLS, 1);
                }
                if (event.kind() == Event.Kind.OPEN || event.kind() == Event.Kind.CLOSE) {
                    last = event.phase() == Event.Phase.BEGIN ? event.kind() : Event.Kind.READY;
                }
            }
            if (last == Event.Kind.OPEN) {
                tally.add(group, Tally.Count.OPENING, 1);
            } else if (last == Event.Kind.CLOSE) {
                tally.add(group, Tally.Count.CLOSING, 1);
            }
        }

        private void verify(SplittableRandom checks) throws InterruptedException {
            if (!Files.exists(directory)) {
                return; // killed before it had made anything
            }
            if (checks.nextInt(4) == 0) {
                Verifier.of(plan, directory, model).checkInPlace(checks);
                return;
            }
            Path copy = directory.resolveSibling(directory.getFileName() + "-copy");
            try {
                Directories.copy(directory, copy);
                Verifier.of(plan, copy, model).checkCopy();
            } finally {
                if (Files.exists(copy)) {
                    Directories.delete(copy);
                }
            }
        }

        void delete() throws IOException {
            if (Files.exists(directory)) {
                Directories.delete(directory);
            }
        }
    }

    /** What a process had said when it was killed. */
    private record Killed(int serial, List<Event> events) {}
}
