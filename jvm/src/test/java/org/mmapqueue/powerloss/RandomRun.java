package org.mmapqueue.powerloss;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.harness.KillPoint;
import org.mmapqueue.harness.TempQueues;

/** One run of the simulator: a seed determines the configuration, the operations and the cuts of the power. */
final class RandomRun {
    private static final List<String> NAMES = List.of("default", "a", "b", "c");

    private final TempQueues directories;
    private final SplittableRandom random;
    private final Counts counts;

    RandomRun(TempQueues directories, long seed, Counts counts) {
        this.directories = directories;
        this.random = new SplittableRandom(seed);
        this.counts = counts;
    }

    static QueueConfig configAt(Map<String, String> config, Path directory) {
        Map<String, String> values = new HashMap<>(config);
        values.put("queue_dir", directory.toString());
        return QueueConfig.of(values);
    }

    private Map<String, String> config() {
        Map<String, String> config = new HashMap<>();
        int size = 4096 << random.nextInt(3);
        int capacity = random.nextInt(6) == 0 ? 40 : 4 + random.nextInt(5);
        config.put("segment_size", Integer.toString(size));
        config.put("queue_capacity_segments", Integer.toString(capacity));
        config.put("max_in_mem_segments", "9");
        config.put("max_event_size", "9000");
        config.put("flush_period", "600000");
        config.put("timestamps", Boolean.toString(random.nextInt(3) > 0));
        switch (random.nextInt(6)) {
            case 0 -> config.put("retain_bytes", Integer.toString(2 * size));
            case 1 -> config.put("max_consumer_lag", Integer.toString((capacity - 2) * size));
            default -> {}
        }
        return config;
    }

    /** Runs with random cuts, before {@code percent} of the calls that change something and between operations. */
    void run(int operations, int percent) throws IOException {
        KillPoint killPoint = KillPoint.random(random.split(), percent);
        try (Simulator simulator = new Simulator(directories, random.split(), config(), killPoint, counts)) {
            simulator.checkCuts();
            for (int i = 0; i < operations; i++) {
                step(simulator);
                if (random.nextInt(30) == 0) {
                    simulator.cutNow();
                }
                simulator.checkCuts();
            }
        }
    }

    /** Runs the same operations with one cut, before the n-th call that changes something; false if there are fewer. */
    boolean cutAt(int number, int operations) throws IOException {
        KillPoint killPoint = KillPoint.at(number);
        try (Simulator simulator = new Simulator(directories, random.split(), config(), killPoint, counts)) {
            simulator.checkCuts();
            for (int i = 0; i < operations && !killPoint.wasReached(); i++) {
                step(simulator);
                simulator.checkCuts();
            }
        }
        return killPoint.wasReached();
    }

    private String anyName() {
        return NAMES.get(random.nextInt(NAMES.size()));
    }

    private void step(Simulator simulator) throws IOException {
        List<String> consumers = simulator.consumers();
        if (consumers.isEmpty()) {
            stepWithoutConsumers(simulator);
            return;
        }
        String name = consumers.get(random.nextInt(consumers.size()));
        switch (random.nextInt(63)) {
            case 0, 1 -> simulator.flush();
            case 2, 3 -> simulator.push(random.nextInt(1500), true);
            case 4, 5, 6 -> simulator.housekeeperStep();
            case 7, 8 -> simulator.writeBack();
            case 9, 10, 11, 12 -> simulator.pushBatch(2 + random.nextInt(5), random.nextInt(1200));
            case 13, 14, 15, 16, 17, 18, 19 -> simulator.pop(name, 1 + random.nextInt(15));
            case 20, 21, 22, 23, 24, 25, 26, 27 -> simulator.ack(name);
            case 28, 29, 30 -> simulator.ackSingle(name);
            case 31 -> simulator.nack(name);
            case 32 -> simulator.seek(name);
            case 33, 34 -> simulator.createConsumer(anyName());
            case 35 -> simulator.deleteConsumer(name);
            case 36 -> simulator.closeConsumer(name);
            case 37 -> simulator.gc();
            case 38 -> simulator.reopen();
            case 39 -> end(simulator);
            case 40, 41, 42 -> simulator.flushMost();
            default -> push(simulator, consumers);
        }
    }

    private void stepWithoutConsumers(Simulator simulator) throws IOException {
        switch (random.nextInt(16)) {
            case 0 -> simulator.flush();
            case 1 -> simulator.push(random.nextInt(1500), true);
            case 2 -> simulator.housekeeperStep();
            case 3 -> simulator.writeBack();
            case 4 -> simulator.pushBatch(2 + random.nextInt(5), random.nextInt(1200));
            case 5, 6 -> simulator.createConsumer(anyName());
            case 7 -> simulator.gc();
            case 8 -> end(simulator);
            case 9 -> simulator.flushMost();
            default -> {
                if (!simulator.push(random.nextInt(1000), false)) {
                    simulator.createConsumer(anyName());
                }
            }
        }
    }

    private void end(Simulator simulator) throws IOException {
        switch (random.nextInt(3)) {
            case 0 -> simulator.kill();
            case 1 -> simulator.losePower();
            default -> simulator.reopen();
        }
    }

    // When the ring is full, all consumers have to ack; else every later push would fail as well.
    private void push(Simulator simulator, List<String> consumers) {
        int length = random.nextInt(random.nextInt(15) == 0 ? 9000 : 1000);
        if (!simulator.push(length, false)) {
            for (String each : consumers) {
                simulator.pop(each, 30);
                simulator.ack(each);
            }
        }
    }
}
