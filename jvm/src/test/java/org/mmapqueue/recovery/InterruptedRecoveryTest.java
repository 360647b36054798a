package org.mmapqueue.recovery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** An open that fails, or is cut short, at each of its steps: the next one finds what there was before. */
@Timeout(120)
class InterruptedRecoveryTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private static QueueConfig config(Path at) {
        return QueueConfig.builder(at)
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .maxInMemSegments(5)
                .maxEventSize(9000)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    /** A directory with records over a few segments, some acked, some flushed, one named consumer; then killed. */
    private Path killed() {
        Path directory = temp.resolve("original");
        MmapQueue queue = MmapQueue.open(config(directory));
        queue.consumer("named", StartAt.EARLIEST);
        for (int i = 0; i < 30; i++) {
            queue.push(payload(i));
            if (i == 11) {
                queue.flush();
            }
        }
        Payload.drain(queue);
        queue.consumer().ackUpTo(3);
        Path left = Directories.losePower(Directories.copy(directory, temp.resolve("left")));
        queue.close();
        return left;
    }

    // With header and timestamp 504 bytes: eight fill a segment to its last byte, one in ten fills two. So each segment
    // begins with a whole record, and the bytes after a torn one could be taken for a part of the log.
    private static byte[] payload(int number) {
        return Payload.of(number, number % 10 == 9 ? 2 * 4032 - 16 : 488);
    }

    private static List<byte[]> payloads(int from, int to) {
        List<byte[]> payloads = new ArrayList<>();
        for (int i = from; i < to; i++) {
            payloads.add(payload(i));
        }
        return payloads;
    }

    /** Opens with a storage that stops at each step in turn, until it comes through; then checks the directory. */
    private int stopAtEachStep(Path left, Consumer<Path> check) {
        for (int step = 1; ; step++) {
            Path at = Directories.copy(left, temp.resolve("step-" + step));
            FaultyStorage storage = new FaultyStorage();
            storage.stopAt(step);
            boolean opened = false;
            try {
                QueueCore core = Cores.open(config(at), storage);
                opened = true;
                storage.heal();
                core.close();
            } catch (CorruptException e) {
                throw new AssertionError("an I/O error at step " + step + " is not damage", e);
            } catch (MmapQueueException e) {
                assertTrue(e.getMessage().contains("injected"), e.getMessage());
            }
            check.accept(at);
            Directories.delete(at);
            if (opened) {
                return step;
            }
            assertTrue(step < 1000);
        }
    }

    private static void assertNothingLost(Path at, int survivors) {
        for (int round = 0; round < 2; round++) {
            try (MmapQueue queue = MmapQueue.open(config(at))) {
                assertEquals(survivors + round, queue.endOffset());
                List<byte[]> expected = payloads(0, survivors);
                if (round == 1) {
                    expected.add(payload(99));
                }
                Payload.assertMessages(4, expected.subList(4, expected.size()), Payload.drain(queue));
                Payload.assertMessages(0, expected, Payload.drain(queue.consumer("named", StartAt.LATEST)));
                if (round == 0) {
                    queue.push(payload(99));
                }
            }
        }
    }

    @Test
    void aRecoveryThatStopsAtAnyStepLosesNothing() {
        int steps = stopAtEachStep(killed(), at -> assertNothingLost(at, 30));
        assertTrue(steps > 10, "steps " + steps);
    }

    @Test
    void aRecoveryAfterATornRecordThatStopsAtAnyStepFindsTheSameEnd() {
        Path left = killed();
        // Record 20 is torn; it is in one of the later segments.
        int torn = tear(left, payload(20));
        assertTrue(torn > 0, "record 20 is in segment " + torn);
        stopAtEachStep(left, at -> assertNothingLost(at, 20));
    }

    private static int tear(Path left, byte[] payload) {
        for (Path segment : Directories.segments(left)) {
            byte[] bytes = Directories.read(segment);
            for (int at = 0; at < bytes.length - 64; at++) {
                if (Arrays.equals(bytes, at, at + 60, payload, 0, 60)) {
                    Directories.flip(segment, at + 30, 8);
                    return Integer.parseInt(segment.getFileName().toString().replaceAll("\\D.*", ""));
                }
            }
        }
        return -1;
    }

    /** Stops twice: the second recovery finds what the first one has left at each of its steps. */
    @Test
    void aRecoveryOfAStoppedRecoveryThatStopsToo() {
        Path left = killed();
        tear(left, payload(20));
        int steps = stopAtEachStep(left, at -> {});
        for (int first = 1; first < steps; first += 2) {
            for (int second = 1; second < steps; second += 3) {
                Path at = Directories.copy(left, temp.resolve("twice-" + first + "-" + second));
                for (int stop : new int[] {first, second}) {
                    FaultyStorage storage = new FaultyStorage();
                    storage.stopAt(stop);
                    try {
                        QueueCore core = Cores.open(config(at), storage);
                        storage.heal();
                        core.close();
                    } catch (MmapQueueException e) {
                        assertTrue(e.getMessage().contains("injected"), e.getMessage());
                    }
                }
                assertNothingLost(at, 20);
                Directories.delete(at);
            }
        }
    }

    @Test
    void makingANewQueueThatStopsAtAnyStepLeavesNothingInTheWay() {
        Path empty = temp.resolve("empty");
        for (int step = 1; ; step++) {
            Path at = empty.resolve("queue-" + step);
            FaultyStorage storage = new FaultyStorage();
            storage.stopAt(step);
            boolean opened = false;
            try {
                QueueCore core = Cores.open(config(at), storage);
                opened = true;
                storage.heal();
                core.close();
            } catch (MmapQueueException e) {
                assertTrue(e.getMessage().contains("injected"), e.getMessage());
            }
            try (MmapQueue queue = MmapQueue.open(config(at))) {
                assertEquals(0, queue.push(payload(1)));
                Payload.assertMessages(0, List.of(payload(1)), Payload.drain(queue));
            }
            if (opened) {
                assertTrue(step > 5, "steps " + step);
                return;
            }
        }
    }

    @Test
    void aCleanOpenThatStopsAtAnyStepLosesNothing() {
        Path directory = temp.resolve("clean");
        try (MmapQueue queue = MmapQueue.open(config(directory))) {
            queue.consumer("named", StartAt.EARLIEST);
            Payload.pushAll(queue, payloads(0, 30));
            Payload.drain(queue);
            queue.consumer().ackUpTo(3);
        }
        stopAtEachStep(directory, at -> assertNothingLost(at, 30));
    }

    @Test
    void aConsumerThatCouldNotBeMadeCanBeMadeLater() {
        Path at = temp.resolve("consumers");
        FaultyStorage storage = new FaultyStorage();
        QueueCore core = Cores.open(config(at), storage);
        for (int i = 0; i < 5; i++) {
            core.writer().push(payload(i), 0, 300);
        }
        boolean made = false;
        for (int step = 1; !made; step++) {
            storage.stopAt(step);
            try {
                core.consumer("named", StartAt.EARLIEST);
                made = true;
                assertTrue(step > 3, "steps " + step);
            } catch (MmapQueueException e) {
                assertTrue(e.getMessage().contains("injected"), e.getMessage());
            }
        }
        storage.heal();
        assertEquals(0, core.consumer("named", StartAt.EARLIEST).readOffset());
        core.writer().push(payload(6), 0, 300);
        core.close();
        assertFalse(Files.exists(at.resolve("consumers").resolve("named.dat.new")));
    }

    @Test
    void anOpenThatFailedHasReleasedTheLock() {
        Path left = killed();
        FaultyStorage storage = new FaultyStorage();
        storage.failWhen((call, path) -> call == FaultyStorage.Call.MAP);
        for (int i = 0; i < 3; i++) {
            assertThrows(MmapQueueException.class, () -> Cores.open(config(left), storage));
        }
        assertNothingLost(left, 30);
    }
}
