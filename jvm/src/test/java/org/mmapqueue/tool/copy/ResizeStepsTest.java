package org.mmapqueue.tool.copy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.recovery.RingSwitch;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.QueueContent;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/** A resize that ends at each of its steps leaves the old ring or the new one. */
class ResizeStepsTest {
    private static final RingSize LARGER = new RingSize(64 * 8192, 8192);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path made;
    private QueueContent before;

    @BeforeEach
    void make() throws Exception {
        made = temp.resolve("made");
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(made)
                .segmentSize(4096)
                .queueCapacitySegments(12)
                .maxEventSize(9000)
                .build())) {
            Consumer consumer = queue.consumer("b", StartAt.EARLIEST);
            consumer.label("for b");
            queue.createConsumer("default", StartAt.EARLIEST);
            for (int i = 0; i < 60; i++) {
                queue.push(Payload.of(i, i % 20 == 7 ? 9000 : 150));
                if (i < 40) {
                    consumer.ackUpTo(consumer.poll().offset());
                    queue.consumer().ackUpTo(queue.consumer().poll().offset());
                }
            }
            queue.pushOnce("p", 4, List.of("once".getBytes(StandardCharsets.UTF_8)), Duration.ZERO);
            consumer.poll();
            consumer.ack(consumer.poll().offset());
            consumer.nack(consumer.poll().offset());
        }
        before = QueueContent.of(made, temp.resolve("read"));
    }

    /** Every operation on files fails from the n-th one on, as if the process had died there. */
    @Test
    void anInterruptionAtEachStepIsUndoneOrCompletedByTheNextOpen() {
        FaultyStorage storage = new FaultyStorage();
        int completed = 0;
        int undone = 0;
        for (int step = 1; ; step++) {
            Path path = Directories.copy(made, temp.resolve("queue"));
            storage.stopAt(step);
            boolean ended = resize(storage, path);
            storage.heal();
            boolean committed = RingSwitch.isCommitted(path);
            if (committed) {
                assertThrows(MmapQueueException.class, () -> Verifier.verify(path, Progress.NONE));
                assertThrows(MmapQueueException.class, () -> MmapQueue.openToRead(path));
            }
            interruptedAgain(path, step);
            assertEquals(before, QueueContent.of(path, temp.resolve("read")), "step " + step);
            boolean isLarger = check(path);
            assertTrue(isLarger || !ended && !committed, "step " + step);
            completed += committed ? 1 : 0;
            undone += isLarger ? 0 : 1;
            Directories.delete(path);
            if (ended) {
                break;
            }
        }
        assertTrue(completed > 15 && undone > 40, completed + " completed, " + undone + " undone");
    }

    // The recovery of a resize is interrupted as well, at a step of its own.
    private static void interruptedAgain(Path path, int step) {
        if (RingSwitch.isInterrupted(path)) {
            FaultyStorage storage = new FaultyStorage();
            storage.stopAt(1 + step % 7);
            assertThrows(IOException.class, () -> {
                RingSwitch.recover(storage, path);
                throw new IOException("completed");
            });
        }
    }

    private static boolean resize(FaultyStorage storage, Path path) {
        try {
            Copier.resize(storage, path, LARGER, Progress.NONE);
            return true;
        } catch (IOException | MmapQueueException e) {
            return false;
        }
    }

    // Returns whether the queue has the new ring.
    private static boolean check(Path path) {
        boolean isLarger;
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(path).build())) {
            int capacity = queue.stats().capacitySegments();
            isLarger = capacity == 64;
            assertTrue(isLarger || capacity == 12, "capacity " + capacity);
            assertEquals(4, queue.lastSequence("p").orElseThrow());
        }
        assertFalse(RingSwitch.isInterrupted(path));
        assertTrue(Verifier.verify(path, Progress.NONE).isWhole());
        assertTrue(Directories.segments(path).stream().allMatch(each -> {
            try {
                return Files.size(each) == (isLarger ? 8192 : 4096);
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }));
        return isLarger;
    }

    /** The next resize completes the one before, and then resizes. */
    @Test
    void theNextResizeCompletesTheInterruptedOne() throws Exception {
        FaultyStorage storage = new FaultyStorage();
        Path path = Directories.copy(made, temp.resolve("queue"));
        storage.failWhen((call, file) -> call == FaultyStorage.Call.RENAME && file.endsWith("queue/meta.dat"));
        assertThrows(IOException.class, () -> Copier.resize(storage, path, LARGER, Progress.NONE));
        assertTrue(RingSwitch.isCommitted(path));
        Copier.resize(path, new RingSize(32 * 8192, 0), Progress.NONE);
        assertEquals(before, QueueContent.of(path, temp.resolve("read")));
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(path).build())) {
            assertEquals(32, queue.stats().capacitySegments());
        }
    }

    /** Its position is of the old ring: in the new one the queue could not be opened. */
    @Test
    void aConsumerThatIsCreatedMeanwhileEndsTheResize() throws Exception {
        Path path = Directories.copy(made, temp.resolve("queue"));
        Progress creating = (done, total) -> {
            if (done > total / 2) {
                try (MmapQueue reader =
                        MmapQueue.open(QueueConfig.builder(path).readOnly(true).build())) {
                    reader.createConsumer("late", StartAt.LATEST);
                }
            }
        };
        MmapQueueException error = assertThrows(MmapQueueException.class, () -> Copier.resize(path, LARGER, creating));
        assertTrue(error.getMessage().contains("late"), error.getMessage());
        assertFalse(RingSwitch.isInterrupted(path));
        Copier.resize(path, LARGER, Progress.NONE);
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(path).build())) {
            assertEquals(List.of("b", "default", "late"), queue.consumers());
            assertEquals(61, queue.consumer("late", StartAt.EARLIEST).committedOffset());
        }
    }

    /** Its acks would be lost: in a copy without lock files nobody has owned a consumer. */
    @Test
    void noConsumerIsOpenedMeanwhile() throws Exception {
        Path path = Directories.copy(made, temp.resolve("queue"));
        assertFalse(Files.exists(path.resolve("consumers/b.lock")));
        List<LockedException> refused = new ArrayList<>();
        Progress opening = (done, total) -> {
            if (refused.isEmpty()) {
                try (MmapQueue reader =
                        MmapQueue.open(QueueConfig.builder(path).readOnly(true).build())) {
                    refused.add(assertThrows(LockedException.class, () -> reader.consumer("b", StartAt.EARLIEST)));
                }
            }
        };
        Copier.resize(path, LARGER, opening);
        assertEquals(1, refused.size());
        assertEquals(
                Files.getPosixFilePermissions(path.resolve("consumers/b.dat")),
                Files.getPosixFilePermissions(path.resolve("consumers/b.lock")));
        assertEquals(before, QueueContent.of(path, temp.resolve("read")));
    }

    /** Files of others survive, and the lock file keeps its identity: a process may be waiting for it. */
    @Test
    void otherFilesAreLeftAlone() throws Exception {
        Path path = Directories.copy(made, temp.resolve("queue"));
        Files.writeString(path.resolve("notes.txt"), "mine");
        Files.writeString(path.resolve("lock"), "");
        Object key = Files.getAttribute(path.resolve("lock"), "unix:ino");
        Copier.resize(path, LARGER, Progress.NONE);
        assertEquals("mine", Files.readString(path.resolve("notes.txt")));
        assertEquals(key, Files.getAttribute(path.resolve("lock"), "unix:ino"));
    }
}
