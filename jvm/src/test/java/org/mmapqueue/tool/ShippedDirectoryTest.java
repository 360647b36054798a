package org.mmapqueue.tool;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.copy.Copier;
import org.mmapqueue.tool.copy.RingSize;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/** The directory of a queue that is shipped: a resize is the same directory, a copy is another one. */
class ShippedDirectoryTest {
    private static final String LINK = "archive.dat";
    /** Makes each record another one. */
    private static final AtomicInteger PUSHES = new AtomicInteger();

    private static final Duration LONG = Duration.ofMinutes(1);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue open(Path directory) {
        return MmapQueue.open(config(directory, "archive").build());
    }

    private QueueConfig.Builder config(Path directory, String archive) {
        return QueueConfig.builder(directory)
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .flushPeriod(Duration.ofHours(1))
                .archiveUri(temp.resolve(archive).toUri())
                .archiveHost("here")
                .shipPeriod(Duration.ofMillis(5));
    }

    private void ship(Path directory, String archive) throws InterruptedException {
        try (MmapQueue queue = MmapQueue.open(config(directory, archive).build())) {
            ship(queue);
        }
    }

    private boolean change(String archive, boolean takesOver) {
        return MmapQueue.changeArchive(config(queue(), archive).build(), takesOver);
    }

    private Path queue() {
        return temp.resolve("queue");
    }

    private static void ship(MmapQueue queue) throws InterruptedException {
        byte[] payload = new byte[100];
        payload[0] = (byte) PUSHES.incrementAndGet();
        assertTrue(queue.awaitShipped(queue.push(payload), LONG));
    }

    private void ship(Path directory) throws InterruptedException {
        try (MmapQueue queue = open(directory)) {
            ship(queue);
        }
    }

    private String refused(Path directory) throws InterruptedException {
        try (MmapQueue queue = open(directory)) {
            return refused(queue);
        }
    }

    private static String refused(MmapQueue queue) {
        return assertThrows(MmapQueueException.class, () -> ship(queue)).getMessage();
    }

    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> all = Files.walk(from)) {
            for (Path each : all.toList()) {
                Files.copy(each, to.resolve(from.relativize(each)));
            }
        }
    }

    @Test
    void aResizedQueueIsShippedOn() throws Exception {
        ship(queue());
        Copier.resize(queue(), new RingSize(32 * 4096, 0), Progress.NONE);
        assertTrue(Files.exists(queue().resolve(LINK)));
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(queue())
                .archiveUri(temp.resolve("archive").toUri())
                .archiveHost("here")
                .build())) {
            ship(queue);
        }
    }

    @Test
    void aCopyIsShippedOnlyAfterATakeOver() throws Exception {
        ship(queue());
        Path copy = temp.resolve("copy");
        Copier.copy(queue(), copy, new RingSize(0, 0), Progress.NONE);
        assertFalse(Files.exists(copy.resolve(LINK)));
        String text = refused(copy);
        assertTrue(text.contains("another directory with this queue has shipped it last"), text);
        ship(queue());
        assertTrue(MmapQueue.takeOver(copy, temp.resolve("archive").toUri()));
        text = refused(copy); // record 1 of the queue was shipped since the copy was made, and is another one here
        assertTrue(text.contains("record 1"), text);
    }

    @Test
    void ofTwoEqualDirectoriesOnlyOneAnswersThatItHasShipped() throws Exception {
        Path copy = temp.resolve("copy");
        try (MmapQueue first = open(queue())) {
            ship(first);
            copy(queue(), copy);
            try (MmapQueue second = open(copy)) {
                ship(second);
                String text = refused(first);
                assertTrue(text.contains("not shipped any more") && text.contains("acks nothing any more"), text);
                ship(second);
                assertEquals(2, first.endOffset());
            }
        }
        ship(copy);
        String text = refused(queue());
        assertTrue(text.contains("another directory with this queue has shipped it last"), text);
    }

    @Test
    void aDirectoryThatIsShippedIsNotChangedByATakeOver() throws Exception {
        try (MmapQueue queue = open(queue())) {
            ship(queue);
            assertThrows(
                    LockedException.class,
                    () -> MmapQueue.takeOver(queue(), temp.resolve("archive").toUri()));
            assertThrows(LockedException.class, () -> MmapQueue.leaveArchive(queue()));
            assertThrows(LockedException.class, () -> change("other", false));
            ship(queue);
        }
        assertTrue(MmapQueue.leaveArchive(queue()));
        assertFalse(MmapQueue.leaveArchive(queue()));
        assertFalse(MmapQueue.takeOver(queue(), temp.resolve("none").toUri()));
    }

    @Test
    void aFailedChangeOfTheArchiveChangesNothing() throws Exception {
        ship(queue());
        byte[] link = Files.readAllBytes(queue().resolve(LINK));
        Files.writeString(temp.resolve("file"), "no directory");
        assertThrows(MmapQueueException.class, () -> change("file", false));
        assertThrows(
                MmapQueueException.class,
                () -> MmapQueue.changeArchive(QueueConfig.builder(queue()).build(), false));
        assertFalse(change("archive", false));
        assertArrayEquals(link, Files.readAllBytes(queue().resolve(LINK)));
        ship(queue());
        assertTrue(change("other", false));
        ship(queue(), "other");
        // The former archive knows another claim: it is not forgotten that the queue belongs to the other one.
        link = Files.readAllBytes(queue().resolve(LINK));
        String text = assertThrows(ArchiveException.class, () -> change("archive", false))
                .getMessage();
        assertTrue(text.contains("take the partition over"), text);
        assertArrayEquals(link, Files.readAllBytes(queue().resolve(LINK)));
        ship(queue(), "other");
        assertTrue(change("archive", true));
        ship(queue());
        assertFalse(change("archive", true));
        ship(queue());
    }

    @Test
    void aQueueThatWasNeverShippedGetsNoConsumerThatRetainsItsRecords() throws Exception {
        MmapQueue.open(QueueConfig.builder(queue()).build()).close();
        Files.writeString(temp.resolve("file"), "no directory");
        assertFalse(MmapQueue.leaveArchive(queue()));
        assertFalse(MmapQueue.takeOver(queue(), temp.resolve("none").toUri()));
        assertThrows(
                MmapQueueException.class,
                () -> MmapQueue.changeArchive(
                        QueueConfig.builder(queue())
                                .archiveUri(temp.resolve("file").toUri())
                                .build(),
                        false));
        try (MmapQueue queue = MmapQueue.openToRead(queue())) {
            assertEquals(List.of(), queue.consumers());
        }
    }

    @Test
    void aRefusedClaimLeavesNoConsumerThatRetainsTheRecords() throws Exception {
        QueueConfig plain = QueueConfig.builder(queue())
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .build();
        MmapQueue.open(plain).close();
        ship(Directories.copy(queue(), temp.resolve("copy")));
        String text = assertThrows(ArchiveException.class, () -> change("archive", false))
                .getMessage();
        assertTrue(text.contains("another directory"), text);
        try (MmapQueue queue = MmapQueue.openToRead(queue())) {
            assertEquals(List.of(), queue.consumers());
        }
    }

    @Test
    void anInterruptedChangeOfTheArchiveIsRepeated() throws Exception {
        ship(queue());
        byte[] link = Files.readAllBytes(queue().resolve(LINK));
        assertTrue(change("other", false));
        // As a kill between the claim in the other archive and the change of the directory leaves it.
        Files.move(queue().resolve(LINK), queue().resolve(LINK + ".next"));
        Files.write(queue().resolve(LINK), link);
        assertEquals(List.of(), Verifier.verify(queue(), Progress.NONE).findings());
        ship(queue());
        assertTrue(change("other", false));
        assertFalse(Files.exists(queue().resolve(LINK + ".next")));
        ship(queue(), "other");
        // Interrupted again, and then changed to a third one.
        Files.copy(queue().resolve(LINK), queue().resolve(LINK + ".next"));
        assertTrue(change("third", false));
        ship(queue(), "third");
        Files.write(queue().resolve(LINK + ".next"), link);
        MmapQueue queue = MmapQueue.open(config(queue(), "third").build());
        queue.destroy();
        assertFalse(Files.exists(queue()));
    }

    @Test
    void theFileIsVerifiedAndRepairedAndDeletedWithTheQueue() throws Exception {
        ship(queue());
        assertEquals(List.of(), Verifier.verify(queue(), Progress.NONE).findings());
        byte[] whole = Files.readAllBytes(queue().resolve(LINK));
        assertEquals(128, whole.length);
        for (int bit = 0; bit < 8 * whole.length; bit += 7) {
            byte[] damaged = whole.clone();
            damaged[bit / 8] ^= (byte) (1 << bit % 8);
            Files.write(queue().resolve(LINK), damaged);
            assertFalse(Verifier.verify(queue(), Progress.NONE).isWhole(), "bit " + bit);
        }
        String text = refused(queue());
        assertTrue(text.contains(LINK), text);
        Repairer.repairInPlace(queue(), false, Progress.NONE);
        assertEquals(List.of(), Verifier.verify(queue(), Progress.NONE).findings());
        assertTrue(refused(queue()).contains("another directory"));
        assertTrue(MmapQueue.takeOver(queue(), temp.resolve("archive").toUri()));
        ship(queue());
        MmapQueue queue = open(queue());
        queue.destroy();
        assertFalse(Files.exists(queue()));
    }
}
