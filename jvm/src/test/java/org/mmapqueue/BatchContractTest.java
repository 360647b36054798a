package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.TooLargeException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

@ForEverySetup
class BatchContractTest extends ContractTest {

    private List<byte[]> tenths(int from, int count) {
        List<byte[]> batch = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            batch.add(setup.tenth(from + i));
        }
        return batch;
    }

    @Test
    void aBatchIsAppendedInOrder() throws InterruptedException {
        queue.push(setup.tenth(0));
        assertEquals(1, queue.pushBatch(tenths(1, 4)));
        assertEquals(5, queue.pushBatch(tenths(5, 1), Duration.ZERO));
        assertEquals(6, queue.push(setup.tenth(6)));
        assertEquals(7, queue.endOffset());
        Payload.assertMessages(0, tenths(0, 7), Payload.drain(queue));
    }

    @Test
    void aBatchSpansSegments() {
        for (int round = 0; round < 5; round++) {
            List<byte[]> batch = setup.payloads(round, 3 + 7 * round);
            long first = queue.endOffset();
            assertEquals(first, queue.pushBatch(batch));
            assertEquals(first + batch.size(), queue.endOffset());
            Payload.assertMessages(first, batch, Payload.drain(queue));
            queue.consumer().ackUpTo(queue.endOffset() - 1);
        }
    }

    @Test
    void batchesMayEndAtAnyPositionInASegment() {
        for (int length = 0; length < 200; length += 7) {
            List<byte[]> batch = new ArrayList<>();
            for (int i = 0; i < 12; i++) {
                batch.add(Payload.of(i, i == 5 ? length : setup.segmentSize / 10));
            }
            long first = queue.pushBatch(batch);
            Payload.assertMessages(first, batch, Payload.drain(queue));
            queue.consumer().ackUpTo(queue.endOffset() - 1);
        }
    }

    @Test
    void anEmptyBatchPushesNothing() throws InterruptedException {
        assertEquals(0, queue.pushBatch(List.of()));
        queue.push(new byte[1]);
        assertEquals(1, queue.pushBatch(List.of(), Duration.ZERO));
        assertEquals(1, queue.pushBatch(new byte[0], 0, new int[0], 0, Duration.ZERO));
        assertEquals(1, queue.endOffset());
    }

    @Test
    void aPackedBatchIsPushed() throws InterruptedException {
        byte[] buffer = Payload.of(1, 1000);
        int[] lengths = {100, 0, 1, 350, 99};
        assertEquals(0, queue.pushBatch(buffer, 20, lengths, 4, Duration.ZERO));
        Payload.assertMessages(
                0,
                List.of(
                        Arrays.copyOfRange(buffer, 20, 120),
                        new byte[0],
                        Arrays.copyOfRange(buffer, 120, 121),
                        Arrays.copyOfRange(buffer, 121, 471)),
                Payload.drain(queue));
        assertThrows(
                IllegalArgumentException.class,
                () -> queue.pushBatch(buffer, 900, new int[] {50, 51}, 2, Duration.ZERO));
        assertThrows(
                IllegalArgumentException.class, () -> queue.pushBatch(buffer, 0, new int[] {50, -1}, 2, Duration.ZERO));
        assertEquals(4, queue.endOffset());
    }

    @Test
    void aBatchWithATooLargeRecordThrowsAndStoresNothing() {
        List<byte[]> batch = List.of(new byte[1], new byte[setup.maxEvent + 1], new byte[1]);
        assertThrows(TooLargeException.class, () -> queue.pushBatch(batch));
        assertEquals(0, queue.endOffset());
        assertNull(queue.consumer().poll());
        queue.push(new byte[2]);
        Payload.assertMessages(0, List.of(new byte[2]), Payload.drain(queue));
    }

    @Test
    void aBatchLargerThanTheRingThrows() {
        List<byte[]> batch = tenths(0, setup.capacity * 10 + 10);
        assertThrows(TooLargeException.class, () -> queue.pushBatch(batch));
        assertThrows(TooLargeException.class, () -> queue.pushBatch(batch, Duration.ofMillis(1)));
        assertEquals(0, queue.endOffset());
    }

    @Test
    void aBatchThatDoesNotFitStoresNothing() {
        List<byte[]> half = tenths(0, setup.room() / setup.footprint(setup.segmentSize / 10) / 2);
        queue.pushBatch(half);
        while (true) {
            try {
                queue.pushBatch(tenths(1000, 15));
                half = new ArrayList<>(half);
                half.addAll(tenths(1000, 15));
            } catch (FullException e) {
                break;
            }
        }
        assertEquals(half.size(), queue.endOffset());
        Payload.assertMessages(0, half, Payload.drain(queue));
        queue.consumer().ackUpTo(half.size() - 1);
        assertEquals(half.size(), queue.pushBatch(tenths(5000, 15)));
        Payload.assertMessages(half.size(), tenths(5000, 15), Payload.drain(queue));
    }

    @Test
    void aNullInABatchThrowsAndTheQueueStaysUsable() {
        assertThrows(NullPointerException.class, () -> queue.pushBatch(Arrays.asList(new byte[1], null, new byte[2])));
        assertEquals(0, queue.push(new byte[3]));
        Payload.assertMessages(0, List.of(new byte[3]), Payload.drain(queue));
    }

    @Test
    void aBatchSurvivesAKillWhole() {
        List<byte[]> batch = setup.payloads(9, 20);
        queue.pushBatch(batch);
        Path left = Directories.copy(directory, temp.resolve("left"));
        try (MmapQueue taken = setup.openAfterKill(left)) {
            Payload.assertMessages(0, batch, Payload.drain(taken));
        }
    }

    /** A batch that polls a consumer each time one of its payloads is stored. */
    private static final class PollingBatch implements Records {
        private final List<byte[]> payloads;
        private final ConsumerCore consumer;
        private int looks;

        PollingBatch(List<byte[]> payloads, ConsumerCore consumer) {
            this.payloads = payloads;
            this.consumer = consumer;
        }

        @Override
        public int count() {
            return payloads.size();
        }

        @Override
        public byte[] array(int i) {
            assertNull(consumer.poll(), "a part of the batch was visible at record " + i);
            looks++;
            return payloads.get(i);
        }

        @Override
        public int from(int i) {
            return 0;
        }

        @Override
        public int length(int i) {
            return payloads.get(i).length;
        }
    }

    @Test
    void noRecordOfABatchIsVisibleBeforeAllAreStored() {
        queue.close();
        QueueCore core = Cores.open(setup.config(directory).build(), DiskStorage.INSTANCE);
        try {
            ConsumerCore consumer = core.consumer("default", StartAt.EARLIEST);
            for (int count : new int[] {2, 3, 9, 25}) {
                PollingBatch batch = new PollingBatch(tenths(count, count), consumer);
                long first = core.writer().push(batch);
                assertTrue(batch.looks >= count);
                for (int i = 0; i < count; i++) {
                    Payload.assertMessages(first + i, tenths(count + i, 1), List.of(consumer.poll()));
                }
                core.ackUpTo(consumer, first + count - 1);
            }
        } finally {
            core.close();
        }
        queue = setup.open(directory);
    }

    @Test
    void aConcurrentReaderNeverSeesAPartOfABatch() throws Exception {
        int size = 25;
        AtomicBoolean done = new AtomicBoolean();
        Waiting.Running<Long> reading = Waiting.start(() -> {
            long expected = 0;
            while (true) {
                boolean last = done.get();
                Message first = queue.consumer().poll();
                if (first == null) {
                    if (last) {
                        return expected;
                    }
                    continue;
                }
                assertEquals(expected, first.offset());
                for (int i = 1; i < size; i++) {
                    // A consumer that has popped the first record of a batch finds all the others.
                    Message next = queue.consumer().poll();
                    assertTrue(next != null, "record " + i + " of the batch at " + expected + " is missing");
                    assertEquals(expected + i, Payload.numberOf(next.data()));
                }
                expected += size;
                queue.consumer().ackUpTo(expected - 1);
            }
        });
        long next = 0;
        try {
            for (int round = 0; round < 60; round++) {
                List<byte[]> batch = new ArrayList<>();
                for (int i = 0; i < size; i++) {
                    batch.add(Payload.numbered(next++, setup.segmentSize / 20));
                }
                queue.pushBatch(batch, Waiting.LONG);
            }
        } catch (FullException e) {
            done.set(true);
            reading.result(); // rethrows the reader's failure
            throw e;
        } finally {
            done.set(true);
        }
        assertEquals(next, reading.result());
    }
}
