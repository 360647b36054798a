package org.mmapqueue.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Finding;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.verify.Verifier;

/** Queues without a consumer: their errors, statistics, files and repair. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class NoConsumerTest {
    private static final int HELD_FROM = 912;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path directory;

    @BeforeEach
    void setUp() {
        directory = temp.resolve("queue");
    }

    private MmapQueue open() {
        return MmapQueue.open(QueueConfig.builder(directory)
                .segmentSize(4096)
                .queueCapacitySegments(8)
                .maxInMemSegments(8)
                .maxEventSize(3000)
                .flushPeriod(Duration.ofMinutes(10))
                .build());
    }

    private static void push(MmapQueue queue, int count) {
        for (int i = 0; i < count; i++) {
            queue.push(Payload.numbered(queue.endOffset(), 300));
        }
    }

    /** Makes a closed queue without consumers; the last one had acked records 0 to 99 of 120. */
    private void makeWithoutConsumers() {
        try (MmapQueue queue = open()) {
            Consumer only = queue.consumer("only", StartAt.EARLIEST);
            for (int i = 0; i < 6; i++) {
                push(queue, 20);
                Payload.drain(only);
                only.ackUpTo(Math.min(99, queue.endOffset() - 1));
            }
            queue.deleteConsumer("only");
        }
    }

    private long word(int at) throws IOException {
        return ByteBuffer.wrap(Files.readAllBytes(directory.resolve("meta.dat")))
                .order(ByteOrder.LITTLE_ENDIAN)
                .getLong(at);
    }

    private void word(int at, long value) {
        Directories.overwrite(
                directory.resolve("meta.dat"),
                at,
                ByteBuffer.allocate(8)
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .putLong(value)
                        .array());
    }

    private VerifyReport verify() {
        return Verifier.verify(directory, Progress.NONE);
    }

    private List<Finding> corrupt() {
        return verify().findings().stream()
                .filter(each -> each.kind() == Finding.Kind.CORRUPT)
                .toList();
    }

    @Test
    void fullAndStatisticsNameTheSlowestConsumer() {
        try (MmapQueue queue = open()) {
            assertEquals(Optional.empty(), queue.stats().slowestConsumer());
            Consumer fast = queue.consumer("fast", StartAt.EARLIEST);
            queue.createConsumer("slow", StartAt.EARLIEST);
            FullException full = assertThrows(FullException.class, () -> {
                while (true) {
                    push(queue, 1);
                    Payload.drain(fast);
                    fast.ackUpTo(queue.endOffset() - 1);
                }
            });
            assertEquals(Optional.of("slow"), queue.stats().slowestConsumer());
            assertTrue(
                    full.getMessage()
                            .endsWith("are not acked; the slowest consumer is slow, "
                                    + queue.stats().writingPosition() + " bytes behind"),
                    full.getMessage());
            queue.deleteConsumer("slow");
            assertEquals(Optional.of("fast"), queue.stats().slowestConsumer());
        }
    }

    @Test
    void fullReportsThatThereIsNoConsumer() {
        try (MmapQueue queue = open()) {
            FullException full = assertThrows(FullException.class, () -> push(queue, 1000));
            assertTrue(full.getMessage().endsWith("; it has no consumer, so no record was acked"), full.getMessage());
        }
    }

    @Test
    void aFirstConsumerThatBeginsAtTheEndMakesRoom() throws Exception {
        try (MmapQueue queue = open()) {
            assertThrows(FullException.class, () -> push(queue, 1000));
            long end = queue.endOffset();
            Waiting.Running<Long> pushing =
                    Waiting.start(() -> queue.push(new byte[300], Waiting.LONG)).untilItWaits();
            Consumer late = queue.consumer("late", StartAt.LATEST);
            assertEquals(end, pushing.result());
            assertEquals(end, late.pop().offset());
        }
    }

    @Test
    void verifyFindsNoFault() {
        try (MmapQueue queue = open()) {
            push(queue, 50);
        }
        assertTrue(verify().isWhole(), verify().findings().toString());
        assertEquals(List.of(), verify().consumers());
        directory = temp.resolve("deserted");
        makeWithoutConsumers();
        assertTrue(verify().isWhole(), verify().findings().toString());
        assertEquals(List.of(), verify().consumers());
    }

    @Test
    void repairKeepsTheLogStart() throws IOException {
        makeWithoutConsumers();
        long held = word(HELD_FROM);
        Directories.flip(directory.resolve("meta.dat"), 90, 1);
        Path target = temp.resolve("repaired");
        Repairer.repair(directory, target, false, Progress.NONE);
        directory = target;
        assertTrue(verify().isWhole(), verify().findings().toString());
        assertEquals(held, word(HELD_FROM));
        try (MmapQueue queue = open()) {
            assertEquals(List.of(), queue.consumers());
            assertEquals(100, queue.consumer().pop().offset());
        }
    }

    @Test
    void aLostMetaPageCreatesAndCostsNoConsumer() throws IOException {
        try (MmapQueue queue = open()) {
            push(queue, 30);
        }
        Path with = Directories.copy(directory, temp.resolve("with"));
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(with).build())) {
            queue.consumer("default", StartAt.EARLIEST).pollBatch(10, Long.MAX_VALUE);
            queue.consumer().ackUpTo(9);
        }
        for (Path each : List.of(directory, with)) {
            Files.delete(each.resolve("meta.dat"));
            Path repaired = temp.resolve(each.getFileName() + "-repaired");
            Repairer.repair(each, repaired, false, Progress.NONE);
            try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(repaired).build())) {
                boolean isWith = each.equals(with);
                assertEquals(isWith ? List.of("default") : List.of(), queue.consumers());
                assertEquals(isWith ? 20 : 30, Payload.drain(queue).size());
            }
        }
    }

    @Test
    void anImpossiblePositionIsDamage() throws IOException {
        makeWithoutConsumers();
        long held = word(HELD_FROM);
        for (long wrong : new long[] {-8, held + 8, held + (1 << 20)}) {
            word(HELD_FROM, wrong);
            List<Finding> found = corrupt();
            assertTrue(found.stream().anyMatch(each -> each.position() == HELD_FROM), wrong + ": " + found);
            if (wrong != held + 8) { // else only a reader of that position finds it
                assertEquals(
                        HELD_FROM,
                        assertThrows(CorruptException.class, this::open).position());
            }
            Path target = temp.resolve("repaired" + wrong);
            Repairer.repair(directory, target, false, Progress.NONE);
            assertTrue(Verifier.verify(target, Progress.NONE).isWhole());
        }
    }

    @Test
    void theLogStartMovesWhenTheSlowestConsumerIsDeleted() {
        try (MmapQueue queue = open()) {
            queue.createConsumer("default", StartAt.EARLIEST);
            Consumer other = queue.consumer("other", StartAt.EARLIEST);
            push(queue, 20);
            Payload.drain(other);
            other.ackUpTo(19);
            assertEquals(0, queue.firstOffset());
            queue.deleteConsumer("default");
            assertEquals(20, queue.firstOffset());
        }
    }
}
