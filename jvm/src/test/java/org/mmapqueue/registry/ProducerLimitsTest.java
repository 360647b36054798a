package org.mmapqueue.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.support.QuickDirectory;

/** A queue has any number of producers, at most 1000 of them with open pages. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ProducerLimitsTest {
    private static final int MOST_OPEN = 1000;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @Test
    void producersMayOutnumberOpenPages() throws Exception {
        int many = MOST_OPEN + 300;
        QueueConfig config = QueueConfig.builder(temp.resolve("queue"))
                .flushPeriod(Duration.ofMinutes(10))
                .build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            for (int i = 0; i < many; i++) {
                assertEquals(i, push(queue, "p" + i, i));
            }
            assertTrue(openPages() <= MOST_OPEN, () -> openPages() + " pages are open");
            assertEquals(many, queue.producers().size());
            queue.forgetProducer("p17"); // a parked one
            assertEquals(OptionalLong.empty(), queue.lastSequence("p17"));
        }
        assertEquals(0, openPages());
        try (MmapQueue queue = MmapQueue.open(config)) {
            assertEquals(many - 1, queue.producers().size());
            assertTrue(openPages() <= MOST_OPEN, () -> openPages() + " pages are open");
            for (int i = 0; i < many; i++) {
                assertEquals(i == 17 ? OptionalLong.empty() : OptionalLong.of(i), queue.lastSequence("p" + i));
                assertEquals(i == 17 ? many : -1, push(queue, "p" + i, i), "p" + i);
            }
            assertEquals(many + 1, queue.endOffset());
            assertTrue(openPages() <= MOST_OPEN, () -> openPages() + " pages are open");
        }
    }

    @Test
    void parkedProducersSurviveAKill() throws Exception {
        int many = MOST_OPEN + 50;
        QueueConfig config = QueueConfig.builder(temp.resolve("queue"))
                .flushPeriod(Duration.ofMinutes(10))
                .build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            for (int round = 0; round < 2; round++) {
                for (int i = 0; i < many; i++) {
                    push(queue, "p" + i, round);
                }
            }
            copy(temp.resolve("queue"), temp.resolve("killed"));
        }
        try (MmapQueue queue =
                MmapQueue.open(QueueConfig.builder(temp.resolve("killed")).build())) {
            assertEquals(2L * many, queue.endOffset());
            for (int i = 0; i < many; i++) {
                assertEquals(OptionalLong.of(1), queue.lastSequence("p" + i), "p" + i);
            }
        }
    }

    // A copy of the open files is what a kill leaves.
    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> all = Files.walk(from)) {
            for (Path each : all.toList()) {
                Files.copy(each, to.resolve(from.relativize(each).toString()));
            }
        }
    }

    @Test
    void threadsShareTheOpenPages() throws Exception {
        int threads = 4;
        int each = 300;
        int sequences = 2;
        QueueConfig config = QueueConfig.builder(temp.resolve("queue")).build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            ExecutorService executor = Executors.newFixedThreadPool(threads);
            List<Future<Integer>> pushed = new ArrayList<>();
            for (int thread = 0; thread < threads; thread++) {
                int seed = thread;
                pushed.add(executor.submit(() -> pushAll(queue, seed, threads * each, sequences)));
            }
            int sum = 0;
            for (Future<Integer> one : pushed) {
                sum += one.get();
            }
            executor.shutdown();
            assertEquals(threads * each * sequences, sum);
            assertEquals(sum, queue.endOffset());
        }
    }

    // Every thread pushes every batch; the first one stores it.
    private static int pushAll(MmapQueue queue, int seed, int producers, int sequences) throws InterruptedException {
        Random random = new Random(seed);
        List<Integer> order =
                new ArrayList<>(IntStream.range(0, producers).boxed().toList());
        int stored = 0;
        for (int sequence = 0; sequence < sequences; sequence++) {
            Collections.shuffle(order, random);
            for (int producer : order) {
                // In the order of sequences: a skipped sequence counts as pushed.
                for (int i = (int) queue.lastSequence("p" + producer).orElse(-1) + 1; i <= sequence; i++) {
                    stored += push(queue, "p" + producer, i) < 0 ? 0 : 1;
                }
            }
        }
        return stored;
    }

    private static long push(MmapQueue queue, String producer, long sequence) throws InterruptedException {
        return queue.pushOnce(producer, sequence, List.of(new byte[1]), Duration.ZERO)
                .orElse(-1);
    }

    private long openPages() {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors
                    .filter(each -> {
                        try {
                            return Files.readSymbolicLink(each).startsWith(temp.resolve("queue/producers"));
                        } catch (IOException e) {
                            return false; // closed since it was listed
                        }
                    })
                    .count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void version1DoesNotSupportProducers() {
        QueueConfig config =
                QueueConfig.builder(temp.resolve("queue")).formatVersion(1).build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            for (ConfigException thrown : List.of(
                    assertThrows(
                            ConfigException.class, () -> queue.pushOnce("p", 0, List.of(new byte[1]), Duration.ZERO)),
                    assertThrows(ConfigException.class, () -> queue.lastSequence("p")),
                    assertThrows(ConfigException.class, queue::producers),
                    assertThrows(ConfigException.class, () -> queue.forgetProducer("p")))) {
                assertEquals("format_version", thrown.key());
            }
            assertEquals(0, queue.endOffset());
        }
    }
}
