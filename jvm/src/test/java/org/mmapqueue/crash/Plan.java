package org.mmapqueue.crash;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.mmapqueue.QueueConfig;

/**
 * How one directory is made and worked on. All of it follows from a seed, so that a killed process and the one that
 * checks it agree without a word.
 *
 * @param threads of each consumer in {@link #NAMES} how many threads pop it in the process that writes; 0 = it is
 *     somebody else's
 * @param churns consumers that are made and deleted again and again, by their place in NAMES
 * @param reads whether a process that only reads owns the consumer {@link #READER}
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
    /** The consumers that there can be. */
    static final List<String> NAMES = List.of("default", "a", "b", "reader", "churn-0", "churn-1");
    /** The place of the consumer that belongs to processes that only read, while there are such. */
    static final int READER = 3;

    private static final int LEAST_PAYLOAD = 16;

    /** The plan that follows from a seed; of version 2, or 1. */
    static Plan of(long seed, int version) {
        SplittableRandom random = new SplittableRandom(seed);
        int segment = segmentSize(random);
        int capacity = segment >= 1 << 20 ? 4 + random.nextInt(3) : 5 + random.nextInt(random.nextBoolean() ? 8 : 60);
        if (version == 1) {
            capacity += 3; // which keeps so many free
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

    /** Whether all that a consumer does is done by one thread, so that the order of its pops can be told. */
    boolean isSolo(int consumer) {
        return threads.get(consumer) <= 1;
    }

    /** The bytes that a batch may have so that it always fits when nothing is held. */
    int mostBatchBytes() {
        return Math.max(LEAST_PAYLOAD, (capacity - 2) * (segmentSize - 64) / 3);
    }

    /** A length for the next record. */
    int length(SplittableRandom random) {
        int most = random.nextInt(25) == 0 ? maxEvent : maxPayload;
        return LEAST_PAYLOAD + random.nextInt(Math.max(1, most - LEAST_PAYLOAD + 1));
    }

    QueueConfig config(Path directory) {
        QueueConfig.Builder builder = QueueConfig.builder(directory)
                .formatVersion(version)
                .segmentSize(segmentSize)
                .queueCapacitySegments(capacity)
                .maxInMemSegments(maxInMem)
                .maxEventSize(maxEvent)
                .flushPeriodMillis(flushMillis)
                .flushCeilingNum(flushCeiling)
                .gcOnIdleMillis(gcOnIdleMillis)
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
