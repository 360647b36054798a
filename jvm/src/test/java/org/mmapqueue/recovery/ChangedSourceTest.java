package org.mmapqueue.recovery;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.ChangingRecords;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/** A caller changes payloads while it pushes them, and the process is killed: those records alone are damaged. */
@Timeout(120)
class ChangedSourceTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private static QueueConfig config(Path at) {
        return QueueConfig.builder(at)
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .maxEventSize(10_000)
                .flushPeriod(Duration.ofMinutes(10))
                .onDamage("skip")
                .build();
    }

    /** Records 0 to 11, of which 3, 4 and 8 are changed, and 8 spans segments; with {@code last}, 12 is changed, too. */
    private Path killed(boolean last) {
        Path directory = temp.resolve("queue");
        QueueCore core = Cores.open(config(directory), DiskStorage.INSTANCE);
        core.consumer("default", StartAt.EARLIEST);
        push(core, 0, 3);
        core.writer().flush();
        core.writer().push(new ChangingRecords(Payload.of(3, 100), Payload.of(4, 333)));
        push(core, 5, 8);
        core.writer().push(new ChangingRecords(Payload.of(8, 9000)));
        push(core, 9, 12);
        if (last) {
            core.writer().push(new ChangingRecords(Payload.of(12, 100)));
        }
        Path left = Directories.copy(directory, temp.resolve("left"));
        core.close();
        return left;
    }

    private static void push(QueueCore core, int from, int to) {
        for (int i = from; i < to; i++) {
            core.writer().push(Payload.of(i, 100), 0, 100);
        }
    }

    private static List<Long> offsets(MmapQueue queue) {
        List<Long> offsets = new ArrayList<>();
        for (Message message : Payload.drain(queue)) {
            assertArrayEquals(Payload.of(message.offset(), 100), message.data());
            offsets.add(message.offset());
        }
        return offsets;
    }

    private static final List<Long> INTACT = List.of(0L, 1L, 2L, 5L, 6L, 7L, 9L, 10L, 11L);

    @Test
    void theLogGoesOnBehindThem() {
        try (MmapQueue queue = MmapQueue.open(config(killed(false)))) {
            assertEquals(12, queue.endOffset());
            assertEquals(INTACT, offsets(queue));
            assertEquals(12, queue.push(Payload.of(12, 100)));
            assertEquals(List.of(12L), offsets(queue));
        }
    }

    @Test
    void theLastOneKeepsItsOffset() {
        try (MmapQueue queue = MmapQueue.open(config(killed(true)))) {
            assertEquals(13, queue.push(Payload.of(13, 100)));
            List<Long> expected = new ArrayList<>(INTACT);
            expected.add(13L);
            assertEquals(expected, offsets(queue));
        }
    }

    @Test
    void aRepairGivesUpThemAlone() {
        Path left = killed(false);
        assertFalse(Verifier.verify(left, Progress.NONE).isWhole());
        Repairer.repairInPlace(left, false, Progress.NONE);
        assertTrue(Verifier.verify(left, Progress.NONE).isWhole());
        try (MmapQueue queue = MmapQueue.open(config(left))) {
            assertEquals(12, queue.endOffset());
            assertEquals(INTACT, offsets(queue));
        }
    }

    /** What is behind a damaged record may have holes then, as any page may be lost. */
    @Test
    void afterALossOfPowerTheLogEndsBeforeTheFirst() {
        try (MmapQueue queue = MmapQueue.open(config(Directories.losePower(killed(true))))) {
            assertEquals(3, queue.endOffset());
            assertEquals(List.of(0L, 1L, 2L), offsets(queue));
        }
    }
}
