package org.mmapqueue.soak;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.harness.TestRecord;

/** The threads of a {@link SoakProcess}. They pause at random while the others continue. */
final class SoakActors {
    private static final Duration LIMIT = Duration.ofMinutes(2);
    private static final Duration SLICE = Duration.ofMillis(50);
    private static final int MAX = 300;

    private SoakActors() {}

    /** A producer; its records are numbered without a gap. */
    static final class Producer {
        private final MmapQueue queue;
        private final int number;
        private final SplittableRandom random;
        private volatile long pushed;
        private volatile boolean stopped;

        Producer(MmapQueue queue, int number, SplittableRandom random) {
            this.queue = queue;
            this.number = number;
            this.random = random;
        }

        long pushed() {
            return pushed;
        }

        void stop() {
            stopped = true;
        }

        void run() throws InterruptedException {
            long next = 0;
            while (!stopped) {
                for (int left = 1 + random.nextInt(MAX); left > 0 && !stopped; left--) {
                    next = random.nextInt(8) == 0 ? pushBatch(next) : push(next);
                    pushed = next;
                }
                Thread.sleep(1 + random.nextInt(15));
                pause(random, 200);
            }
        }

        private long push(long next) throws InterruptedException {
            byte[] record = RaceRecords.of(TestRecord.key(0, number, next));
            if (random.nextInt(2000) == 0) {
                queue.pushSync(record, LIMIT);
            } else {
                queue.push(record, LIMIT);
            }
            return next + 1;
        }

        private long pushBatch(long next) throws InterruptedException {
            List<byte[]> batch = new ArrayList<>();
            int count = 1 + random.nextInt(20);
            for (int i = 0; i < count; i++) {
                batch.add(RaceRecords.of(TestRecord.key(0, number, next + i)));
            }
            queue.pushBatch(batch, LIMIT);
            return next + count;
        }
    }

    /** A thread of a consumer: pops, counts, acks its own records out of order at times, and all that were counted. */
    static final class Reader {
        private final Consumer consumer;
        private final SoakCounter counter;
        private final SplittableRandom random;
        private final long[] keys = new long[MAX];
        private long first;
        private int count;

        Reader(Consumer consumer, SoakCounter counter, SplittableRandom random) {
            this.consumer = consumer;
            this.counter = counter;
            this.random = random;
        }

        /** Returns when all records were counted. */
        void run(SoakProcess.Goal goal) throws InterruptedException {
            while (counter.counted() < goal.offset()) {
                count = 0;
                consumer.popBatch(1 + random.nextInt(MAX), 1 << 20, SLICE, this::add);
                if (count > 0) {
                    pause(random, 1000);
                    ack();
                }
            }
        }

        private void add(long offset, long micros, byte[] buffer, int from, int length, int attempts) {
            if (count == 0) {
                first = offset;
            }
            RaceRecords.require(
                    offset == first + count && attempts == 1,
                    "offset " + offset + ", attempt " + attempts + ", comes after " + (first + count - 1));
            keys[count] = RaceRecords.key(buffer, from, length);
            count++;
            try {
                pause(random, 50_000); // holds the lock of the consumer
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        private void ack() {
            long counted = counter.count(first, Arrays.copyOf(keys, count));
            if (random.nextInt(3) == 0) {
                long[] own = new long[count];
                Arrays.setAll(own, i -> first + i);
                consumer.ack(own);
            }
            // Always: no later pop would ack what another thread has counted ahead of this one.
            if (counted > 0) {
                consumer.ackUpTo(counted - 1);
            }
        }
    }

    // With a probability of 1 / each, up to 200 ms: about one generation of the ring.
    private static void pause(SplittableRandom random, int each) throws InterruptedException {
        if (random.nextInt(each) == 0) {
            Thread.sleep(1 + random.nextInt(200));
        }
    }
}
