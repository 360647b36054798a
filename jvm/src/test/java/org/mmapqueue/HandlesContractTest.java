package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

@ForEverySetup
class HandlesContractTest extends ContractTest {

    @Test
    void handlesShareOneQueue() {
        try (MmapQueue second = setup.open(directory)) {
            assertEquals(0, queue.push(new byte[1]));
            assertEquals(1, second.push(new byte[2]));
            assertEquals(2, queue.endOffset());
            assertEquals(0, second.consumer().pop().offset());
            assertEquals(1, queue.consumer().pop().offset());
            second.consumer().ackUpTo(1);
            assertEquals(0, queue.consumer().lag());
        }
        queue.push(new byte[3]);
        assertEquals(2, queue.consumer().pop().offset());
    }

    @Test
    void theQueueIsClosedWithItsLastHandle() {
        MmapQueue second = setup.open(directory);
        queue.push(new byte[1]);
        queue.close();
        queue.close(); // a second close of a handle has no effect
        assertEquals(1, second.push(new byte[2]));
        second.close();
        queue = setup.open(directory);
        assertEquals(2, queue.consumer().lag());
    }

    @Test
    void everyNameOfADirectoryOpensTheSameQueue() throws Exception {
        Path link = Files.createSymbolicLink(temp.resolve("link"), directory);
        Path winding = temp.resolve("x").resolve("..").resolve("queue");
        Path relative = Path.of("").toAbsolutePath().relativize(directory);
        queue.push(new byte[1]);
        for (Path name : List.of(link, winding, relative)) {
            try (MmapQueue other = setup.open(name)) {
                assertEquals(1, other.endOffset(), "the queue opened as " + name);
            }
        }
    }

    @Test
    void theDirectoryMayBeMovedAwayBeforeTheClose() throws Exception {
        Path parent = Files.createDirectory(temp.resolve("parent"));
        Path link = Files.createSymbolicLink(temp.resolve("other-name"), parent);
        MmapQueue lost = setup.open(link.resolve("queue"));
        lost.push(new byte[1]);
        Files.move(parent.resolve("queue"), temp.resolve("gone"));
        try {
            lost.close();
        } catch (MmapQueueException e) {
            assertTrue(e.getMessage().contains("queue"), e.getMessage());
        }
        // The path is free for a new queue.
        try (MmapQueue next = setup.open(link.resolve("queue"))) {
            assertEquals(0, next.push(new byte[2]));
        }
    }

    @Test
    void anotherConfigurationThrows() {
        assertOpenThrows("max_in_mem_segments", setup.config(directory).maxInMemSegments(setup.maxInMem + 1));
        assertOpenThrows("flush_period", setup.config(directory).flushPeriod(Duration.ofMillis(1)));
        assertOpenThrows("flush_ceiling_num", setup.config(directory).flushCeilingNum(7));
        assertOpenThrows("max_event_size", setup.config(directory).maxEventSize(setup.maxEvent - 1));
        assertOpenThrows("segment_size", setup.config(directory).segmentSize(setup.segmentSize * 2L));
        assertOpenThrows("queue_capacity_segments", setup.config(directory).queueCapacitySegments(setup.capacity + 1));
        assertOpenThrows("read_only", setup.config(directory).readOnly(true));
        assertOpenThrows("format_version", setup.config(directory).formatVersion(3 - setup.version));
        assertOpenThrows("timestamps", setup.config(directory).timestamps(!setup.timestamps));
        assertEquals(0, queue.push(new byte[1]));
    }

    private void assertOpenThrows(String key, QueueConfig.Builder config) {
        ConfigException thrown = assertThrows(ConfigException.class, () -> MmapQueue.open(config.build()));
        assertEquals(key, thrown.key());
        assertTrue(thrown.getMessage().contains("is open in this process"), thrown.getMessage());
    }

    @Test
    void unsetKeysAreTakenFromTheOpenQueue() {
        try (MmapQueue other = MmapQueue.open(QueueConfig.builder(directory).build())) {
            assertEquals(queue.config().asMap(), other.config().asMap());
        }
    }

    @Test
    void theSameValuesAreAccepted() {
        try (MmapQueue other = MmapQueue.open(queue.config())) {
            assertEquals(queue.config().asMap(), other.config().asMap());
        }
    }

    @Test
    void handlesOpenAndCloseDuringOtherCalls() throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        List<Waiting.Running<Integer>> openers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            openers.add(Waiting.start(() -> {
                int opened = 0;
                while (!stop.get()) {
                    try (MmapQueue handle = setup.open(directory)) {
                        handle.consumer().readOffset();
                        handle.push(Payload.of(1, 5), Duration.ZERO);
                        opened++;
                    } catch (FullException e) {
                        return opened;
                    }
                }
                return opened;
            }));
        }
        Waiting.until("handles were opened and closed", () -> queue.endOffset() > 60);
        stop.set(true);
        int pushed = 0;
        for (Waiting.Running<Integer> opener : openers) {
            pushed += opener.result();
        }
        assertEquals(pushed, queue.endOffset());
        assertEquals(pushed, Payload.drain(queue).size());
    }

    @Test
    void manyThreadsOpenAndCloseTheLastHandle() throws Exception {
        queue.close();
        List<Waiting.Running<Integer>> openers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            openers.add(Waiting.start(() -> {
                for (int round = 0; round < 15; round++) {
                    try (MmapQueue handle = setup.open(directory)) {
                        handle.push(Payload.of(1, 50), Waiting.LONG);
                    }
                }
                return 15;
            }));
        }
        int pushed = 0;
        for (Waiting.Running<Integer> opener : openers) {
            pushed += opener.result();
        }
        queue = setup.open(directory);
        assertEquals(pushed, Payload.drain(queue).size());
    }
}
