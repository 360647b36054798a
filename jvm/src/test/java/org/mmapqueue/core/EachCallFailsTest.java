package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.PoisonedException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.FaultyStorage.Fault;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.StorageQueue;

/**
 * Each call to the disk fails in turn while a queue is created, used, closed, reopened, killed and recovered. Every
 * pushed record is found, errors are typed, a failed fsync poisons, nothing stays open. The system property faults.step
 * = n lets each n-th call fail.
 */
@Tag("long-form")
@Timeout(600)
class EachCallFailsTest {
    private static final int STEP = Integer.getInteger("faults.step", 5);
    private static final int MOST_FAILURES = 5;
    private static final String RETAINING = "retaining";

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private FaultyStorage storage;
    private StorageQueue queue;
    private Path directory;
    private boolean threads;
    /** Records of pushes that returned; the retaining consumer acks none, so all of them must be found. */
    private final List<byte[]> pushed = new ArrayList<>();

    private final List<String> errors = new ArrayList<>();
    private boolean isPoisoned;

    private interface Step {
        void run() throws IOException;
    }

    private QueueConfig config() {
        return QueueConfig.builder(directory)
                .segmentSize(4096)
                .queueCapacitySegments(30)
                .maxInMemSegments(8)
                .maxEventSize(9000)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    private void attempt(String what, Step step) throws IOException {
        try {
            step.run();
        } catch (CorruptException e) {
            throw new AssertionError(what + ": an I/O error is not damage", e);
        } catch (PoisonedException e) {
            isPoisoned = true;
            errors.add(what + ": " + e);
        } catch (MmapQueueException e) {
            errors.add(what + ": " + e);
        }
    }

    private void push(int length) throws IOException {
        byte[] record = Payload.of(pushed.size(), length);
        attempt("push", () -> {
            assertEquals(pushed.size(), queue.push(record));
            assertTrue(!isPoisoned, "a push after a failed fsync");
            pushed.add(record);
        });
    }

    private void attemptSync(String what, Step step) throws IOException {
        int before = errors.size();
        boolean wasPoisoned = isPoisoned;
        attempt(what, step);
        if (errors.size() > before && !wasPoisoned) {
            assertTrue(isPoisoned, "an fsync that fails poisons: " + errors);
        }
        if (isPoisoned) {
            assertThrows(PoisonedException.class, () -> queue.push(new byte[1]));
        }
    }

    private void open() throws IOException {
        queue = null;
        isPoisoned = false;
        for (int tries = 0; queue == null; tries++) {
            assertTrue(tries < 2, "the fault is gone, but the queue cannot be opened: " + errors);
            attempt("open", () -> queue = StorageQueue.open(config(), storage));
            if (queue == null) {
                assertNothingIsOpen();
            }
        }
        if (threads) {
            queue.start();
        }
    }

    private void close() throws IOException {
        attempt("close", () -> queue.close());
        assertThrows(ClosedException.class, () -> queue.push(new byte[1]));
        assertNothingIsOpen();
    }

    private void use() throws IOException {
        attempt("retaining", () -> queue.createConsumer(RETAINING, StartAt.EARLIEST));
        queue.createConsumer(RETAINING, StartAt.EARLIEST); // the fault is gone; has no effect if the consumer exists
        for (int i = 0; i < 8; i++) {
            push(i == 5 ? 9000 : 900);
        }
        attempt("batch", () -> {
            List<byte[]> batch = List.of(Payload.of(pushed.size(), 3000), Payload.of(pushed.size() + 1, 3000));
            assertEquals(pushed.size(), queue.pushBatch(batch));
            pushed.addAll(batch);
        });
        attemptSync("sync", () -> queue.awaitDurable());
        attempt("housekeeper", () -> queue.housekeeperStep());
        for (int i = 0; i < 6; i++) {
            attempt("pop", () -> {
                Message message = queue.poll("default");
                if (message != null) {
                    assertArrayEquals(pushed.get((int) message.offset()), message.data());
                }
            });
        }
        attempt("ack", () -> queue.ackUpTo("default", queue.committedOffset("default")));
        attempt("single", () -> queue.ack("default", queue.committedOffset("default") + 1));
        attempt("nack", () -> queue.nack("default", queue.committedOffset("default") + 2));
        attempt("seek", () -> queue.seek("default", StartAt.EARLIEST));
        attempt("pop", () -> queue.poll("default"));
        attempt("ack", () -> queue.ackUpTo("default", 0));
        attemptSync("flush", () -> queue.flush());
        attempt("create", () -> queue.createConsumer("other", StartAt.LATEST));
        attempt("open", () -> queue.poll("other"));
        attempt("get", () -> assertArrayEquals(pushed.get(0), queue.get(0).data()));
        attempt("delete", () -> queue.deleteConsumer("other"));
        attempt("gc", () -> queue.gc());
        attempt("stats", () -> queue.stats());
        attempt("close consumer", () -> queue.closeConsumer("default"));
        push(5000);
        attempt("pop", () -> queue.poll("default"));
    }

    private void scenario() throws IOException {
        open();
        use();
        close();
        open();
        push(700);
        // A kill leaves the directory as it is now.
        Path killed = Directories.copy(directory, temp.resolve(directory.getFileName() + "-killed"));
        close();
        Directories.delete(directory);
        directory = killed;
        open();
        push(700);
        close();
    }

    private boolean failsAt(int number, Fault fault) throws IOException {
        storage = new FaultyStorage();
        directory = temp.resolve(fault + "-" + number + (threads ? "-threads" : ""));
        pushed.clear();
        errors.clear();
        storage.failOnce(number, fault);
        scenario();
        boolean hasFailed = storage.failed() != null;
        storage = new FaultyStorage();
        open();
        assertEquals(pushed.size(), queue.endOffset());
        List<Message> found = new ArrayList<>();
        for (Message message = queue.poll(RETAINING); message != null; message = queue.poll(RETAINING)) {
            found.add(message);
        }
        Payload.assertMessages(0, pushed, found);
        close();
        assertTrue(errors.isEmpty() || hasFailed, () -> "no fault, and " + errors);
        Directories.delete(directory);
        return hasFailed;
    }

    private void assertNothingIsOpen() throws IOException {
        String here = temp.toString();
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            assertEquals(
                    List.of(),
                    descriptors
                            .map(EachCallFailsTest::target)
                            .filter(each -> each.startsWith(here))
                            .toList(),
                    "descriptors");
        }
        try (Stream<String> mappings = Files.lines(Path.of("/proc/self/maps"))) {
            // The pages of cursors are left to the garbage collector.
            assertEquals(
                    List.of(),
                    mappings.filter(each -> each.contains(here) && each.contains("_segment.dat"))
                            .toList(),
                    "mappings");
        }
        assertEquals(
                List.of(),
                Thread.getAllStackTraces().keySet().stream()
                        .map(Thread::getName)
                        .filter(name -> name.startsWith("mmapqueue-" + directory.getFileName()))
                        .toList(),
                "threads");
    }

    private static String target(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException e) {
            return ""; // the descriptor of the listing, closed by now
        }
    }

    @ParameterizedTest
    @EnumSource
    void nothingIsLostAndNothingStaysOpen(Fault fault) throws IOException {
        List<String> failures = new ArrayList<>();
        int number = 0;
        boolean hasFailed = true;
        while (hasFailed && failures.size() < MOST_FAILURES) {
            threads = number % 7 == 6;
            try {
                hasFailed = failsAt(number, fault);
            } catch (RuntimeException | AssertionError e) {
                failures.add("call " + number + ", " + storage.failed() + ": " + e + " " + errors);
                attempt("clean up", () -> queue.close());
            }
            number += STEP;
        }
        assertEquals(List.of(), failures, number + " calls");
        assertTrue(number > 2 * STEP, "calls " + number);
    }

    /** The disk becomes full several times, each time after some more bytes. */
    @Test
    void aRepeatedlyFullDiskLosesNothing() throws IOException {
        storage = new FaultyStorage();
        directory = temp.resolve("quota");
        open();
        queue.createConsumer(RETAINING, StartAt.EARLIEST);
        int full = 0;
        for (int room = 0; room < 5; room++) {
            storage.room(3 * 4096 + 100);
            int before = errors.size();
            for (int i = 0; errors.size() == before; i++) {
                assertTrue(i < 40, "the disk is not full");
                push(i % 5 == 4 ? 5000 : 900);
            }
            full++;
            assertTrue(errors.get(before).contains("disk full"), errors.get(before));
            queue.flush();
            Message next = queue.poll(RETAINING);
            assertArrayEquals(pushed.get((int) next.offset()), next.data());
        }
        assertEquals(5, full);
        storage.room(Long.MAX_VALUE);
        push(9000);
        close();
        open();
        assertEquals(pushed.size(), queue.endOffset());
        for (byte[] each : pushed) {
            assertArrayEquals(each, queue.poll(RETAINING).data());
        }
        close();
    }
}
