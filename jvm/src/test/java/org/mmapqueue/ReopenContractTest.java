package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;

@ForEverySetup
class ReopenContractTest extends ContractTest {

    @Test
    void anEmptyQueueIsEmptyAfterReopening() throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            reopen();
            assertNull(queue.consumer().poll());
            assertEquals(0, queue.endOffset());
        }
        queue.push(new byte[9]);
        Payload.assertNextIs(0, new byte[9], queue);
    }

    @Test
    void allRecordsSurviveAReopening() {
        List<byte[]> payloads = setup.payloads(1, 300);
        Payload.pushAll(queue, payloads);
        reopen();
        assertEquals(payloads.size(), queue.endOffset());
        assertEquals(payloads.size(), queue.consumer().lag());
        Payload.assertMessages(0, payloads, Payload.drain(queue));
    }

    @Test
    void unackedRecordsAreRedeliveredAfterAReopening() throws InterruptedException {
        List<byte[]> payloads = fill();
        Payload.drain(queue);
        queue.consumer().ackUpTo(4);
        reopen();
        assertEquals(offsetNow(5, 5), queue.consumer().committedOffset());
        assertEquals(offsetNow(5, 5), queue.consumer().readOffset());
        Payload.assertMessages(offsetNow(5, 5), payloads.subList(5, payloads.size()), Payload.drain(queue));
    }

    @Test
    void pushesContinueAfterTheLastRecord() throws InterruptedException {
        List<byte[]> kept = new ArrayList<>();
        long acked = 0;
        for (int round = 0; round < 8; round++) {
            List<byte[]> payloads = List.of(
                    new byte[0], setup.tenth(round), Payload.of(round, 77), setup.tenth(-round), Payload.of(round, 5));
            long first = Payload.pushAll(queue, payloads);
            assertEquals(offsetNow(acked + kept.size(), acked), first);
            kept.addAll(payloads);
            long offset = offsetNow(acked, acked);
            for (int i = 0; i < 4; i++) {
                Payload.assertNextIs(offset + i, kept.get(i), queue);
            }
            queue.consumer().ackUpTo(offset + 3);
            kept.subList(0, 4).clear();
            acked += 4;
            reopen();
        }
        Payload.assertMessages(offsetNow(acked, acked), kept, Payload.drain(queue));
    }

    @Test
    void oneRecordForEachOpening() throws InterruptedException {
        for (int i = 0; i < 12; i++) {
            queue.push(setup.tenth(i));
            reopen();
        }
        for (int i = 0; i < 12; i++) {
            long offset = offsetNow(i, i);
            Payload.assertNextIs(offset, setup.tenth(i), queue);
            queue.consumer().ackUpTo(offset);
            reopen();
        }
        assertNull(queue.consumer().poll());
    }

    @Test
    void recordsSurviveAKill() {
        List<byte[]> payloads = setup.payloads(3, 100);
        Payload.pushAll(queue, payloads);
        Path left = Directories.copy(directory, temp.resolve("left"));
        try (MmapQueue taken = setup.openAfterKill(left)) {
            assertEquals(payloads.size(), taken.endOffset());
            Payload.assertMessages(0, payloads, Payload.drain(taken));
        }
    }

    @Test
    void repeatedKillsLoseNothing() {
        List<byte[]> expected = new ArrayList<>();
        long acked = 0;
        Path at = directory;
        MmapQueue current = queue;
        for (int round = 0; round < 10; round++) {
            List<byte[]> payloads = List.of(setup.tenth(round), Payload.of(round, round), Payload.of(round, 200));
            assertEquals(offsetNow(acked + expected.size(), acked), Payload.pushAll(current, payloads));
            expected.addAll(payloads);
            Path next = Directories.copy(at, temp.resolve("left-" + round));
            current.close();
            at = next;
            current = setup.openAfterKill(at);
            assertEquals(expected.size(), current.consumer().lag());
            long first = offsetNow(acked, acked);
            Payload.assertMessages(first, expected, Payload.drain(current));
            current.consumer().ackUpTo(first + 1);
            expected.subList(0, 2).clear();
            acked += 2;
            // The copy that follows must see the acks of this round.
            current.close();
            current = setup.openAfterKill(at);
        }
        Payload.assertMessages(offsetNow(acked, acked), expected, Payload.drain(current));
        current.close();
    }

    @Test
    void ackedRecordsAreNotRedeliveredAfterAKill() {
        List<byte[]> payloads = fill();
        Payload.drain(queue);
        queue.consumer().ackUpTo(4);
        Path left = Directories.copy(directory, temp.resolve("left"));
        try (MmapQueue taken = setup.openAfterKill(left)) {
            Payload.assertMessages(offsetNow(5, 5), payloads.subList(5, payloads.size()), Payload.drain(taken));
        }
        queue.consumer().ackUpTo(queue.endOffset() - 1);
        Path empty = Directories.copy(directory, temp.resolve("empty"));
        try (MmapQueue taken = setup.openAfterKill(empty)) {
            assertNull(taken.consumer().poll());
            assertEquals(0, taken.consumer().lag());
            assertEquals(offsetNow(payloads.size(), payloads.size()), taken.push(new byte[1]));
        }
    }

    @Test
    void aFullQueueIsStillFullAfterAKill() {
        List<byte[]> payloads = fill();
        Path left = Directories.copy(directory, temp.resolve("left"));
        queue.close();
        try (MmapQueue taken = setup.openAfterKill(left)) {
            Payload.assertMessages(0, payloads, Payload.drain(taken));
            taken.consumer().ackUpTo(payloads.size() - 1);
            assertEquals(payloads.size(), taken.push(setup.tenth(1)));
        }
    }

    @Test
    void unsetKeysAreTakenFromTheDirectory() {
        Payload.pushAll(queue, setup.payloads(5, 10));
        queue.close();
        QueueConfig.Builder config = QueueConfig.builder(directory);
        try (MmapQueue taken = MmapQueue.open((setup.isV1() ? config.maxEventSize(setup.maxEvent) : config).build())) {
            assertEquals(
                    String.valueOf(setup.segmentSize), taken.config().asMap().get("segment_size"));
            assertEquals(String.valueOf(setup.capacity), taken.config().asMap().get("queue_capacity_segments"));
            assertEquals(String.valueOf(setup.version), taken.config().asMap().get("format_version"));
            assertEquals(
                    String.valueOf(setup.timestamps), taken.config().asMap().get("timestamps"));
            assertEquals(String.valueOf(setup.maxEvent), taken.config().asMap().get("max_event_size"));
            Payload.assertMessages(0, setup.payloads(5, 10), Payload.drain(taken));
        }
    }

    @Test
    void changingAFixedKeyThrows() {
        Payload.pushAll(queue, setup.payloads(6, 10));
        queue.close();
        var before = Directories.fingerprint(directory);
        assertOpenThrows("segment_size", setup.config(directory).segmentSize(2L * setup.segmentSize));
        assertOpenThrows("queue_capacity_segments", setup.config(directory).queueCapacitySegments(setup.capacity + 1));
        assertOpenThrows("format_version", setup.config(directory).formatVersion(3 - setup.version));
        assertEquals(before, Directories.fingerprint(directory));
    }

    private void assertOpenThrows(String key, QueueConfig.Builder config) {
        ConfigException thrown = assertThrows(ConfigException.class, () -> MmapQueue.open(config.build()));
        assertEquals(key, thrown.key());
        assertTrue(thrown.allowed().contains("was made with"), thrown.getMessage());
    }
}
