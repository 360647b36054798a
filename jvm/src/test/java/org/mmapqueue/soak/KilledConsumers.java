package org.mmapqueue.soak;

import static org.mmapqueue.soak.RaceRecords.require;

import java.io.IOException;
import java.nio.file.Path;
import java.util.SplittableRandom;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.harness.Tally;
import org.mmapqueue.support.ChildJvm;

/**
 * Kills a {@link KilledProcess} after some of its lines, and checks its consumer: it exists as the lines require, and
 * has committed no less than was acked; no process is locked out; the writer continues. Two processes run at a time,
 * with a consumer each. The next process, or this one, opens the consumer.
 */
final class KilledConsumers {
    private static final int PROCESSES = 2;
    private static final long ANY = -1;

    private final Path directory;
    private final RaceWriter writer;
    private final Tally tally;
    private final SplittableRandom random;
    private final ChildJvm[] processes = new ChildJvm[PROCESSES];
    private final Reported[] reports = new Reported[PROCESSES];

    /** What the lines of a process require of its consumer. */
    private static final class Reported {
        private boolean mayExist;
        private boolean mayBeAbsent = true;
        /** The least committed offset: acks that were not reported may have advanced it. */
        private long committed = ANY;

        private String fault;

        void add(String line) {
            String[] parts = line.split(" ", 2);
            switch (parts[0]) {
                case "opens" -> mayExist = true;
                case "has", "acked" -> {
                    long found = Long.parseLong(parts[1]);
                    if (parts[0].equals("has") && found < committed) {
                        fault = "acked up to " + committed + ", but the next open finds " + found;
                    }
                    committed = found;
                    mayExist = true;
                    mayBeAbsent = false;
                }
                case "moves" -> committed = ANY;
                case "deletes" -> {
                    committed = ANY;
                    mayBeAbsent = true;
                }
                case "deleted" -> mayExist = false;
                default -> {
                    fault = line;
                    committed = ANY;
                    mayBeAbsent = true;
                }
            }
        }
    }

    KilledConsumers(Path directory, long seed, RaceWriter writer, Tally tally) {
        this.directory = directory;
        this.writer = writer;
        this.tally = tally;
        this.random = new SplittableRandom(seed);
    }

    private static String name(int number) {
        return "killed-" + number;
    }

    void run(int kills) throws IOException, InterruptedException {
        for (int i = 0; i < PROCESSES; i++) {
            reports[i] = new Reported();
            processes[i] = start(i);
        }
        for (int kill = 0; kill < kills; kill++) {
            int number = kill % PROCESSES;
            kill(number);
            boolean last = kill + PROCESSES >= kills;
            if (last || random.nextBoolean()) {
                check(number);
                reports[number] = new Reported();
            }
            if (!last) {
                processes[number] = start(number);
            }
        }
    }

    private ChildJvm start(int number) throws IOException {
        return new ChildJvm(KilledProcess.class, directory, name(number), random.nextLong());
    }

    private void kill(int number) throws IOException, InterruptedException {
        Reported report = reports[number];
        try (ChildJvm process = processes[number]) {
            String line = process.line();
            for (int left = random.nextInt(80); left > 0 && line != null; left--) {
                report.add(line);
                line = process.line();
            }
            process.kill();
            for (; line != null; line = process.line()) {
                report.add(line);
            }
        }
        tally.count("killed");
        if (report.fault != null) {
            tally.fault(name(number), new IllegalStateException(report.fault));
            report.fault = null;
        }
    }

    private void check(int number) throws InterruptedException {
        Reported report = reports[number];
        String name = name(number);
        MmapQueue queue = writer.queue();
        try {
            // A process that was killed between creating the page and counting it: the next change shows the page.
            queue.consumer("check", StartAt.LATEST);
            queue.deleteConsumer("check");
            boolean exists = queue.consumers().contains(name);
            require(exists || report.mayBeAbsent, name + " does not exist");
            require(!exists || report.mayExist, name + " exists, and was deleted");
            if (exists) {
                Consumer consumer = queue.consumer(name, StartAt.LATEST);
                require(
                        consumer.committedOffset() >= report.committed,
                        "acked up to " + report.committed + ", but committed is " + consumer.committedOffset());
                long next = consumer.readOffset();
                long end = queue.endOffset() + RaceRecords.GENERATION;
                while (next < end) {
                    Message message = consumer.pop(RaceWriter.LIMIT);
                    RaceRecords.check(message, next++);
                    consumer.ackUpTo(message.offset());
                }
                tally.count("opened by the writer's process");
            } else {
                tally.count("found deleted");
            }
            if (exists || queue.consumers().contains(name)) {
                queue.deleteConsumer(name);
            }
        } catch (RuntimeException e) {
            tally.fault(name, e);
        }
    }
}
