package org.mmapqueue.damage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.function.Executable;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.PoisonedException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;

/** Truncates files of its own open queue, and prints the errors that differ from the expected ones. */
final class TruncatedFileChild {
    private static final int SEGMENT = 4096;
    private static final int LENGTH = 300;
    private static final Duration SHORT = Duration.ofMillis(1);
    /** Before the name of a file whose mapping faults, though the file of that name has its full length. */
    static final String HIDDEN = "hidden:";

    private Path directory;
    /** Number of calls that have met a fault in a mapping of a file with its full length. */
    private int typed;

    private TruncatedFileChild(Path directory) {
        this.directory = directory;
    }

    public static void main(String[] arguments) throws Exception {
        TruncatedFileChild child = new TruncatedFileChild(Path.of(arguments[0]));
        try {
            if (arguments[1].equals("names")) {
                child.theErrorNamesTheFileAndItsLength();
            } else {
                child.theQueueCanBeClosedWhateverWasCalled(arguments[1]);
                if (arguments[1].startsWith(HIDDEN)) {
                    child.assertMet();
                }
            }
            System.out.println("done");
        } catch (Throwable e) {
            System.out.println(e);
            throw e;
        }
    }

    private MmapQueue open() {
        return MmapQueue.open(QueueConfig.builder(directory)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(64)
                .maxInMemSegments(32)
                .maxEventSize(1000)
                .flushPeriod(Duration.ofMinutes(10))
                .retainBytes(1 << 20)
                .build());
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
        all.put("find", () -> queue.find(Instant.EPOCH));
        all.put("peek", consumer::peek);
        all.put("poll", consumer::poll);
        all.put("popBatch", () -> consumer.popBatch(100, 1 << 20, SHORT));
        all.put("ack", () -> consumer.ackUpTo(consumer.readOffset() - 1));
        all.put("nack", () -> consumer.nack(consumer.readOffset() - 1));
        all.put("seek", () -> consumer.seek(StartAt.EARLIEST));
        all.put("push", () -> queue.push(new byte[LENGTH]));
        all.put("pushBatch", () -> queue.pushBatch(List.of(new byte[LENGTH], new byte[700])));
        all.put("pushSync", () -> queue.pushSync(new byte[LENGTH], SHORT));
        all.put("flush", queue::flush);
        all.put("gc", queue::gc);
        return all;
    }

    private void truncate(String name) throws IOException {
        if (!name.startsWith(HIDDEN)) {
            Directories.resize(directory.resolve(name), 0);
            return;
        }
        Path file = directory.resolve(name.substring(HIDDEN.length()));
        Path mapped = Files.createLink(directory.resolveSibling("mapped" + directory.getFileName()), file);
        Path other = Files.copy(file, directory.resolveSibling("other" + directory.getFileName()));
        Files.move(other, file, StandardCopyOption.REPLACE_EXISTING);
        Directories.resize(mapped, 0);
    }

    private void assertTyped(String name, Executable call) {
        try {
            call.execute();
        } catch (MmapQueueException e) {
            typed += e.getMessage().contains("could not be read or written") ? 1 : 0;
        } catch (InternalError e) {
            assertLate(name, e);
        } catch (Throwable e) {
            throw new AssertionError(name + " throws " + e, e);
        }
    }

    // The JVM may report a fault some calls later, anywhere: nothing can translate it there.
    private static void assertLate(String name, InternalError e) {
        if (!e.getMessage().contains("recent unsafe memory access operation")) {
            throw new AssertionError(name + " throws " + e, e);
        }
    }

    // Whatever is called first and afterwards, none of it ends the JVM.
    private void theQueueCanBeClosedWhateverWasCalled(String name) throws Exception {
        int count = 0;
        try (MmapQueue queue = open()) {
            count = operations(queue).size();
        }
        for (int first = 0; first < count; first++) {
            directory = directory.resolveSibling("queue" + first);
            MmapQueue queue = open();
            push(queue, 80);
            List<Map.Entry<String, Executable>> calls =
                    List.copyOf(operations(queue).entrySet());
            assertEquals(0, queue.consumer("one", StartAt.EARLIEST).pop().offset());
            truncate(name);
            for (int i = 0; i < count; i++) {
                Map.Entry<String, Executable> call = calls.get((first + i) % count);
                try {
                    assertTyped(call.getKey() + " (first: " + calls.get(first).getKey() + ")", call.getValue());
                } catch (InternalError e) {
                    assertLate("a call", e);
                }
            }
            assertTyped("close", queue::close);
            if (name.startsWith(HIDDEN)) {
                continue; // the file at the path is whole, and what is in it depends on the calls
            }
            if (!name.endsWith("_segment.dat")) {
                continue; // without cursors the close itself may throw; the lock ends with the process
            }
            // Not locked, and refused for what is wrong with it, or recovered.
            try {
                open().close();
            } catch (CorruptException | PoisonedException e) {
                assertTrue(e.getMessage().contains("bytes"), e.getMessage());
            }
        }
    }

    private void assertMet() {
        assertTrue(typed > 0, "no call has met a fault");
    }

    private static void assertNames(MmapQueueException told, Path file) {
        assertTrue(
                told.getMessage().contains(file.toString()) && told.getMessage().contains("expected 4096"),
                told.getMessage());
    }

    private void theErrorNamesTheFileAndItsLength() throws Exception {
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
