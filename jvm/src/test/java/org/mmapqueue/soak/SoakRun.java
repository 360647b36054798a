package org.mmapqueue.soak;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CopyOnWriteArrayList;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.harness.Tally;
import org.mmapqueue.support.ChildJvm;

/**
 * Processes at work on one queue, stopped and continued at random: every record is counted, and the resources of the
 * processes are sampled. One process has several producers and a consumer, two have consumers only. Everything random
 * but the speed of the processes follows from the seed.
 */
final class SoakRun implements AutoCloseable {
    private static final int PAGE = 4096;
    private static final int KIB = 1 << 10;
    private static final int MIB = 1 << 20;
    private static final int CONSUMERS = 3;
    private static final Duration LIMIT = Duration.ofMinutes(3);

    private final Path directory;
    private final SplittableRandom random;
    private final Tally tally = new Tally();
    private final List<Member> members = new CopyOnWriteArrayList<>();
    private final List<Growth> growths = new ArrayList<>();
    private volatile long deadline = System.nanoTime() + LIMIT.toNanos();
    private volatile boolean ended;
    private volatile String progress = "";

    /** A process and its samples. */
    private final class Member {
        private final String name;
        private final ChildJvm process;
        private final Growth heap;
        private final Growth segments;
        private final Growth pages;
        private final Growth descriptors;
        private final Growth threads;

        Member(String name, String role, long seed, String... consumers) throws IOException {
            this.name = name;
            List<Object> arguments = new ArrayList<>(List.of(directory, seed, role));
            arguments.addAll(List.of(consumers));
            this.process = new ChildJvm(SoakProcess.class, arguments.toArray());
            heap = growth("heap after a collection, MiB", MIB, 4 * MIB, Long.MAX_VALUE);
            long most = (long) SoakProcess.MAPPED * SoakProcess.SEGMENT;
            segments = growth("segments mapped, KiB", KIB, most, most);
            // One page for each consumer and meta.dat; pages of closed objects are unmapped by the next collection.
            pages = growth("other files mapped, KiB", KIB, 0, 4 * (1 + CONSUMERS) * (long) PAGE);
            descriptors = growth("file descriptors", 1, SoakProcess.MAPPED + 4, Long.MAX_VALUE);
            threads = growth("threads", 1, 2, Long.MAX_VALUE);
        }

        private Growth growth(String what, long unit, long allowance, long limit) {
            Growth growth = new Growth(name + ": " + what, unit, allowance, limit);
            growths.add(growth);
            return growth;
        }

        // Sleeps until the kernel has stopped all threads, then for the pause itself.
        void pause(long millis, boolean sampled) throws IOException, InterruptedException {
            signal("STOP");
            try {
                while (!ProcessFigures.isStopped(process.pid())) {
                    Thread.sleep(1);
                }
                if (sampled) {
                    ProcessFigures figures = ProcessFigures.of(process.pid(), directory);
                    segments.add(figures.segments());
                    pages.add(figures.pages());
                    descriptors.add(figures.descriptors());
                    threads.add(figures.threads());
                }
                Thread.sleep(millis);
            } finally {
                signal("CONT");
            }
            tally.count("times a process was stopped");
        }

        private void signal(String signal) throws IOException, InterruptedException {
            String command = "kill -" + signal + " " + process.pid();
            int code = new ProcessBuilder("sh", "-c", command)
                    .redirectErrorStream(true)
                    .start()
                    .waitFor();
            RaceRecords.require(code == 0, name + " has ended: " + command + " gave " + code);
        }

        String[] ask(String order, String answer) throws IOException {
            deadline = System.nanoTime() + LIMIT.toNanos();
            process.say(order);
            return process.expect(answer).split(" ");
        }
    }

    /**
     * Starts the processes.
     *
     * @param directory of a queue that does not exist yet
     */
    SoakRun(Path directory, long seed) throws IOException {
        this.directory = directory.toAbsolutePath();
        this.random = new SplittableRandom(seed);
        Map<String, String[]> readers = new LinkedHashMap<>();
        readers.put("reader 1", new String[] {"one"});
        readers.put("reader 2", new String[] {"two", "three"});
        try (MmapQueue queue = MmapQueue.open(SoakProcess.writer(directory))) {
            for (String[] consumers : readers.values()) {
                for (String consumer : consumers) {
                    queue.createConsumer(consumer, StartAt.EARLIEST);
                }
            }
        }
        Thread watch = new Thread(this::watch, "soak-watch");
        watch.setDaemon(true);
        watch.start();
        members.add(new Member("writer", "writer", random.nextLong(), "default"));
        for (Map.Entry<String, String[]> reader : readers.entrySet()) {
            members.add(new Member(reader.getKey(), "reader", random.nextLong(), reader.getValue()));
        }
        for (Member member : members) {
            member.process.expect("ready");
        }
    }

    // Kills a process that hangs, so the wait for its line ends.
    private void watch() {
        try {
            while (!ended) {
                Thread.sleep(200);
                if (deadline - System.nanoTime() < 0) {
                    members.forEach(member -> member.process.close());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Runs the processes, then counts the remaining records.
     *
     * @param time the least duration
     * @param samples the number of samples in that time
     */
    void run(Duration time, int samples) throws IOException, InterruptedException {
        try {
            work(time, samples);
            if (tally.faults().isEmpty()) {
                String[] pushed = members.get(0).ask("stop", "pushed");
                tally.add("records pushed", Long.parseLong(pushed[0]));
                for (Member member : members) {
                    member.process.say("until " + String.join(" ", pushed));
                }
                for (Member member : members) {
                    deadline = System.nanoTime() + LIMIT.toNanos();
                    member.process.expect("drained");
                }
            }
        } catch (IOException | RuntimeException | AssertionError e) {
            tally.fault("the run", e);
        }
        for (int i = members.size() - 1; i >= 0; i--) {
            end(members.get(i));
        }
        for (Growth growth : growths) {
            if (!growth.isGood()) {
                tally.fault(growth.toString(), new IllegalStateException(growth.verdict()));
            }
        }
    }

    private void work(Duration time, int samples) throws IOException, InterruptedException {
        long start = System.nanoTime();
        int taken = 0;
        while (tally.faults().isEmpty() && (taken < samples || System.nanoTime() - start < time.toNanos())) {
            if (taken < samples && System.nanoTime() - start >= time.toNanos() / samples * taken) {
                sample();
                taken++;
            }
            Member member = members.get(random.nextInt(members.size()));
            member.pause(random.nextInt(10) == 0 ? random.nextInt(500) : random.nextInt(50), false);
            Thread.sleep(random.nextInt(100));
        }
    }

    private void sample() throws IOException, InterruptedException {
        StringBuilder line = new StringBuilder();
        for (Member member : members) {
            member.pause(0, true);
            String[] sample = member.ask("sample", "sample");
            member.heap.add(Long.parseLong(sample[0]));
            if (!sample[1].equals("0")) {
                tally.fault(member.name, new IllegalStateException("reports a fault"));
            }
            line.append(line.length() == 0 ? "pushed " + sample[2] + ", end " + sample[3] + ", counted " : ", ")
                    .append(sample[4]);
        }
        progress = line.toString();
        tally.count("samples");
    }

    private void end(Member member) throws IOException, InterruptedException {
        deadline = System.nanoTime() + LIMIT.toNanos();
        try {
            member.process.say("close");
        } catch (IOException e) {
            tally.fault(member.name, e);
        }
        tally.addFrom(member.name, member.process);
        member.process.close();
    }

    /** The progress at the last sample. */
    String progress() {
        return progress;
    }

    Tally tally() {
        return tally;
    }

    /** The table of all figures. */
    String table() {
        StringBuilder table = new StringBuilder(Growth.head()).append(System.lineSeparator());
        growths.forEach(growth -> table.append(growth).append(System.lineSeparator()));
        return table.toString();
    }

    @Override
    public void close() {
        ended = true;
        members.forEach(member -> member.process.close());
    }
}
