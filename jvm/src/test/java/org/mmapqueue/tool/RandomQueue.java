package org.mmapqueue.tool;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.mmapqueue.Consumer;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.TooLargeException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;

/**
 * A small random queue with known content: sizes, records, consumers, acks, seeks, gc, kills and closes are random.
 * Mostly with retention. For one use.
 */
final class RandomQueue {
    private static final int STEPS = 120;
    private static final int[] LARGEST = {40, 300, 3_000, 9_000, 20_000};

    /**
     * The known content.
     *
     * @param payloads of all records that were pushed, by offset
     * @param first the offset of the first record that is retained
     * @param isClosed whether the last writer closed it; else it was killed
     * @param committed by consumer, the offset of the first record that is not acked
     */
    record Made(List<byte[]> payloads, long first, boolean isClosed, Map<String, Long> committed) {}

    private final Random random;
    private final Path at;
    private final Path aside;
    private final List<byte[]> payloads = new ArrayList<>();
    private final int largest;
    private final QueueConfig config;
    private MmapQueue queue;

    RandomQueue(long seed, Path at, Path aside) {
        this.random = new Random(seed * 1_000_003);
        this.at = at;
        this.aside = aside;
        int segment = random.nextInt(4) == 0 ? 8192 : 4096;
        int capacity = 4 + random.nextInt(9);
        this.largest = Math.min(LARGEST[random.nextInt(LARGEST.length)], (capacity - 3) * (segment - 64));
        QueueConfig.Builder builder = QueueConfig.builder(at)
                .segmentSize(segment)
                .queueCapacitySegments(capacity)
                .maxInMemSegments(8)
                .maxEventSize(largest)
                .flushPeriod(Duration.ofMinutes(10));
        boolean stamped = random.nextInt(4) > 0;
        builder.timestamps(stamped);
        switch (random.nextInt(4)) {
            case 0 -> {}
            case 1 -> builder.retain(Duration.ofMillis(stamped ? 3_600_000 : 0));
            default -> builder.retainBytes(segment * (1L + random.nextInt(capacity)));
        }
        this.config = builder.build();
    }

    Made make() {
        queue = MmapQueue.open(config);
        for (int i = 0; i < STEPS; i++) {
            step();
        }
        boolean isClosed = random.nextInt(3) > 0;
        Map<String, Long> committed = new TreeMap<>();
        for (ConsumerStats each : queue.consumerStats()) {
            committed.put(each.name(), each.committedOffset());
        }
        long first = queue.firstOffset();
        if (isClosed) {
            queue.close();
        } else {
            kill();
        }
        return new Made(payloads, first, isClosed, committed);
    }

    private void kill() {
        Directories.copy(at, aside);
        queue.close();
        Directories.delete(at);
        Directories.copy(aside, at);
        Directories.delete(aside);
    }

    private void step() {
        switch (random.nextInt(30)) {
            case 0 -> {
                queue.close();
                queue = MmapQueue.open(config);
            }
            case 1 -> {
                kill();
                queue = MmapQueue.open(config);
            }
            case 2 -> queue.flush();
            case 3 -> queue.gc();
            case 4 -> {
                if (queue.consumers().size() < 3) {
                    queue.createConsumer(
                            "c" + random.nextInt(100), random.nextBoolean() ? StartAt.EARLIEST : StartAt.LATEST);
                }
            }
            case 5 -> {
                List<String> names = queue.consumers();
                if (names.size() > 1) {
                    queue.deleteConsumer(names.get(random.nextInt(names.size())));
                }
            }
            case 6 -> any().seek(random.nextBoolean() ? StartAt.EARLIEST : StartAt.LATEST);
            case 7, 8, 9, 10 -> consume(any());
            case 11, 12 -> batch();
            default -> {
                for (int i = random.nextInt(8); i >= 0; i--) {
                    push(List.of(next(0)));
                }
            }
        }
    }

    private Consumer any() {
        List<String> names = queue.consumers();
        return names.isEmpty()
                ? queue.consumer()
                : queue.consumer(names.get(random.nextInt(names.size())), StartAt.EARLIEST);
    }

    private void consume(Consumer consumer) {
        List<Long> popped = new ArrayList<>();
        for (int i = random.nextInt(30); i >= 0; i--) {
            Message message = consumer.poll();
            if (message != null) {
                popped.add(message.offset());
            }
        }
        if (!popped.isEmpty() && random.nextInt(5) > 0) {
            long last = popped.get(random.nextInt(popped.size()));
            if (random.nextInt(4) == 0) {
                consumer.ack(last);
            } else {
                consumer.ackUpTo(last);
            }
        }
    }

    private void batch() {
        List<byte[]> batch = new ArrayList<>();
        for (int i = random.nextInt(5); i >= 0; i--) {
            batch.add(next(batch.size()));
        }
        push(batch);
    }

    private byte[] next(int ahead) {
        int length = random.nextInt(6) == 0 ? random.nextInt(largest + 1) : random.nextInt(Math.min(largest, 400) + 1);
        return Payload.of(payloads.size() + ahead, length);
    }

    // In a full ring, each consumer acks all records.
    private void push(List<byte[]> batch) {
        for (int tries = 0; ; tries++) {
            try {
                if (batch.size() == 1) {
                    queue.push(batch.get(0));
                } else {
                    queue.pushBatch(batch);
                }
                payloads.addAll(batch);
                return;
            } catch (TooLargeException e) {
                return;
            } catch (FullException e) {
                if (tries > 0) {
                    return; // a batch that this ring has no room for at this place
                }
                for (String name : queue.consumers()) {
                    queue.consumer(name, StartAt.EARLIEST).seek(StartAt.LATEST);
                }
            }
        }
    }
}
