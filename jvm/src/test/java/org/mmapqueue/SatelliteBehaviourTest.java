package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.EmptyException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.TooLargeException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** The assertions of the tests of Satellite's mmap-queue, in both formats, with Satellite's defaults. */
@Timeout(120)
class SatelliteBehaviourTest {
    /** About the size of the events that Satellite's tests push. */
    private static final int EVENT = 2100;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private QueueConfig.Builder config(int version) {
        return QueueConfig.builder(temp.resolve("queue")).formatVersion(version);
    }

    private static List<byte[]> events(int count) {
        List<byte[]> events = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            events.add(Payload.of(i, EVENT));
        }
        return events;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void normal(int version) {
        try (MmapQueue queue = MmapQueue.open(config(version).build())) {
            List<byte[]> events = events(10);
            Payload.pushAll(queue, events);
            for (byte[] event : events) {
                assertArrayEquals(event, queue.consumer().pop().data());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void readHistory(int version) {
        QueueConfig config = config(version).segmentSize(10_240).build();
        MmapQueue.open(config).close();
        List<byte[]> events = events(1000);
        for (int i = 0; i < 10; i++) {
            try (MmapQueue queue = MmapQueue.open(config)) {
                Payload.pushAll(queue, events.subList(i * 100, i * 100 + 100));
            }
        }
        for (int i = 0; i < 10; i++) {
            try (MmapQueue queue = MmapQueue.open(config)) {
                for (int j = 0; j < 100; j++) {
                    Message message = queue.consumer().pop();
                    assertArrayEquals(events.get(i * 100 + j), message.data());
                    queue.consumer().ackUpTo(message.offset());
                }
            }
        }
        try (MmapQueue queue = MmapQueue.open(config)) {
            assertNull(queue.consumer().poll());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void pushOverCeilingMessage(int version) {
        QueueConfig config =
                config(version).segmentSize(10_240).maxEventSize(8 * 1024).build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            assertThrows(TooLargeException.class, () -> queue.push(new byte[20 * 1024]));
            assertEquals(0, queue.endOffset());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void flushWhenReachNum(int version) {
        QueueConfig config = config(version)
                .segmentSize(10_240)
                .flushCeilingNum(5)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            Payload.pushAll(queue, events(5));
            Waiting.until(
                    "the recovery point is at the log end",
                    () -> queue.stats().watermarkPosition() == queue.stats().writingPosition());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void flushPeriod(int version) {
        QueueConfig config = config(version)
                .segmentSize(10_240)
                .flushCeilingNum(50)
                .flushPeriod(Duration.ofMillis(100))
                .build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            Payload.pushAll(queue, events(5));
            Waiting.until(
                    "the recovery point is at the log end",
                    () -> queue.stats().watermarkPosition() == queue.stats().writingPosition());
        }
    }

    /** The number of mapped segments rises to the limit, falls by an eviction, then rises again. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void memCost(int version) {
        QueueConfig config =
                config(version).segmentSize(4096).maxInMemSegments(8).build();
        QueueCore core = Cores.open(config, DiskStorage.INSTANCE);
        try {
            List<Integer> mapped = new ArrayList<>();
            for (byte[] event : events(20)) {
                core.writer().push(event, 0, event.length - 20);
                mapped.add(core.stats().mappedSegments());
                core.writer().housekeeper().step();
            }
            assertEquals(List.of(1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 5, 6, 6, 7, 7, 8), mapped);
            assertEquals(8, core.stats().peakMappedSegments());
        } finally {
            core.close();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void overSegmentEvent(int version) {
        try (MmapQueue queue = MmapQueue.open(config(version).segmentSize(4096).build())) {
            int size = 10 * 1024;
            byte[] event = Payload.of(1, size);
            queue.push(event);
            assertEquals(size / 4096, queue.stats().writingPosition() / 4096);
            assertArrayEquals(event, queue.consumer().pop().data());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void reusingFiles(int version) throws Exception {
        QueueConfig config = config(version)
                .segmentSize(4096)
                .queueCapacitySegments(5)
                .maxEventSize(3 * 1024)
                .build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            for (int i = 0; i < 100; i++) {
                byte[] event = Payload.of(i, 2048 + 100);
                queue.push(event);
                Message message = queue.consumer().pop();
                assertArrayEquals(event, message.data());
                queue.consumer().ackUpTo(message.offset());
            }
            assertTrue(queue.stats().writingPosition() / 4096 > 5);
            assertTrue(queue.stats().lowWatermark() / 4096 > 5);
        }
        assertEquals(5, Directories.segments(temp.resolve("queue")).size());
        for (Path segment : Directories.segments(temp.resolve("queue"))) {
            assertEquals(4096, Files.size(segment));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void empty(int version) {
        QueueConfig config =
                config(version).segmentSize(4096).queueCapacitySegments(10).build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            assertThrows(EmptyException.class, queue.consumer()::pop);
            Payload.pushAll(queue, events(3));
            for (int i = 0; i < 3; i++) {
                queue.consumer().pop();
            }
            assertThrows(EmptyException.class, queue.consumer()::pop);
        }
    }

    /** Satellite counts its margin from the largest event: 10 − 1 − 20480 / 4096 segments take 8 events. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void full(int version) {
        QueueConfig config =
                config(version).segmentSize(4096).queueCapacitySegments(10).build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            Payload.pushAll(queue, events(version == 1 ? 8 : 19));
            assertThrows(FullException.class, () -> queue.push(new byte[2100]));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void missingParentDirectoriesAreCreated(int version) {
        Path deep = temp.resolve("one").resolve("two").resolve("three");
        QueueConfig config = QueueConfig.builder(deep)
                .formatVersion(version)
                .segmentSize(4096)
                .build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            queue.push(new byte[100]);
        }
        assertEquals(version == 1 ? 80 : 4096, Directories.read(deep.resolve("meta.dat")).length);
        assertEquals(4096, Directories.read(deep.resolve("0_segment.dat")).length);
    }
}
