package org.mmapqueue.soak;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.StartAt;
import org.mmapqueue.harness.Tally;
import org.mmapqueue.support.ChildJvm;

/**
 * Races of several processes over one small ring that wraps all the time. The tally has the faults. Everything random
 * but the speed of the processes follows from the seed.
 */
final class ConsumerRaces {
    private final Path directory;
    private final long seed;
    private final Tally tally = new Tally();

    /**
     * Starts nothing yet.
     *
     * @param directory does not exist
     * @param seed also determines the size of the ring, and whether free files are deleted during the race
     */
    ConsumerRaces(Path directory, long seed) {
        this.directory = directory;
        this.seed = seed;
    }

    private int capacity() {
        return 8 + (int) Math.floorMod(seed * 5, 9L);
    }

    private int gcEach() {
        return seed % 2 == 0 ? 0 : 700;
    }

    /** Processes and threads create, move and delete consumers while slots are reclaimed. */
    Tally churn(int processes, int threads, int times) throws Exception {
        // With retention the writer overwrites the oldest record next.
        long retained = seed % 3 == 0 ? 0 : (capacity() - 2L) * RaceRecords.SEGMENT;
        try (RaceWriter writer = new RaceWriter(
                RaceRecords.writer(directory, capacity()).retainBytes(retained).build(), tally)) {
            writer.acking().pushing(gcEach());
            Children children = new Children();
            for (int i = 0; i < processes; i++) {
                children.start(ConsumerChurn.class, directory, "process-" + i, seed * 31 + i, times);
            }
            List<Thread> all = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                String contended = i == 0 ? ConsumerChurn.SHARED : "contended-" + i;
                ConsumerChurn churn = new ConsumerChurn(writer.queue(), "thread-" + i, contended, seed * 37 + i, tally);
                Thread thread = new Thread(() -> {
                    try {
                        churn.run(times);
                    } catch (InterruptedException e) {
                        tally.fault("a thread", e);
                    }
                });
                all.add(thread);
                thread.start();
            }
            children.await();
            for (Thread thread : all) {
                thread.join();
            }
        }
        return tally;
    }

    /** Processes that use a consumer are killed at random instants. */
    Tally kills(int kills) throws Exception {
        try (RaceWriter writer =
                RaceWriter.on(directory, capacity(), tally).acking().pushing(gcEach())) {
            new KilledConsumers(directory, seed, writer, tally).run(kills);
        }
        return tally;
    }

    /** Processes read by offset and time while the writer overtakes them. */
    Tally reads(int processes, int calls) throws Exception {
        long retained = seed % 3 * 2 * RaceRecords.SEGMENT;
        try (RaceWriter writer = new RaceWriter(
                RaceRecords.writer(directory, capacity()).retainBytes(retained).build(), tally)) {
            writer.acking().pushing(200);
            Children children = new Children();
            for (int i = 0; i < processes; i++) {
                children.start(RandomReader.class, directory, seed * 41 + i, calls);
            }
            children.await();
        }
        return tally;
    }

    /** Two processes own a consumer each, and count and ack every record; only their acks free slots. */
    Tally acks(long records) throws Exception {
        try (RaceWriter writer = RaceWriter.on(directory, capacity(), tally)) {
            createConsumers(writer);
            writer.pushing(gcEach(), records);
            Children children = new Children();
            children.start(AckedRecords.class, directory, "one", records, seed * 43);
            children.start(AckedRecords.class, directory, "two", records, seed * 47);
            children.await();
        }
        return tally;
    }

    /** Consumers of two processes lag by more than max_consumer_lag. */
    Tally lag(int drops) throws Exception {
        long lag = (capacity() - 3L) * RaceRecords.SEGMENT;
        try (RaceWriter writer = new RaceWriter(
                RaceRecords.writer(directory, capacity()).maxConsumerLag(lag).build(), tally)) {
            createConsumers(writer);
            writer.pacing(20).pushing(gcEach());
            Children children = new Children();
            children.start(LaggingConsumer.class, directory, "one", seed * 53, drops);
            children.start(LaggingConsumer.class, directory, "two", seed * 59, drops);
            children.await();
        }
        return tally;
    }

    private static void createConsumers(RaceWriter writer) {
        writer.queue().createConsumer("one", StartAt.EARLIEST);
        writer.queue().createConsumer("two", StartAt.EARLIEST);
    }

    /** Child processes that print a tally. */
    private final class Children {
        private final List<ChildJvm> processes = new ArrayList<>();

        void start(Class<?> main, Object... arguments) throws IOException {
            processes.add(new ChildJvm(main, arguments));
        }

        void await() throws IOException, InterruptedException {
            for (int i = 0; i < processes.size(); i++) {
                try (ChildJvm child = processes.get(i)) {
                    tally.addFrom("process " + i, child);
                }
            }
        }
    }
}
