package org.mmapqueue.crash;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.harness.TestRecord;

/**
 * The configuration of one directory and the work in it. All of it follows from a seed, so a worker process and the
 * kill loop derive the same plan.
 *
 * @param threads for each consumer in {@link #NAMES}, how many threads of the writing process pop it
 * @param churns consumers that are repeatedly created and deleted, by their index in NAMES
 * @param reads whether read-only processes own the consumer {@link #READER}
 * @param sessionMillis how long a process works until it closes and opens again; 0 = until it is killed
 * @param pauseMicros the longest pause of a producer between two pushes
 */
record Plan(
        int version,
        int segmentSize,
        int capacity,
        int maxInMem,
        int maxEvent,
        boolean timestamps,
        int flushMillis,
        int flushCeiling,
        long retainBytes,
        int gcOnIdleMillis,
        String waitStrategy,
        int producers,
        List<Integer> threads,
        List<Integer> churns,
        boolean reads,
        int maxPayload,
        int maxBatch,
        int sessionMillis,
        int pauseMicros) {
    /** The names of all consumers. */
    static final List<String> NAMES = List.of("default", "a", "b", "reader", "churn-0", "churn-1");
    /** The index of the consumer of read-only processes. */
    static final int READER = 3;

    private static final int MIN_PAYLOAD = TestRecord.MIN_LENGTH;

    /** The plan of a seed, for version 1 or 2. */
    static Plan of(long seed, int version) {
        SplittableRandom random = new SplittableRandom(seed);
        int segment = segmentSize(random);
        int capacity = segment >= 1 << 20 ? 4 + random.nextInt(3) : 5 + random.nextInt(random.nextBoolean() ? 8 : 60);
        if (version == 1) {
            capacity += 3; // which keeps three segments free
        }
        // In version 1 a push needs room for the largest record, whatever its own size.
        long room = (long) (capacity - (version == 1 ? 4 : 2)) * (segment - 64) - 64;
        int maxEvent = (int) Math.min(
                room, random.nextInt(3) == 0 ? 2L * segment + random.nextInt(segment) : 600 + random.nextInt(3000));
        maxEvent = Math.min(maxEvent, 3 << 20);
        Integer[] threads = new Integer[NAMES.size()];
        Arrays.fill(threads, 0);
        boolean churnsDefault = version == 2 && random.nextInt(4) == 0;
        boolean many = random.nextBoolean();
        threads[0] = churnsDefault ? 0 : 1 + random.nextInt(many ? 3 : 1);
        threads[1] = version == 1 || !churnsDefault && random.nextBoolean() ? 0 : 1;
        threads[2] = version == 1 || random.nextInt(3) > 0 ? 0 : 1 + random.nextInt(2);
        List<Integer> churns = version == 1
                ? List.of()
                : churnsDefault ? List.of(0, 4) : random.nextBoolean() ? List.of(4, 5) : List.of();
        boolean reads = version == 2 && random.nextInt(3) > 0;
        int open = 3 + churns.size() + (reads ? 1 : 0);
        return new Plan(
                version,
                segment,
                capacity,
                3 + open + random.nextInt(random.nextBoolean() ? 3 : 12),
                maxEvent,
                version == 2 && random.nextBoolean(),
                choice(random, 3, 30, 1000),
                choice(random, 10, 300, 10_000),
                version == 2 && random.nextInt(3) == 0 ? (long) segment * (1 + random.nextInt(4)) : 0,
                random.nextInt(4) == 0 ? 5 : 0,
                random.nextBoolean() ? "park" : "backoff",
                1 + random.nextInt(4),
                List.of(threads),
                churns,
                reads,
                Math.min(maxEvent, choice(random, 60, 700, 5000, maxEvent)),
                choice(random, 1, 8, 60),
                choice(random, 0, 0, 4, 30, 120),
                choice(random, 0, 100, 1000));
    }

    private static int segmentSize(SplittableRandom random) {
        return random.nextInt(8) == 0
                ? choice(random, 1 << 20, 8 << 20)
                : choice(random, 4096, 4096, 4096, 8192, 16_384, 131_072);
    }

    private static int choice(SplittableRandom random, int... values) {
        return values[random.nextInt(values.length)];
    }

    /** Whether one thread makes all calls of a consumer, so that the order of its pops is known. */
    boolean isSolo(int consumer) {
        return threads.get(consumer) <= 1;
    }

    /** The largest batch, in bytes, that fits into an empty ring. */
    int maxBatchBytes() {
        return Math.max(MIN_PAYLOAD, (capacity - 2) * (segmentSize - 64) / 3);
    }

    /** A length for the next record. */
    int length(SplittableRandom random) {
        int max = random.nextInt(25) == 0 ? maxEvent : maxPayload;
        return MIN_PAYLOAD + random.nextInt(Math.max(1, max - MIN_PAYLOAD + 1));
    }

    QueueConfig config(Path directory) {
        QueueConfig.Builder builder = QueueConfig.builder(directory)
                .formatVersion(version)
                .segmentSize(segmentSize)
                .queueCapacitySegments(capacity)
                .maxInMemSegments(maxInMem)
                .maxEventSize(maxEvent)
                .flushPeriod(Duration.ofMillis(flushMillis))
                .flushCeilingNum(flushCeiling)
                .gcOnIdle(Duration.ofMillis(gcOnIdleMillis))
                .waitStrategy(waitStrategy);
        return version == 1
                ? builder.v1Recover("writing").build()
                : builder.timestamps(timestamps).retainBytes(retainBytes).build();
    }

    QueueConfig readerConfig(Path directory) {
        return QueueConfig.builder(directory)
                .readOnly(true)
                .maxInMemSegments(maxInMem)
                .waitStrategy(waitStrategy)
                .build();
    }
}
