package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** Many threads push and pop: each record is delivered once, in its producer's order, within max_in_mem_segments. */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ManyThreadsTest {
    private static final int PRODUCERS = 4;
    private static final int CONSUMERS = 3;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    /** Payload: the producer, its count of records, then bytes computed from both. */
    private static byte[] payload(int producer, int count, int length) {
        byte[] bytes = Payload.of((long) producer << 32 | count, Math.max(8, length));
        ByteBuffer.wrap(bytes).putInt(producer).putInt(count);
        return bytes;
    }

    private static void check(byte[] data) {
        ByteBuffer head = ByteBuffer.wrap(data);
        assertArrayEquals(payload(head.getInt(), head.getInt(), data.length), data);
    }

    private static Waiting.Running<Integer> produce(Setup setup, MmapQueue queue, int producer, int records) {
        return Waiting.start(() -> {
            SplittableRandom random = new SplittableRandom(producer);
            int count = 0;
            while (count < records) {
                int most = random.nextInt(20) == 0 ? setup.maxEvent : 300;
                int batch = random.nextInt(5) == 0 ? 1 + random.nextInt(6) : 1;
                if (batch == 1) {
                    queue.push(payload(producer, count++, random.nextInt(most)), Waiting.LONG);
                    continue;
                }
                List<byte[]> payloads = new ArrayList<>();
                for (int i = 0; i < batch && count < records; i++) {
                    payloads.add(payload(producer, count++, random.nextInt(300)));
                }
                queue.pushBatch(payloads, Waiting.LONG);
            }
            return count;
        });
    }

    @ParameterizedTest
    @EnumSource
    void eachRecordGoesToOneConsumerOnce(Setup setup) throws Exception {
        int records = setup.segmentSize > 4096 ? 3000 : 1500;
        int total = records * PRODUCERS;
        try (MmapQueue queue = setup.open(temp.resolve("queue"))) {
            List<Waiting.Running<Integer>> producers = new ArrayList<>();
            for (int i = 0; i < PRODUCERS; i++) {
                producers.add(produce(setup, queue, i, records));
            }
            BitSet seen = new BitSet(total);
            int[][] pushed = new int[total][];
            AtomicBoolean failed = new AtomicBoolean();
            List<Waiting.Running<Boolean>> consumers = new ArrayList<>();
            for (int i = 0; i < CONSUMERS; i++) {
                int kind = i;
                consumers.add(Waiting.start(() -> {
                    try {
                        while (true) {
                            synchronized (seen) {
                                if (seen.cardinality() == total || failed.get()) {
                                    return true;
                                }
                            }
                            List<Message> batch = kind == 0
                                    ? one(queue.consumer().poll())
                                    : queue.consumer().popBatch(1 + 20 * kind, 50_000, Duration.ofMillis(2));
                            for (Message message : batch) {
                                check(message.data());
                                ByteBuffer head = ByteBuffer.wrap(message.data());
                                synchronized (seen) {
                                    int offset = (int) message.offset();
                                    assertFalse(seen.get(offset), "offset " + offset + " was delivered twice");
                                    seen.set(offset);
                                    pushed[offset] = new int[] {head.getInt(), head.getInt()};
                                    // Every record before the first one not seen has been consumed.
                                    int done = seen.nextClearBit(0) - 1;
                                    if (done >= 0) {
                                        queue.consumer().ackUpTo(done);
                                    }
                                }
                            }
                        }
                    } catch (Throwable e) {
                        failed.set(true);
                        throw e;
                    }
                }));
            }
            for (Waiting.Running<Boolean> consumer : consumers) {
                assertTrue(consumer.result());
            }
            for (Waiting.Running<Integer> producer : producers) {
                assertEquals(records, producer.result());
            }
            assertEquals(total, queue.endOffset());
            assertEquals(0, queue.consumer().lag());
            int[] next = new int[PRODUCERS];
            for (int[] found : pushed) {
                assertEquals(next[found[0]]++, found[1], "the order of producer " + found[0]);
            }
            assertTrue(
                    queue.stats().peakMappedSegments() <= setup.maxInMem,
                    "peak " + queue.stats().peakMappedSegments());
        }
    }

    private static List<Message> one(Message message) {
        return message == null ? List.of() : List.of(message);
    }

    @ParameterizedTest
    @EnumSource
    void handlesOpenAndCloseDuringPushesAndPops(Setup setup) throws Exception {
        Path directory = temp.resolve("queue");
        int records = 300;
        try (MmapQueue queue = setup.open(directory)) {
            List<Waiting.Running<Integer>> all = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                all.add(produce(setup, queue, i, records));
            }
            AtomicBoolean stop = new AtomicBoolean();
            List<Waiting.Running<Integer>> visitors = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                visitors.add(Waiting.start(() -> {
                    int visits = 0;
                    while (!stop.get()) {
                        try (MmapQueue handle = setup.open(directory)) {
                            assertNotNull(handle.stats());
                            assertTrue(handle.consumer().lag() >= 0);
                            handle.consumer().peek();
                            visits++;
                        }
                    }
                    return visits;
                }));
            }
            int popped = 0;
            while (popped < 2 * records) {
                Message message = queue.consumer().pop(Waiting.LONG);
                assertEquals(popped++, message.offset());
                check(message.data());
                queue.consumer().ackUpTo(message.offset());
            }
            stop.set(true);
            for (Waiting.Running<Integer> each : all) {
                assertEquals(records, each.result());
            }
            for (Waiting.Running<Integer> visitor : visitors) {
                assertTrue(visitor.result() >= 0);
            }
        }
    }

    /** A flush moves the recovery point at least to the log end of its call. */
    @ParameterizedTest
    @EnumSource
    void flushesDuringPushesAndPops(Setup setup) throws Exception {
        try (MmapQueue queue = MmapQueue.open(setup.config(temp.resolve("queue"))
                .flushPeriod(Duration.ofMillis(1))
                .flushCeilingNum(50)
                .build())) {
            int records = 500;
            Waiting.Running<Integer> producer = produce(setup, queue, 0, records);
            AtomicBoolean stop = new AtomicBoolean();
            Waiting.Running<Integer> flusher = Waiting.start(() -> {
                int flushes = 0;
                do {
                    long before = queue.stats().writingPosition();
                    queue.flush();
                    QueueStats stats = queue.stats();
                    assertTrue(stats.watermarkPosition() >= before);
                    flushes++;
                } while (!stop.get());
                return flushes;
            });
            for (int popped = 0; popped < records; popped++) {
                Message message = queue.consumer().pop(Waiting.LONG);
                check(message.data());
                queue.consumer().ackUpTo(message.offset());
            }
            stop.set(true);
            assertEquals(records, producer.result());
            assertTrue(flusher.result() > 0);
            queue.flush();
            assertEquals(queue.stats().writingPosition(), queue.stats().watermarkPosition());
        }
    }
}
