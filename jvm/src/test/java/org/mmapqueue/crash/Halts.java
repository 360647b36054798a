package org.mmapqueue.crash;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Directories;

/** What {@link KillPoints} does with copies, done with processes that end there. */
final class Halts {
    private static final String ONCE = "halted at an operation";
    private static final String TWICE = "halted there, and again in the recovery";

    private final Path temp;
    private final Tally tally;
    private final Children children;

    Halts(Path temp, Tally tally, Children children) {
        this.temp = temp;
        this.tally = tally;
        this.children = children;
    }

    /** Halts at every operation; after every {@code eachOf}-th a second process at some of its own. */
    @SuppressWarnings({"AssignmentExpression", "LoopConditionChecker"}) // the condition is the step of the loop
    void run(int eachOf) throws Exception {
        Path directory = temp.resolve("halted");
        Path copy = temp.resolve("halted-again");
        Halted first;
        for (int n = 1; (first = halt(directory, 0, n)).before; n++) {
            check(ONCE, "operation " + n, directory, first);
            for (int m = 1; n % eachOf == 0; m += 5) {
                Directories.copy(directory, copy);
                Halted second = halt(copy, 1, m);
                check(TWICE, "operations " + n + " and " + m, directory, first, copy, second);
                Directories.delete(copy);
                if (!second.before) {
                    break;
                }
            }
            Directories.delete(directory);
        }
        check(ONCE, "its end", directory, first);
        Directories.delete(directory);
    }

    /** What a process said, and whether it ended before the scenario did. */
    private record Halted(int serial, boolean before, List<Event> events) {}

    private Halted halt(Path directory, int part, int operation) throws Exception {
        try (Child child = children.take()) {
            child.order(operation + " " + part + " " + directory);
            int status = child.awaitEnd();
            if (status != HaltedWorker.HALTED && status != 0) {
                throw new CrashError("part " + part + ", operation " + operation + ": the process has ended with"
                        + " status " + status + "; it said: " + child.errors());
            }
            Files.createDirectories(directory);
            return new Halted(child.serial, status != 0, child.events());
        }
    }

    private void check(String group, String where, Path directory, Halted first) throws Exception {
        count(group, first);
        try {
            compare(new Model(Scenario.plan()), directory, first);
        } catch (CrashError | MmapQueueException | IllegalStateException e) {
            tally.failed(group, where + ": " + e);
        }
    }

    private void check(String group, String where, Path directory, Halted first, Path again, Halted second)
            throws Exception {
        count(group, second);
        try {
            Model model = new Model(Scenario.plan());
            compare(model, directory, first);
            compare(model, again, second);
        } catch (CrashError | MmapQueueException | IllegalStateException e) {
            tally.failed(group, where + ": " + e);
        }
    }

    private void count(String group, Halted halted) {
        tally.add(group, Tally.Count.ROUNDS, 1);
        tally.add(group, Tally.Count.KILLS, halted.before ? 1 : 0);
    }

    private void compare(Model model, Path directory, Halted halted) throws InterruptedException {
        halted.events.forEach(event -> model.apply(halted.serial, true, event));
        check(directory, model);
    }

    private void check(Path directory, Model model) throws InterruptedException {
        Path copy = temp.resolve("halted-copy");
        try {
            Verifier.of(Scenario.plan(), Directories.copy(directory, copy), model)
                    .checkCopy();
        } finally {
            if (Files.exists(copy)) {
                Directories.delete(copy);
            }
        }
    }
}
