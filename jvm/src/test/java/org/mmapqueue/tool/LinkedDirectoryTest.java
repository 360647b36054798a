package org.mmapqueue.tool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.recovery.RingSwitch;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.copy.Copier;
import org.mmapqueue.tool.copy.RingSize;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Finding;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/** The path of a queue's directory may be a symbolic link: for a queue that is opened, and for each tool. */
class LinkedDirectoryTest {
    private static final RingSize FEWER_FILES = new RingSize(8 * 32_768, 32_768);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path real;
    private Path link;
    private QueueContent before;

    @BeforeEach
    void make() throws Exception {
        real = temp.resolve("real");
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(real)
                .segmentSize(4096)
                .queueCapacitySegments(24)
                .maxEventSize(2000)
                .build())) {
            Consumer consumer = queue.consumer("b", StartAt.EARLIEST);
            for (int i = 0; i < 60; i++) {
                queue.push(Payload.of(i, 900));
            }
            consumer.ackUpTo(consumer.poll().offset());
        }
        before = QueueContent.of(real, temp.resolve("read"));
        link = Files.createSymbolicLink(temp.resolve("link"), real);
    }

    private void assertWhole() {
        assertEquals(List.of(), Verifier.verify(link, Progress.NONE).findings());
        assertEquals(List.of(), Verifier.verify(real, Progress.NONE).findings());
        assertEquals(before, QueueContent.of(real, temp.resolve("read")));
        assertFalse(RingSwitch.isInterrupted(real));
        assertTrue(Files.isSymbolicLink(link));
    }

    @Test
    void aResizeLeavesNoFileOfTheOldRing() {
        Copier.resize(link, FEWER_FILES, Progress.NONE);
        assertWhole();
    }

    /** At each step: by a link, what a resize by a link has left is completed or undone. */
    @Test
    void anInterruptedResizeIsCompletedByAnOpen() throws Exception {
        int completed = 0;
        boolean ended = false;
        for (int step = 1; !ended; step++) {
            FaultyStorage storage = new FaultyStorage();
            Directories.delete(real);
            make(storage, step);
            ended = !RingSwitch.isInterrupted(real);
            completed += RingSwitch.isCommitted(real) ? 1 : 0;
            MmapQueue.open(QueueConfig.builder(link).build()).close();
            assertEquals(List.of(), Verifier.verify(real, Progress.NONE).findings(), "step " + step);
            assertFalse(RingSwitch.isInterrupted(real), "step " + step);
        }
        assertTrue(completed > 3, "completed " + completed);
    }

    private void make(FaultyStorage storage, int step) throws Exception {
        Files.delete(link);
        make();
        storage.stopAt(step);
        // The copy itself is not interrupted: each step of the switch comes after it.
        Path copy = RingSwitch.copyOf(real);
        Copier.copy(real, temp.resolve("copy"), FEWER_FILES, Progress.NONE);
        Files.move(temp.resolve("copy"), copy);
        try {
            RingSwitch.run(storage, link);
        } catch (IOException e) {
            // The step that was to fail.
        }
    }

    @Test
    void aCopyIsOfTheRealDirectory() {
        Path target = temp.resolve("target");
        Copier.copy(link, target, FEWER_FILES, Progress.NONE);
        assertEquals(before, QueueContent.of(target, temp.resolve("read")));
        assertWhole();
        MmapQueueException inside = assertThrows(
                MmapQueueException.class, () -> Copier.copy(link, real.resolve("copy"), FEWER_FILES, Progress.NONE));
        assertTrue(inside.getMessage().contains("inside"), inside.getMessage());
        assertWhole();
    }

    @Test
    void aRepairInPlaceRepairsTheRealDirectory() {
        Directories.flip(real.resolve("3_segment.dat"), 700, 1);
        assertFalse(Verifier.verify(link, Progress.NONE).isWhole());
        Repairer.repairInPlace(link, false, Progress.NONE);
        assertTrue(Verifier.verify(real, Progress.NONE).findings().stream()
                .noneMatch(each -> each.kind() == Finding.Kind.CORRUPT));
        assertTrue(Files.isSymbolicLink(link));
    }

    /** The link is not the queue's, and stays. */
    @Test
    void aQueueThatIsDestroyedByALinkHasNoFilesAnyMore() {
        MmapQueue.open(QueueConfig.builder(link).build()).destroy();
        assertFalse(Files.exists(real));
        assertTrue(Files.isSymbolicLink(link));
    }

    /** The queue that is open stays in the directory in which it was opened. */
    @Test
    void aLinkThatIsChangedWhileTheQueueIsOpenMovesNothing() throws Exception {
        Path other = Directories.copy(real, temp.resolve("other"));
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(link).build())) {
            Files.delete(link);
            Files.createSymbolicLink(link, other);
            for (int i = 60; i < 80; i++) {
                queue.push(Payload.of(i, 900));
            }
            queue.createConsumer("c", StartAt.EARLIEST);
        }
        assertEquals(before, QueueContent.of(other, temp.resolve("read")));
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(real).build())) {
            assertEquals(80, queue.endOffset());
            assertEquals(List.of("b", "c"), queue.consumers());
        }
    }
}
