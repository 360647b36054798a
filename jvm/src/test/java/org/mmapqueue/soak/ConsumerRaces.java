package org.mmapqueue.soak;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.StartAt;
import org.mmapqueue.support.ChildJvm;

/**
 * Races of several processes over one small ring that turns all the time. What goes wrong is in the tally; all that is
 * random comes from the seed, but for the processes' own pace.
 */
final class ConsumerRaces {
    private final Path directory;
    private final long seed;
    private final RaceTally tally = new RaceTally();

    /**
     * Races in a directory that does not exist yet.
     *
     * @param seed also says how large the ring is, and whether free files are deleted meanwhile
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

    /** Processes and threads make, move and delete consumers while space is reclaimed. */
    RaceTally registering(int processes, int threads, int times) throws Exception {
        // With retention the oldest record is the one whose space the writer takes next.
        long retained = seed % 3 == 0 ? 0 : (capacity() - 2L) * RaceRecords.SEGMENT;
        try (RaceWriter writer = new RaceWriter(
                RaceRecords.writer(directory, capacity()).retainBytes(retained).build(), tally)) {
            writer.acking().pushing(gcEach());
            Family family = new Family();
            for (int i = 0; i < processes; i++) {
                family.start(Registering.class, directory, "process-" + i, seed * 31 + i, times);
            }
            List<Thread> all = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                String wanted = i == 0 ? Registering.SHARED : "wanted-" + i;
                Registering registering = new Registering(writer.queue(), "thread-" + i, wanted, seed * 37 + i, tally);
                Thread thread = new Thread(() -> {
                    try {
                        registering.run(times);
                    } catch (InterruptedException e) {
                        tally.fault("a thread", e);
                    }
                });
                all.add(thread);
                thread.start();
            }
            family.await();
            for (Thread thread : all) {
                thread.join();
            }
        }
        return tally;
    }

    /** Processes that use a consumer are killed at any moment. */
    RaceTally killing(int kills) throws Exception {
        try (RaceWriter writer =
                RaceWriter.on(directory, capacity(), tally).acking().pushing(gcEach())) {
            new Killing(directory, seed, writer, tally).run(kills);
        }
        return tally;
    }

    /** Processes read by number and time while the writer overtakes them. */
    RaceTally browsing(int processes, int calls) throws Exception {
        long retained = seed % 3 * 2 * RaceRecords.SEGMENT;
        try (RaceWriter writer = new RaceWriter(
                RaceRecords.writer(directory, capacity()).retainBytes(retained).build(), tally)) {
            writer.acking().pushing(200);
            Family family = new Family();
            for (int i = 0; i < processes; i++) {
                family.start(Browsing.class, directory, seed * 41 + i, calls);
            }
            family.await();
        }
        return tally;
    }

    /** Two processes own two consumers, and every record is counted; only they give space free. */
    RaceTally owning(long records) throws Exception {
        try (RaceWriter writer = RaceWriter.on(directory, capacity(), tally)) {
            onlyOneAndTwo(writer);
            writer.pushing(gcEach(), records);
            Family family = new Family();
            family.start(Owning.class, directory, "one", records, seed * 43);
            family.start(Owning.class, directory, "two", records, seed * 47);
            family.await();
        }
        return tally;
    }

    /** Two processes' consumers fall behind further than they may. */
    RaceTally lagging(int drops) throws Exception {
        long lag = (capacity() - 3L) * RaceRecords.SEGMENT;
        try (RaceWriter writer = new RaceWriter(
                RaceRecords.writer(directory, capacity()).maxConsumerLag(lag).build(), tally)) {
            onlyOneAndTwo(writer);
            writer.pacing(20).pushing(gcEach());
            Family family = new Family();
            family.start(Lagging.class, directory, "one", seed * 53, drops);
            family.start(Lagging.class, directory, "two", seed * 59, drops);
            family.await();
        }
        return tally;
    }

    private static void onlyOneAndTwo(RaceWriter writer) {
        writer.queue().createConsumer("one", StartAt.EARLIEST);
        writer.queue().createConsumer("two", StartAt.EARLIEST);
    }

    /** Children that say a tally. */
    private final class Family {
        private final List<ChildJvm> children = new ArrayList<>();

        void start(Class<?> main, Object... arguments) throws IOException {
            children.add(new ChildJvm(main, arguments));
        }

        void await() throws IOException, InterruptedException {
            for (int i = 0; i < children.size(); i++) {
                try (ChildJvm child = children.get(i)) {
                    tally.take("process " + i, child);
                }
            }
        }
    }
}
