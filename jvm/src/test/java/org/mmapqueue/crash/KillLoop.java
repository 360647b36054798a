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
import org.mmapqueue.harness.Violation;
import org.mmapqueue.support.Directories;

/**
 * Kills processes at random instants, several rounds in one directory, and checks the directory after each round.
 * Everything but the scheduling of threads follows from the seed and the number of the directory.
 */
final class KillLoop {
    private static final int ONE_IN_VERSION_1 = 12;

    private final long seed;
    private final Path temp;
    private final boolean keep;
    private final CrashTable table;
    private final WorkerPool workers;

    /**
     * Creates no directory yet.
     *
     * @param temp the parent of the directories
     * @param keep whether a directory with a fault is kept
     */
    KillLoop(long seed, Path temp, boolean keep, CrashTable table, WorkerPool workers) {
        this.seed = seed;
        this.temp = temp;
        this.keep = keep;
        this.table = table;
        this.workers = workers;
    }

    /** Works on directory {@code number} for at most {@code maxRounds}; returns the number of rounds. */
    int directory(int number, int maxRounds) throws Exception {
        int version = number % ONE_IN_VERSION_1 == ONE_IN_VERSION_1 - 1 ? 1 : 2;
        return directory(number, version, Math.min(maxRounds, 4 + Math.floorMod(seed + 11L * number, 14)));
    }

    /** Works on directory {@code number}, of this version; returns the number of rounds, fewer if one has failed. */
    int directory(int number, int version, int rounds) throws Exception {
        SplittableRandom random = new SplittableRandom(seed * 0x9E3779B97F4A7C15L + number);
        OneDirectory one = new OneDirectory(random, version, temp.resolve("queue-" + number));
        table.add(one.group, CrashTable.Count.DIRECTORIES, 1);
        for (int round = 0; round < rounds; round++) {
            try {
                one.round(round);
            } catch (Violation | MmapQueueException | IllegalStateException e) {
                table.failed(
                        one.group,
                        "seed " + seed + ", directory " + number + ", round " + round + ", " + one.plan
                                + (keep ? ", kept in " + one.directory : "") + ": " + e
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
        /** All events of this round, for a fault. */
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
            table.add(group, CrashTable.Count.ROUNDS, 1);
            journal.clear();
            long before = model.returned();
            // The draws do not depend on the results so far. The first writer has to create the queue.
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
                writer = kill(orders(round, true, hasReader, random.nextLong()), KillInstant.random(random));
            } finally {
                if (hasReader) {
                    killed = result(reading);
                }
            }
            apply(writer, true);
            for (Killed reader : killed) {
                apply(reader, false);
                table.add(group, CrashTable.Count.READERS, 1);
            }
            table.add(group, CrashTable.Count.RECORDS, model.returned() - before);
            verify(checks);
        }

        private List<Killed> result(FutureTask<List<Killed>> task) throws InterruptedException {
            try {
                return task.get();
            } catch (ExecutionException e) {
                throw new Violation("a read-only process: " + e.getCause().getMessage(), e.getCause());
            }
        }

        /** Read-only processes, one after the other, beside the writer and after it. */
        private List<Killed> readers(int round, SplittableRandom own) throws Exception {
            List<Killed> killed = new ArrayList<>();
            for (int i = 1 + own.nextInt(2); i > 0; i--) {
                killed.add(kill(orders(round, false, true, own.nextLong()), KillInstant.random(own)));
            }
            return killed;
        }

        private Killed kill(Worker.Orders orders, KillInstant kill) throws Exception {
            try (WorkerProcess process = workers.take()) {
                process.order(orders.line());
                try {
                    kill.strike(process);
                } catch (Violation e) {
                    throw new Violation(e.getMessage() + "; its standard error: " + process.errors(), e);
                }
                table.add(group, CrashTable.Count.KILLS, 1);
                return new Killed(process.serial, process.events());
            }
        }

        private void apply(Killed killed, boolean writes) {
            Event.Kind last = Event.Kind.READY;
            killed.events.forEach(each -> journal.add((writes ? "writer " : "reader ") + killed.serial + ": " + each));
            for (Event event : killed.events) {
                try {
                    model.apply(killed.serial, writes, event);
                } catch (Violation e) {
                    throw new Violation((writes ? "the writer: " : "a reader: ") + event, e);
                }
                if (event.phase() == Event.Phase.DONE) {
                    table.add(group, CrashTable.Count.CALLS, 1);
                }
                if (event.kind() == Event.Kind.OPEN || event.kind() == Event.Kind.CLOSE) {
                    last = event.phase() == Event.Phase.BEGIN ? event.kind() : Event.Kind.READY;
                }
            }
            if (last == Event.Kind.OPEN) {
                table.add(group, CrashTable.Count.OPENING, 1);
            } else if (last == Event.Kind.CLOSE) {
                table.add(group, CrashTable.Count.CLOSING, 1);
            }
        }

        private void verify(SplittableRandom checks) throws InterruptedException {
            if (!Files.exists(directory)) {
                return; // killed before it had created anything
            }
            if (checks.nextInt(4) == 0) {
                Verifier.checkDirectly(plan, directory, model, checks);
            } else {
                Path copy = directory.resolveSibling(directory.getFileName() + "-copy");
                Verifier.checkCopy(plan, directory, copy, model);
            }
        }

        void delete() throws IOException {
            if (Files.exists(directory)) {
                Directories.delete(directory);
            }
        }
    }

    /** A killed process and its journal. */
    private record Killed(int serial, List<Event> events) {}
}
