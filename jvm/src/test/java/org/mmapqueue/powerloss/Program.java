package org.mmapqueue.powerloss;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** One run: a configuration and operations that a seed says, and cuts of the power on the way. */
final class Program {
    private static final List<String> NAMES = List.of("default", "a", "b", "c");

    private final Workshop workshop;
    private final SplittableRandom random;
    private final Tally tally;

    Program(Workshop workshop, long seed, Tally tally) {
        this.workshop = workshop;
        this.random = new SplittableRandom(seed);
        this.tally = tally;
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

    /** Runs; every cut at random, about {@code cuts} of a hundred calls that change something. */
    void run(int operations, int cuts) throws IOException {
        SplittableRandom when = random.split();
        try (Life life =
                new Life(workshop, random.split(), config(), (operation, call) -> when.nextInt(100) < cuts, tally)) {
            life.checkCuts();
            for (int i = 0; i < operations; i++) {
                step(life);
                if (random.nextInt(30) == 0) {
                    life.cutNow();
                }
                life.checkCuts();
            }
        }
    }

    /** Runs the same operations and cuts at the n-th call that changes something; false when there are less. */
    static boolean cutAt(Workshop workshop, long seed, int operations, int number, Tally tally) throws IOException {
        Program program = new Program(workshop, seed, tally);
        int[] left = {number};
        try (Life life = new Life(
                workshop, program.random.split(), program.config(), (operation, call) -> left[0]-- == 0, tally)) {
            life.checkCuts();
            for (int i = 0; i < operations && left[0] >= 0; i++) {
                program.step(life);
                life.checkCuts();
            }
        }
        return left[0] < 0;
    }

    private void step(Life life) throws IOException {
        List<String> readers = life.readers();
        if (readers.isEmpty()) {
            stepWithoutReaders(life);
            return;
        }
        String name = readers.get(random.nextInt(readers.size()));
        switch (random.nextInt(63)) {
            case 0, 1 -> life.flush();
            case 2, 3 -> life.push(random.nextInt(1500), true);
            case 4, 5, 6 -> life.keepHouse();
            case 7, 8 -> life.writeBack();
            case 9, 10, 11, 12 -> life.pushBatch(2 + random.nextInt(5), random.nextInt(1200));
            case 13, 14, 15, 16, 17, 18, 19 -> life.pop(name, 1 + random.nextInt(15));
            case 20, 21, 22, 23, 24, 25, 26, 27 -> life.ack(name);
            case 28, 29, 30 -> life.ackSingle(name);
            case 31 -> life.nack(name);
            case 32 -> life.seek(name);
            case 33, 34 -> life.make(NAMES.get(random.nextInt(NAMES.size())));
            case 35 -> life.delete(name);
            case 36 -> life.closeConsumer(name);
            case 37 -> life.gc();
            case 38 -> life.reopen();
            case 39 -> rarely(life);
            case 40, 41, 42 -> life.flushMost();
            default -> push(life, readers);
        }
    }

    private void stepWithoutReaders(Life life) throws IOException {
        switch (random.nextInt(16)) {
            case 0 -> life.flush();
            case 1 -> life.push(random.nextInt(1500), true);
            case 2 -> life.keepHouse();
            case 3 -> life.writeBack();
            case 4 -> life.pushBatch(2 + random.nextInt(5), random.nextInt(1200));
            case 5, 6 -> life.make(NAMES.get(random.nextInt(NAMES.size())));
            case 7 -> life.gc();
            case 8 -> rarely(life);
            case 9 -> life.flushMost();
            default -> {
                if (!life.push(random.nextInt(1000), false)) {
                    life.make(NAMES.get(random.nextInt(NAMES.size())));
                }
            }
        }
    }

    private void rarely(Life life) throws IOException {
        switch (random.nextInt(3)) {
            case 0 -> life.kill();
            case 1 -> life.lose();
            default -> life.reopen();
        }
    }

    // When the ring is full everybody has to move on, or nothing would happen any more.
    private void push(Life life, List<String> readers) {
        int length = random.nextInt(random.nextInt(15) == 0 ? 9000 : 1000);
        if (!life.push(length, false)) {
            for (String each : readers) {
                life.pop(each, 30);
                life.ack(each);
            }
        }
    }
}
