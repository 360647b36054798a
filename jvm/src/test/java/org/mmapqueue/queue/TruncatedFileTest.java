package org.mmapqueue.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.PoisonedException;

/** Another process truncates a file of an open queue: each call says so by a typed error, and the queue can be closed. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TruncatedFileTest {
    private static final int SEGMENT = 4096;
    private static final int LENGTH = 300;
    private static final Duration SHORT = Duration.ofMillis(1);

    @TempDir(factory = QuickDirectory.class)
    Path temp;
    private Path directory;

    private MmapQueue open() {
        directory = temp.resolve("queue");
        return MmapQueue.open(QueueConfig.builder(directory).segmentSize(SEGMENT).queueCapacitySegments(64)
                .maxInMemSegments(32).maxEventSize(1000).flushPeriodMillis(600_000).retainBytes(1 << 20).build());
    }

    private static void push(MmapQueue queue, int count) {
        for (int i = 0; i < count; i++) {
            queue.push(Payload.numbered(queue.endOffset(), LENGTH));
        }
    }

    private static Map<String, Executable> operations(MmapQueue queue) {
        Map<String, Executable> all = new LinkedHashMap<>();
        Consumer consumer = queue.consumer("one", StartAt.EARLIEST);
        all.put("stats", queue::stats);
        all.put("consumerStats", queue::consumerStats);
        all.put("get", () -> queue.getMany(0, 100));
        all.put("find", () -> queue.find(0));
        all.put("peek", consumer::peek);
        all.put("poll", consumer::poll);
        all.put("popBatch", () -> consumer.popBatch(100, 1 << 20, SHORT));
        all.put("ack", () -> consumer.ack(consumer.readOffset() - 1));
        all.put("nack", () -> consumer.nack(consumer.readOffset() - 1));
        all.put("seek", () -> consumer.seek(StartAt.EARLIEST));
        all.put("push", () -> queue.push(new byte[LENGTH]));
        all.put("pushBatch", () -> queue.pushBatch(List.of(new byte[LENGTH], new byte[700])));
        all.put("pushSync", () -> queue.pushSync(new byte[LENGTH], SHORT));
        all.put("flush", queue::flush);
        all.put("gc", queue::gc);
        return all;
    }

    private static void assertTyped(String name, Executable call) {
        try {
            call.execute();
        } catch (MmapQueueException e) {
            // As it should be.
        } catch (InternalError e) {
            assertLate(name, e);
        } catch (Throwable e) {
            throw new AssertionError(name + " throws " + e, e);
        }
    }

    // The JVM may report a fault in compiled code some calls later, anywhere: nothing can translate it there.
    private static void assertLate(String name, InternalError e) {
        if (!e.getMessage().contains("recent unsafe memory access operation in compiled Java code")) {
            throw new AssertionError(name + " throws " + e, e);
        }
    }

    /** Whatever is called first and afterwards, none of it ends the JVM, and the lock is free at the end. */
    @ParameterizedTest
    @ValueSource(strings = {"0_segment.dat", "3_segment.dat", "6_segment.dat", "meta.dat", "consumers/one.dat"})
    void theQueueCanBeClosedWhateverWasCalled(String name) throws Exception {
        int count = 0;
        try (MmapQueue queue = open()) {
            count = operations(queue).size();
        }
        for (int first = 0; first < count; first++) {
            Directories.delete(directory);
            MmapQueue queue = open();
            push(queue, 80);
            List<Map.Entry<String, Executable>> calls = List.copyOf(operations(queue).entrySet());
            assertEquals(0, queue.consumer("one", StartAt.EARLIEST).pop().offset());
            Directories.resize(directory.resolve(name), 0);
            for (int i = 0; i < count; i++) {
                try {
                    Map.Entry<String, Executable> call = calls.get((first + i) % count);
                    assertTyped(call.getKey() + " (first: " + calls.get(first).getKey() + ")", call.getValue());
                } catch (InternalError e) {
                    assertLate("a call", e);
                }
            }
            assertTyped("close", queue::close);
            // Not locked, and refused for what is wrong with it, or recovered.
            try {
                open().close();
            } catch (CorruptException e) {
                assertTrue(e.getMessage().contains("bytes"), e.getMessage());
            }
        }
    }

    private static void assertNames(MmapQueueException told, Path file) {
        assertTrue(told.getMessage().contains(file.toString()) && told.getMessage().contains("expected 4096"),
                told.getMessage());
    }

    @Test
    void theErrorNamesTheFileAndItsLength() throws Exception {
        MmapQueue queue = open();
        push(queue, 80);
        Consumer consumer = queue.consumer("one", StartAt.EARLIEST);
        assertEquals(0, consumer.pop().offset());
        Path read = directory.resolve("0_segment.dat");
        Directories.resize(read, 0);
        assertNames(assertThrows(CorruptException.class, consumer::poll), read);
        assertNames(assertThrows(CorruptException.class, () -> queue.get(3)), read);
        Path written = directory.resolve("6_segment.dat");
        assertTrue(Files.exists(written));
        Directories.resize(read, SEGMENT);
        Directories.resize(written, 0);
        assertNames(assertThrows(PoisonedException.class, queue::flush), written);
        assertNames(assertThrows(PoisonedException.class, () -> queue.push(new byte[LENGTH])), written);
        assertTyped("close", queue::close);
    }
}
