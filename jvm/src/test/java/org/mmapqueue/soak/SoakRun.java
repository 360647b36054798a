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
import org.mmapqueue.support.ChildJvm;

/**
 * Processes at work on one queue, stopped and continued at random, for some time: every record is counted, and what the
 * processes hold is sampled. One writes with several producers and has a consumer, two have consumers only. All that is
 * random comes from the seed, but for the processes' own pace.
 */
final class SoakRun implements AutoCloseable {
    private static final int PAGE = 4096;
    private static final int KIB = 1 << 10;
    private static final int MIB = 1 << 20;
    private static final int CONSUMERS = 3;
    private static final Duration PATIENCE = Duration.ofMinutes(3);

    private final Path directory;
    private final SplittableRandom random;
    private final RaceTally tally = new RaceTally();
    private final List<Member> members = new CopyOnWriteArrayList<>();
    private final List<Growth> growths = new ArrayList<>();
    private volatile long deadline = System.nanoTime() + PATIENCE.toNanos();
    private volatile boolean ended;
    private volatile String progress = "";

    /** A process and what is sampled of it. */
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
            // One for each consumer and meta.dat; those of an object that is closed go with the next collection.
            pages = growth("other files mapped, KiB", KIB, 0, 4 * (1 + CONSUMERS) * (long) PAGE);
            descriptors = growth("file descriptors", 1, SoakProcess.MAPPED + 4, Long.MAX_VALUE);
            threads = growth("threads", 1, 2, Long.MAX_VALUE);
        }

        private Growth growth(String what, long unit, long allowance, long limit) {
            Growth growth = new Growth(name + ": " + what, unit, allowance, limit);
            growths.add(growth);
            return growth;
        }

        // The sleeps are the pause itself, and the time that the kernel takes to stop the last thread.
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
            deadline = System.nanoTime() + PATIENCE.toNanos();
            process.say(order);
            return process.expect(answer).split(" ");
        }
    }

    /**
     * Starts the processes.
     *
     * @param directory of a queue that is not there yet
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

    // A process that hangs is killed, so that its line is not waited for without end.
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
     * Lets them work, then counts what is left.
     *
     * @param time how long, at least
     * @param samples how often to sample meanwhile
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
                    deadline = System.nanoTime() + PATIENCE.toNanos();
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
            String[] said = member.ask("sample", "sample");
            member.heap.add(Long.parseLong(said[0]));
            if (!said[1].equals("0")) {
                tally.fault(member.name, new IllegalStateException("has found a fault"));
            }
            line.append(line.length() == 0 ? "pushed " + said[2] + ", end " + said[3] + ", counted " : ", ")
                    .append(said[4]);
        }
        progress = line.toString();
        tally.count("samples");
    }

    private void end(Member member) throws IOException, InterruptedException {
        deadline = System.nanoTime() + PATIENCE.toNanos();
        try {
            member.process.say("close");
        } catch (IOException e) {
            tally.fault(member.name, e);
        }
        tally.take(member.name, member.process);
        member.process.close();
    }

    /** How far everybody was at the last sample. */
    String progress() {
        return progress;
    }

    RaceTally tally() {
        return tally;
    }

    /** The closing table. */
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
