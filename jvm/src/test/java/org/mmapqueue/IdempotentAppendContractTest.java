package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CyclicBarrier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.TooLargeException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

@ParameterizedClass(name = "{0}")
@EnumSource(value = Setup.class, mode = EnumSource.Mode.MATCH_ALL, names = "V2_.*")
class IdempotentAppendContractTest extends ContractTest {
    private final List<byte[]> expected = new ArrayList<>();

    private List<byte[]> batch(int count) {
        List<byte[]> batch = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            batch.add(setup.tenth(expected.size() + i));
        }
        return batch;
    }

    private void assertStores(String producer, long sequence, int count) throws InterruptedException {
        assertStores(producer, sequence, batch(count), false);
    }

    private void assertStores(String producer, long sequence, List<byte[]> batch, boolean sync)
            throws InterruptedException {
        assertEquals(
                OptionalLong.of(expected.size()),
                queue.pushOnce(producer, sequence, Records.of(batch), Duration.ZERO, sync));
        expected.addAll(batch);
        assertEquals(OptionalLong.of(sequence), queue.lastSequence(producer));
        assertEquals(expected.size(), queue.endOffset());
        ProducerStats stats = queue.producerStats().stream()
                .filter(each -> each.name().equals(producer))
                .findAny()
                .orElseThrow();
        assertEquals(sequence, stats.lastSequence());
        assertEquals(expected.size(), stats.endOffset());
    }

    private void assertStoresNothing(String producer, long sequence) throws InterruptedException {
        OptionalLong last = queue.lastSequence(producer);
        for (boolean sync : new boolean[] {false, true}) {
            assertEquals(
                    OptionalLong.empty(),
                    queue.pushOnce(producer, sequence, Records.of(batch(2)), Duration.ZERO, sync));
        }
        assertEquals(expected.size(), queue.endOffset());
        assertEquals(last, queue.lastSequence(producer));
    }

    private void assertOnlyExpected() {
        Payload.assertMessages(0, expected, Payload.drain(queue));
    }

    @Test
    void retriesStoreABatchOneTime() throws InterruptedException {
        assertEquals(OptionalLong.empty(), queue.lastSequence("p"));
        queue.push(setup.tenth(0));
        expected.add(setup.tenth(0));
        assertStores("p", 7, 3);
        assertStoresNothing("p", 7);
        assertStoresNothing("p", 7);
        queue.push(setup.tenth(4));
        expected.add(setup.tenth(4));
        assertStoresNothing("p", 7);
        assertStores("p", 8, 1);
        assertOnlyExpected();
    }

    private void assertStores(long sequence, BatchDigest digest) throws InterruptedException {
        List<byte[]> batch = batch(2);
        assertEquals(
                OptionalLong.of(expected.size()),
                queue.pushOnce("p", sequence, digest, Records.of(batch), Duration.ZERO, false));
        expected.addAll(batch);
    }

    @Test
    void aDigestIsStoredWithItsSequence() throws InterruptedException {
        assertEquals(Optional.empty(), queue.digest("p", 0));
        for (long sequence = 0; sequence < 10; sequence++) {
            assertStores(sequence, new BatchDigest(2, -sequence));
            assertEquals(Optional.empty(), queue.digest("p", sequence + 1));
            for (long before = Math.max(0, sequence - 1); before <= sequence; before++) {
                assertEquals(Optional.of(new BatchDigest(2, -before)), queue.digest("p", before));
            }
        }
        assertEquals(
                OptionalLong.empty(),
                queue.pushOnce("p", 9, new BatchDigest(7, 7), Records.of(batch(1)), Duration.ZERO, false));
        reopen();
        assertEquals(Optional.of(new BatchDigest(2, -9)), queue.digest("p", 9));
        assertEquals(Optional.empty(), queue.digest("p", 0));
        assertStores("p", 10, 1);
        assertEquals(Optional.empty(), queue.digest("p", 10));
        assertEquals(Optional.of(new BatchDigest(2, -9)), queue.digest("p", 9));
        assertEquals(Optional.empty(), queue.digest("q", 9));
        assertOnlyExpected();
    }

    @Test
    void sequencesMayHaveGapsAndALowerOneStoresNothing() throws InterruptedException {
        assertStores("p", 0, 1);
        assertStores("p", 5, 2);
        assertStoresNothing("p", 4);
        assertStoresNothing("p", 0);
        assertStores("p", Long.MAX_VALUE - 1, 1);
        assertStores("p", Long.MAX_VALUE, 1);
        assertStoresNothing("p", Long.MAX_VALUE);
        assertOnlyExpected();
    }

    @Test
    void producersAreIndependent() throws InterruptedException {
        assertStores("p", 3, 1);
        assertStores("q", 3, 2);
        assertStores("q", 4, 1);
        assertStoresNothing("p", 3);
        assertStores("p", 4, 1);
        assertEquals(List.of("p", "q"), queue.producers());
        assertOnlyExpected();
    }

    @Test
    void anEmptyBatchStoresItsSequence() throws InterruptedException {
        assertStores("p", 1, 0);
        assertStoresNothing("p", 1);
        assertStores("p", 2, 1);
        assertStores("p", 3, List.of(), true);
        assertStores("p", 4, 0);
        queue.flush();
        reopen();
        assertStoresNothing("p", 4);
        assertStores("p", 5, 1);
        assertOnlyExpected();
    }

    @Test
    void batchesSpanSegmentsWithAndWithoutSync() throws InterruptedException {
        long sequence = 0;
        for (int round = 0; round < 6; round++) {
            List<byte[]> batch = setup.payloads(round, 4 + 3 * round);
            long first = queue.endOffset();
            assertEquals(
                    OptionalLong.of(first),
                    queue.pushOnce("p", sequence, Records.of(batch), Duration.ZERO, round % 2 == 0));
            assertEquals(OptionalLong.empty(), queue.pushOnce("p", sequence++, batch, Duration.ZERO));
            Payload.assertMessages(first, batch, Payload.drain(queue));
            queue.consumer().ackUpTo(queue.endOffset() - 1);
        }
        assertEquals(OptionalLong.of(5), queue.lastSequence("p"));
    }

    @Test
    void sequencesSurviveACloseAndAKill() throws InterruptedException {
        for (int round = 0; round < 12; round++) {
            assertStores("p", 2L * round, 1 + round % 3);
            if (round % 4 == 1) {
                assertStores("q-" + round, round, 1);
            }
            if (round % 3 == 0) {
                queue.flush();
            }
            Path left = Directories.copy(directory, temp.resolve("left-" + round));
            MmapQueue before = queue;
            try (MmapQueue taken = setup.openAfterKill(left)) {
                queue = taken;
                assertStoresNothing("p", 2L * round);
                assertEquals(OptionalLong.of(2L * round), queue.lastSequence("p"));
                assertOnlyExpected();
                assertEquals(
                        OptionalLong.of(expected.size()), queue.pushOnce("p", 2L * round + 1, batch(1), Duration.ZERO));
            } finally {
                queue = before;
            }
            if (round % 5 == 4) {
                reopen();
                assertStoresNothing("p", 2L * round);
            }
        }
        assertEquals(List.of("p", "q-1", "q-5", "q-9"), queue.producers());
        assertOnlyExpected();
    }

    @Test
    void aTooLargeBatchThrowsAndStoresNoSequence() throws InterruptedException {
        assertStores("p", 1, 1);
        assertThrows(
                TooLargeException.class,
                () -> queue.pushOnce("p", 2, List.of(new byte[setup.maxEvent + 1]), Duration.ZERO));
        assertThrows(
                TooLargeException.class, () -> queue.pushOnce("p", 2, batch(setup.capacity * 10 + 10), Duration.ZERO));
        assertEquals(OptionalLong.of(1), queue.lastSequence("p"));
        assertStores("p", 2, 1);
        assertOnlyExpected();
    }

    @Test
    void aFullQueueStoresNoSequenceUntilItHasRoom() throws Exception {
        assertStores("p", 1, 1);
        fill();
        long end = queue.endOffset();
        assertThrows(FullException.class, () -> queue.pushOnce("p", 2, batch(15), Duration.ofMillis(1)));
        assertEquals(OptionalLong.of(1), queue.lastSequence("p"));
        assertEquals(OptionalLong.empty(), queue.pushOnce("p", 1, batch(15), Duration.ZERO)); // needs no room
        Waiting.Running<OptionalLong> waiting = Waiting.start(() -> queue.pushOnce("p", 2, batch(15), Waiting.LONG));
        Payload.drain(queue);
        queue.consumer().ackUpTo(end - 1);
        assertEquals(OptionalLong.of(end), waiting.result());
        assertEquals(OptionalLong.empty(), queue.pushOnce("p", 2, batch(15), Duration.ZERO));
        assertEquals(end + 15, queue.endOffset());
    }

    @Test
    void oneOfManyThreadsStoresABatch() throws Exception {
        int threads = 4;
        int rounds = 50;
        CyclicBarrier start = new CyclicBarrier(threads);
        List<Waiting.Running<Integer>> running = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            running.add(Waiting.start(() -> {
                int done = 0;
                for (int sequence = 0; sequence < rounds; sequence++) {
                    start.await();
                    List<byte[]> pair =
                            List.of(Payload.numbered(2L * sequence, 30), Payload.numbered(2L * sequence + 1, 30));
                    done += queue.pushOnce("p", sequence, pair, Duration.ZERO).isPresent() ? 1 : 0;
                }
                return done;
            }));
        }
        int done = 0;
        for (Waiting.Running<Integer> each : running) {
            done += each.result();
        }
        assertEquals(rounds, done);
        for (int i = 0; i < 2 * rounds; i++) {
            assertEquals(i, Payload.numberOf(queue.consumer().poll().data()));
        }
        assertNull(queue.consumer().poll());
    }

    @Test
    void aForgottenProducerHasNoSequence() throws InterruptedException {
        assertStores("p", 9, 1);
        assertStores("q", 1, 1);
        queue.forgetProducer("p");
        assertEquals(OptionalLong.empty(), queue.lastSequence("p"));
        assertEquals(List.of("q"), queue.producers());
        assertTrue(Files.notExists(directory.resolve("producers/p.dat")));
        assertStores("p", 0, 1);
        queue.forgetProducer("p");
        reopen();
        assertEquals(List.of("q"), queue.producers());
        assertStoresNothing("q", 1);
        assertEquals(
                "producer",
                assertThrows(ConfigException.class, () -> queue.forgetProducer("p"))
                        .key());
        assertOnlyExpected();
    }

    @Test
    void names() throws InterruptedException {
        for (String name : List.of("", ".p", "-p", "a/b", "p q", "é", "x".repeat(101))) {
            assertEquals(
                    "producer",
                    assertThrows(ConfigException.class, () -> queue.pushOnce(name, 0, batch(1), Duration.ZERO))
                            .key());
            assertThrows(ConfigException.class, () -> queue.lastSequence(name));
            assertThrows(ConfigException.class, () -> queue.forgetProducer(name));
        }
        for (String name : List.of("_", "x".repeat(100), "a.b-c_D", "default", "0")) {
            assertStores(name, 1, 1);
        }
        reopen();
        for (String name : queue.producers()) {
            assertStoresNothing(name, 1);
        }
        assertEquals(5, queue.producers().size());
    }

    @Test
    void aNegativeSequenceOrLengthThrows() {
        assertThrows(IllegalArgumentException.class, () -> queue.pushOnce("p", -1, batch(1), Duration.ZERO));
        assertThrows(
                IllegalArgumentException.class,
                () -> queue.pushOnce("p", 1, Records.single(new byte[3], 1, -1), Duration.ZERO));
        assertThrows(
                IllegalArgumentException.class,
                () -> queue.pushBatch(Records.single(new byte[3], 1, -1), Duration.ZERO));
        assertEquals(List.of(), queue.producers());
        assertEquals(0, queue.endOffset());
    }

    @Test
    void aReadOnlyQueueAndAClosedQueueThrow() throws InterruptedException {
        assertStores("p", 1, 1);
        try (MmapQueue reader = MmapQueue.open(QueueConfig.builder(Directories.copy(directory, temp.resolve("read")))
                .readOnly(true)
                .build())) {
            assertThrows(MmapQueueException.class, () -> reader.pushOnce("p", 2, batch(1), Duration.ZERO));
            assertThrows(MmapQueueException.class, () -> reader.lastSequence("p"));
        }
        queue.close();
        assertThrows(ClosedException.class, () -> queue.pushOnce("p", 2, batch(1), Duration.ZERO));
        assertThrows(ClosedException.class, () -> queue.lastSequence("p"));
    }

    /** Each payload is computed on request, in a single array. */
    @Test
    void recordsMayShareOneArray() throws InterruptedException {
        int count = 15;
        byte[] only = new byte[setup.segmentSize / 10];
        Records records = new Records() {
            @Override
            public int count() {
                return count;
            }

            @Override
            public byte[] array(int i) {
                System.arraycopy(setup.tenth(i), 0, only, 0, only.length);
                return only;
            }

            @Override
            public int from(int i) {
                return 0;
            }

            @Override
            public int length(int i) {
                return only.length;
            }
        };
        assertEquals(0, queue.pushBatch(records, Duration.ZERO));
        assertEquals(OptionalLong.of(count), queue.pushOnce("p", 1, records, Duration.ZERO));
        expected.addAll(batch(count));
        expected.addAll(expected.subList(0, count).stream().toList());
        assertOnlyExpected();
    }

    @Test
    void aLaterChangeOfALengthHasNoEffect() throws InterruptedException {
        byte[] data = setup.tenth(1);
        Records growing = new Records() {
            private int asked;

            @Override
            public int count() {
                return 1;
            }

            @Override
            public byte[] array(int i) {
                return data;
            }

            @Override
            public int from(int i) {
                return 0;
            }

            @Override
            public int length(int i) {
                return asked++ == 0 ? 10 : data.length;
            }
        };
        assertEquals(0, queue.pushBatch(growing, Duration.ZERO));
        Payload.assertMessages(0, List.of(Arrays.copyOf(data, 10)), Payload.drain(queue));
    }
}
