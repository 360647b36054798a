package org.mmapqueue.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.BatchDigest;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.Records;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.QuickDirectory;

/** A damaged producer page throws an error that names it, unless the damaged byte is unused. */
@Tag("long-form")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ProducerDamageTest {
    private static final int PAGE = 4096;
    private static final int LAST = 5;
    private static final int SLOTS = 4;
    private static final int NOTE_LENGTH_END = 24;
    private static final int NOTE_END = 40;
    /** Tests every used byte, and each n-th unused one; the system property faults.step sets n. */
    private static final int STEP = Integer.getInteger("faults.step", 5);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path clean;
    private int copies;

    private static QueueConfig config(Path at) {
        return QueueConfig.builder(at)
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .maxEventSize(2000)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    @BeforeEach
    void make() throws InterruptedException {
        clean = temp.resolve("clean");
        try (MmapQueue queue = MmapQueue.open(config(clean))) {
            for (int sequence = 0; sequence <= LAST; sequence++) {
                if (sequence % 2 == 0) {
                    queue.pushOnce("p", sequence, List.of(new byte[10]), Duration.ZERO);
                } else {
                    queue.pushOnce(
                            "p",
                            sequence,
                            new BatchDigest(1, ~sequence),
                            Records.of(List.of(new byte[10])),
                            Duration.ZERO,
                            false);
                }
            }
        }
    }

    private Path copy() {
        return Directories.copy(clean, temp.resolve("copy-" + copies++));
    }

    private static Path page(Path queue) {
        return queue.resolve("producers/p.dat");
    }

    private static void assertWhole(Path at) throws InterruptedException {
        try (MmapQueue queue = MmapQueue.open(config(at))) {
            assertEquals(OptionalLong.of(LAST), queue.lastSequence("p"));
            assertEquals(OptionalLong.empty(), queue.pushOnce("p", LAST, List.of(new byte[1]), Duration.ZERO));
            assertEquals(OptionalLong.of(LAST + 1), queue.pushOnce("p", LAST + 1, List.of(new byte[1]), Duration.ZERO));
        }
    }

    private CorruptException assertThrowsCorrupt(Path at) {
        CorruptException thrown = assertThrows(CorruptException.class, () -> MmapQueue.open(config(at)));
        assertEquals(page(at).toString(), thrown.file());
        return thrown;
    }

    // The header and the slots begin with their sectors and use at most 40 bytes of them.
    private static boolean isUsed(int at) {
        return at % 512 < 64;
    }

    @Test
    void aFlippedBitThrowsWhereTheByteIsUsed() throws Exception {
        byte[] page = Files.readAllBytes(page(clean));
        int thrown = 0;
        int withNote = 0;
        for (int at = 0; at < PAGE; at++) {
            if (!isUsed(at) && at % STEP != 0) {
                continue;
            }
            Path damaged = copy();
            Directories.flip(page(damaged), at, 1 << at % 8);
            int inSlot = at % 512;
            boolean inSlots = at >= 512 && at < 512 * (1 + SLOTS);
            boolean hasNote = inSlots && page[at - inSlot] % 2 != 0; // its sequence is odd
            boolean header = at < 36;
            boolean slot = inSlots && inSlot < (hasNote ? NOTE_END : NOTE_LENGTH_END);
            if (header || slot) {
                CorruptException error = assertThrowsCorrupt(damaged);
                assertEquals(header ? 0 : at - inSlot, error.position());
                thrown++;
                withNote += hasNote ? 1 : 0;
            } else {
                assertWhole(damaged);
            }
            Directories.delete(damaged);
        }
        assertEquals(36 + SLOTS * NOTE_LENGTH_END + withNote / NOTE_END * (NOTE_END - NOTE_LENGTH_END), thrown);
        assertTrue(withNote >= 2 * NOTE_END && withNote < SLOTS * NOTE_END, "slots of both kinds");
    }

    @Test
    void aPageOfAnotherLengthThrows() throws IOException {
        for (int length : new int[] {0, 512, PAGE - 1, PAGE + 1}) {
            Path damaged = copy();
            Files.write(page(damaged), Arrays.copyOf(Files.readAllBytes(page(damaged)), length));
            CorruptException thrown = assertThrowsCorrupt(damaged);
            assertTrue(thrown.getMessage().contains(length + " bytes"), thrown.getMessage());
        }
    }

    @Test
    void aPageOfAnotherQueueOrOfAConsumerThrows() throws Exception {
        Path other = temp.resolve("other");
        try (MmapQueue queue = MmapQueue.open(config(other))) {
            queue.pushOnce("p", 9, List.of(new byte[10]), Duration.ZERO);
            queue.createConsumer("c", StartAt.EARLIEST);
        }
        Path damaged = copy();
        Files.delete(page(damaged));
        Files.copy(page(other), page(damaged));
        assertEquals(8, assertThrowsCorrupt(damaged).position());
        Files.delete(page(damaged));
        Files.copy(other.resolve("consumers/c.dat"), page(damaged));
        assertEquals(0, assertThrowsCorrupt(damaged).position());
        // Deleting the page forgets the producer, and the queue opens.
        Files.delete(page(damaged));
        try (MmapQueue queue = MmapQueue.open(config(damaged))) {
            assertEquals(List.of(), queue.producers());
            assertEquals(LAST + 1, queue.endOffset());
        }
    }

    @Test
    void aPageThatWasNotRenamedYetIsNoProducer() throws Exception {
        Path left = copy();
        Files.write(left.resolve("producers/q.dat.new"), new byte[100]);
        assertWhole(left);
        try (MmapQueue queue = MmapQueue.open(config(left))) {
            assertEquals(List.of("p"), queue.producers());
            assertEquals(OptionalLong.of(LAST + 2), queue.pushOnce("q", 1, List.of(new byte[1]), Duration.ZERO));
        }
    }

    @Test
    void aSymbolicLinkThrows() throws IOException {
        Path damaged = copy();
        Path elsewhere = temp.resolve("elsewhere");
        Files.move(damaged.resolve("producers"), elsewhere);
        Files.createSymbolicLink(damaged.resolve("producers"), elsewhere);
        MmapQueueException thrown = assertThrows(MmapQueueException.class, () -> MmapQueue.open(config(damaged)));
        assertTrue(thrown.getMessage().contains("symbolic link"), thrown.getMessage());
        Files.delete(damaged.resolve("producers"));
        Files.createDirectory(damaged.resolve("producers"));
        Files.createSymbolicLink(page(damaged), elsewhere.resolve("p.dat"));
        assertThrows(MmapQueueException.class, () -> MmapQueue.open(config(damaged)));
    }
}
