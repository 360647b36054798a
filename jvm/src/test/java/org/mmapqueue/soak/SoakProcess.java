package org.mmapqueue.soak;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryType;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.harness.Tally;

/**
 * One process of a {@link SoakRun}: consumers, and in the writer also producers. It obeys lines: {@code sample} prints
 * the heap after a collection and the progress, {@code stop} stops the producers and prints their records, {@code until}
 * waits until these have been popped, {@code close} ends.
 */
final class SoakProcess {
    static final int PRODUCERS = 4;
    static final int SEGMENT = 64 << 10;
    static final int CAPACITY = 64;
    static final int MAPPED = 8;
    private static final int THREADS = 2;

    private final MmapQueue queue;
    private final SplittableRandom random;
    private final Tally tally;
    private final List<SoakActors.Producer> producers = new ArrayList<>();
    private final List<Thread> producing = new ArrayList<>();
    private final Map<Consumer, SoakCounter> consumers = new LinkedHashMap<>();
    private final List<Thread> consuming = new ArrayList<>();
    private final Goal goal = new Goal();

    /** The offset up to which consumers continue. */
    static final class Goal {
        private volatile long offset = Long.MAX_VALUE;

        long offset() {
            return offset;
        }
    }

    private SoakProcess(MmapQueue queue, long seed, Tally tally) {
        this.tally = tally;
        this.queue = queue;
        this.random = new SplittableRandom(seed);
    }

    static QueueConfig writer(Path directory) {
        return QueueConfig.builder(directory)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(CAPACITY)
                .maxInMemSegments(MAPPED)
                .flushPeriod(Duration.ofMillis(100))
                .build();
    }

    private static QueueConfig reader(Path directory) {
        return QueueConfig.builder(directory)
                .readOnly(true)
                .maxInMemSegments(MAPPED)
                .build();
    }

    /** Arguments: directory, seed, "writer" or "reader", names of consumers. */
    public static void main(String[] args) throws Exception {
        boolean writes = args[2].equals("writer");
        Path directory = Path.of(args[0]);
        Tally tally = new Tally();
        try (MmapQueue queue = MmapQueue.open(writes ? writer(directory) : reader(directory))) {
            SoakProcess process = new SoakProcess(queue, Long.parseLong(args[1]), tally);
            process.start(writes ? PRODUCERS : 0, Arrays.asList(args).subList(3, args.length));
            process.obey();
        }
        tally.print();
    }

    private void start(int producers, List<String> names) {
        for (String name : names) {
            Consumer consumer = queue.consumer(name, StartAt.EARLIEST);
            SoakCounter counter = new SoakCounter(name, PRODUCERS);
            consumers.put(consumer, counter);
            for (int i = 0; i < THREADS; i++) {
                SoakActors.Reader reader = new SoakActors.Reader(consumer, counter, random.split());
                consuming.add(thread(name + "-" + i, () -> reader.run(goal)));
            }
        }
        for (int i = 0; i < producers; i++) {
            SoakActors.Producer producer = new SoakActors.Producer(queue, i, random.split());
            this.producers.add(producer);
            producing.add(thread("producer-" + i, producer::run));
        }
    }

    private interface Work {
        void run() throws InterruptedException;
    }

    // A thread that finds a fault ends; the next sample reports it, and the run ends.
    private Thread thread(String name, Work work) {
        Thread thread = new Thread(
                () -> {
                    try {
                        work.run();
                    } catch (InterruptedException | RuntimeException | Error e) {
                        tally.fault(name, e);
                    }
                },
                name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private void obey() throws IOException, InterruptedException {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        System.out.println("ready");
        for (String line = orders.readLine(); line != null && !line.equals("close"); line = orders.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "sample" -> sample();
                case "stop" -> stop();
                case "until" -> until(words);
                default -> throw new IllegalArgumentException(line);
            }
        }
    }

    private void sample() {
        System.gc();
        // What each pool held after its last collection: the threads continue.
        long heap = ManagementFactory.getMemoryPoolMXBeans().stream()
                .filter(pool -> pool.getType() == MemoryType.HEAP)
                .mapToLong(pool -> pool.getCollectionUsage().getUsed())
                .sum();
        long pushed = producers.stream().mapToLong(SoakActors.Producer::pushed).sum();
        System.out.println("sample " + heap + " " + tally.faults().size()
                + " " + pushed + " " + queue.endOffset() + " "
                + consumers.values().stream()
                        .mapToLong(SoakCounter::counted)
                        .min()
                        .orElse(0));
    }

    private void stop() throws InterruptedException {
        producers.forEach(SoakActors.Producer::stop);
        for (Thread thread : producing) {
            thread.join();
        }
        StringBuilder line = new StringBuilder("pushed ").append(queue.endOffset());
        producers.forEach(producer -> line.append(' ').append(producer.pushed()));
        System.out.println(line);
    }

    private void until(String[] words) throws InterruptedException {
        long end = Long.parseLong(words[1]);
        long[] pushed = Arrays.stream(words).skip(2).mapToLong(Long::parseLong).toArray();
        goal.offset = end;
        for (Thread thread : consuming) {
            thread.join();
        }
        consumers.forEach((consumer, counter) -> check(consumer, counter, end, pushed));
        System.out.println("drained");
    }

    private void check(Consumer consumer, SoakCounter counter, long end, long[] pushed) {
        try {
            RaceRecords.require(
                    Arrays.stream(pushed).sum() == end,
                    "the queue ends at " + end + ", but pushed were " + Arrays.toString(pushed));
            counter.require(pushed);
            RaceRecords.require(consumer.poll() == null, "a record follows the last one");
            if (end > 0) {
                consumer.ackUpTo(end - 1);
            }
            RaceRecords.require(
                    consumer.committedOffset() == end && consumer.unacked() == 0 && consumer.lag() == 0,
                    "all is acked, but committed is " + consumer.committedOffset() + " of " + end);
            tally.add("records counted", end);
        } catch (RuntimeException e) {
            tally.fault(consumer.name(), e);
        }
    }
}
