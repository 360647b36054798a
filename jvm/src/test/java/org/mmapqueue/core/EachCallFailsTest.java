package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
 * Each call to the disk fails once, in turn, while a queue is made, used in every way, closed, opened again, left
 * without a close and recovered: what a push returned for is there, errors are typed, a failed fsync poisons, nothing
 * stays open. faults.step in the system properties says whether each (1) or each n-th call does.
 */
@Tag("long-form")
@Timeout(600)
class EachCallFailsTest {
    private static final int STEP = Integer.getInteger("faults.step", 5);
    private static final int MOST_FAILURES = 5;
    private static final String KEEPER = "keeper";

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private FaultyStorage storage;
    private StorageQueue queue;
    private Path directory;
    private boolean threads;
    /** What pushes have returned for; the keeper acks nothing, so all of it must stay. */
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
                .flushPeriodMillis(600_000)
                .build();
    }

    private void attempt(String what, Step step) throws IOException {
        try {
            step.run();
        } catch (CorruptException e) {
            throw new AssertionError(what + ": an I/O error is no damage", e);
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

    private void force(String what, Step step) throws IOException {
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
            assertTrue(tries < 2, "the fault is gone, and the queue can not be opened: " + errors);
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
        attempt("keeper", () -> queue.createConsumer(KEEPER, StartAt.EARLIEST));
        queue.createConsumer(KEEPER, StartAt.EARLIEST); // the fault is gone; does nothing when it is there
        for (int i = 0; i < 8; i++) {
            push(i == 5 ? 9000 : 900);
        }
        attempt("batch", () -> {
            List<byte[]> batch = List.of(Payload.of(pushed.size(), 3000), Payload.of(pushed.size() + 1, 3000));
            assertEquals(pushed.size(), queue.pushBatch(batch));
            pushed.addAll(batch);
        });
        force("sync", () -> queue.awaitDurable());
        attempt("house", () -> queue.housekeeperStep());
        for (int i = 0; i < 6; i++) {
            attempt("pop", () -> {
                Message message = queue.poll("default");
                if (message != null) {
                    assertArrayEquals(pushed.get((int) message.offset()), message.data());
                }
            });
        }
        attempt("ack", () -> queue.ack("default", queue.committedOffset("default")));
        attempt("single", () -> queue.ackSingle("default", queue.committedOffset("default") + 1));
        attempt("nack", () -> queue.nack("default", queue.committedOffset("default") + 2));
        attempt("seek", () -> queue.seek("default", StartAt.EARLIEST));
        attempt("pop", () -> queue.poll("default"));
        attempt("ack", () -> queue.ack("default", 0));
        force("flush", () -> queue.flush());
        attempt("make", () -> queue.createConsumer("other", StartAt.LATEST));
        attempt("take up", () -> queue.poll("other"));
        attempt("get", () -> assertArrayEquals(pushed.get(0), queue.get(0).data()));
        attempt("delete", () -> queue.deleteConsumer("other"));
        attempt("gc", () -> queue.gc());
        attempt("stats", () -> queue.stats());
        attempt("leave", () -> queue.closeConsumer("default"));
        push(5000);
        attempt("pop", () -> queue.poll("default"));
    }

    private void scenario() throws IOException {
        open();
        use();
        close();
        open();
        push(700);
        // What the death of a process leaves: the directory as it is now.
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
        for (Message message = queue.poll(KEEPER); message != null; message = queue.poll(KEEPER)) {
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
            return ""; // the listing's own, closed by now
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

    /** A disk with room for some bytes only, and then some more, and so on. */
    @Test
    void aRepeatedlyFullDiskLosesNothing() throws IOException {
        storage = new FaultyStorage();
        directory = temp.resolve("quota");
        open();
        queue.createConsumer(KEEPER, StartAt.EARLIEST);
        int refused = 0;
        for (int room = 0; room < 5; room++) {
            storage.room(3 * 4096 + 100);
            int before = errors.size();
            for (int i = 0; errors.size() == before; i++) {
                assertTrue(i < 40, "the disk is not full");
                push(i % 5 == 4 ? 5000 : 900);
            }
            refused++;
            assertTrue(errors.get(before).contains("disk full"), errors.get(before));
            queue.flush();
            Message next = queue.poll(KEEPER);
            assertArrayEquals(pushed.get((int) next.offset()), next.data());
        }
        assertEquals(5, refused);
        storage.room(Long.MAX_VALUE);
        push(9000);
        close();
        open();
        assertEquals(pushed.size(), queue.endOffset());
        for (byte[] each : pushed) {
            assertArrayEquals(each, queue.poll(KEEPER).data());
        }
        close();
    }
}
