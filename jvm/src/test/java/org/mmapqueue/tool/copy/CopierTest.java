package org.mmapqueue.tool.copy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.Main;
import org.mmapqueue.tool.QueueContent;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.CopyReport;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/** Copies with another ring: what is kept, what fits, what throws. */
class CopierTest {
    private static final int SEGMENT = 4096;
    /** Words of meta.dat. */
    /** Of a consumer's page. */
    private static final int COMMITTED = 128;

    private static final int INTACT = 848;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private QueueConfig.Builder config() {
        return QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(SEGMENT)
                .queueCapacitySegments(16)
                .maxEventSize(2000);
    }

    private CopyReport copy(long capacity, long segmentSize) {
        return Copier.copy(
                temp.resolve("queue"), temp.resolve("copy"), new RingSize(capacity, segmentSize), Progress.NONE);
    }

    private QueueContent content(String name) {
        return QueueContent.of(temp.resolve(name), temp.resolve("read"));
    }

    private void fill(int records, int acked) {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            Consumer consumer = queue.consumer();
            for (int i = 0; i < records; i++) {
                queue.push(Payload.of(i, 500));
                if (i < acked) {
                    consumer.ackUpTo(consumer.poll().offset());
                }
            }
        }
    }

    @Test
    void aCopyKeepsAllButTheRing() throws Exception {
        fill(200, 150);
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.pushOnce("sink", 7, List.of("once".getBytes(StandardCharsets.UTF_8)), Duration.ZERO);
        }
        QueueContent before = content("queue");
        CopyReport report = copy(1 << 20, 65536);
        assertEquals(new CopyReport(temp.resolve("copy").toString(), 51, 150, 201, 65536, 16, 0), report);
        assertEquals(before, content("copy"));
        try (MmapQueue copy =
                MmapQueue.open(QueueConfig.builder(temp.resolve("copy")).build())) {
            assertEquals(7, copy.lastSequence("sink").orElseThrow());
            assertEquals(OptionalLong.empty(), copy.pushOnce("sink", 7, List.of(new byte[4]), Duration.ZERO));
            assertEquals(65536, copy.stats().segmentSize());
        }
        assertEquals(before, content("queue"));
    }

    /** Records that every consumer has acked need not reach the disk: a recovery then moves intact beyond them. */
    @Test
    void aLossOfPowerMayHaveCutWhatNobodyNeeds() {
        fill(10, 5);
        QueueContent before = content("queue");
        Path meta = temp.resolve("queue/meta.dat");
        Path consumer = temp.resolve("queue/consumers/default.dat");
        Directories.putWord(meta, INTACT, Directories.word(consumer, COMMITTED));
        Directories.flip(temp.resolve("queue/0_segment.dat"), 600, 1); // in record 1
        CopyReport report = copy(1 << 20, 65536);
        assertEquals(5, report.records());
        assertEquals(5, report.firstOffset());
        assertEquals(before, content("copy"));
    }

    /** All is acked: only the next offset is left to be kept. */
    @Test
    void anEmptyQueueKeepsItsNextOffset() {
        fill(100, 100);
        CopyReport report = copy(1 << 20, 0);
        assertEquals(0, report.records());
        assertEquals(100, report.firstOffset());
        assertEquals(content("queue"), content("copy"));
        try (MmapQueue copy =
                MmapQueue.open(QueueConfig.builder(temp.resolve("copy")).build())) {
            assertEquals(100, copy.push(new byte[10]));
            assertEquals(100, copy.consumer().poll().offset());
        }
    }

    /** Neither an open nor a repair makes a queue of it. */
    @Test
    void anInterruptedCopyIsNoDamagedQueue() {
        fill(100, 0);
        Path copy = temp.resolve("copy");
        assertThrows(
                IllegalStateException.class,
                () -> Copier.copy(temp.resolve("queue"), copy, new RingSize(0, 0), (done, total) -> {
                    if (Files.exists(copy.resolve("2_segment.dat"))) {
                        throw new IllegalStateException("interrupted");
                    }
                }));
        for (Executable use : List.<Executable>of(
                () -> MmapQueue.open(QueueConfig.builder(copy).build()),
                () -> Verifier.verify(copy, Progress.NONE),
                () -> Repairer.repair(copy, temp.resolve("repaired"), false, Progress.NONE))) {
            String message = assertThrows(MmapQueueException.class, use).getMessage();
            assertTrue(message.endsWith("delete the directory, and repeat the copy, repair or adoption"), message);
        }
    }

    @Test
    void aQueueThatWasNeverUsedIsCopied() {
        MmapQueue.open(config().build()).close();
        assertEquals(0, copy(0, 0).endOffset());
        assertEquals(content("queue"), content("copy"));
    }

    /** 100 records are needed: a ring that cannot hold them is an error that says what can. */
    @Test
    void aRingThatIsTooSmallThrowsAndNamesTheLeastCapacity() {
        fill(100, 10);
        ConfigException error = assertThrows(ConfigException.class, () -> copy(4 * SEGMENT, 0));
        assertEquals("capacity", error.key());
        long least = Long.parseLong(error.allowed().replaceAll("at least ([0-9]+), since 90 records.*", "$1"));
        assertFalse(Files.exists(temp.resolve("copy")));
        assertThrows(ConfigException.class, () -> copy(least - SEGMENT, 0));
        assertEquals(90, copy(least, 0).records());
        assertEquals(content("queue"), content("copy"));
    }

    /** Acked records that are retained give way, the oldest first. */
    @Test
    void retainedRecordsAreCopiedAsFarAsThereIsRoom() {
        try (MmapQueue queue = MmapQueue.open(config().retainBytes(1 << 20).build())) {
            Consumer consumer = queue.consumer();
            for (int i = 0; i < 100; i++) {
                queue.push(Payload.of(i, 500));
                consumer.ackUpTo(consumer.poll().offset());
            }
        }
        CopyReport large = copy(0, 0);
        assertEquals(100, large.endOffset());
        assertEquals(100 - large.firstOffset(), large.records());
        assertTrue(large.records() > 50, large.toString()); // what the ring still holds
        assertEquals(0, large.leftOut());
        Directories.delete(temp.resolve("copy"));
        CopyReport small = copy(4 * SEGMENT, 0);
        assertEquals(small.firstOffset() - large.firstOffset(), small.leftOut());
        assertTrue(small.records() >= 30 && small.records() < 32, small.toString());
        try (MmapQueue copy =
                MmapQueue.open(QueueConfig.builder(temp.resolve("copy")).build())) {
            assertEquals(small.firstOffset(), copy.firstOffset());
            assertEquals(1, copy.get(99).data().length / 500);
        }
    }

    @Test
    void recordsThatWereDroppedAreReportedByTheCopy() {
        try (MmapQueue queue =
                MmapQueue.open(config().maxConsumerLag(4 * SEGMENT).build())) {
            queue.createConsumer("slow", StartAt.EARLIEST);
            queue.createConsumer("default", StartAt.EARLIEST);
            for (int i = 0; i < 150; i++) {
                queue.push(Payload.of(i, 500));
            }
        }
        QueueContent before = content("queue");
        assertTrue(before.consumers().get("slow").get(1).contains("records 0.."), before.toString());
        copy(1 << 20, 8192);
        assertEquals(before, content("copy"));
        try (MmapQueue copy =
                MmapQueue.open(QueueConfig.builder(temp.resolve("copy")).build())) {
            Consumer slow = copy.consumer("slow", StartAt.EARLIEST);
            DroppedException dropped = assertThrows(DroppedException.class, slow::poll);
            assertEquals(0, dropped.first());
            assertEquals(dropped.last() + 1, slow.poll().offset());
        }
    }

    @Test
    void onlyAQueueThatNoProcessHasOpenIsCopied() {
        fill(10, 0);
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            assertThrows(LockedException.class, () -> copy(0, 0));
            assertThrows(
                    LockedException.class,
                    () -> Copier.resize(temp.resolve("queue"), new RingSize(1 << 20, 0), Progress.NONE));
            assertEquals(10, queue.endOffset());
        }
        try (MmapQueue reader = MmapQueue.open(config().readOnly(true).build())) {
            assertEquals(0, reader.consumer().poll().offset());
            assertThrows(LockedException.class, () -> copy(0, 0));
        }
        assertEquals(10, copy(0, 0).records());
    }

    @Test
    void aDamagedQueueAndAFullTargetThrow() throws Exception {
        fill(30, 0);
        Files.createDirectories(temp.resolve("copy"));
        Files.writeString(temp.resolve("copy/mine"), "mine");
        assertThrows(MmapQueueException.class, () -> copy(0, 0));
        Files.delete(temp.resolve("copy/mine"));
        assertThrows(
                MmapQueueException.class,
                () -> Copier.copy(temp.resolve("queue"), temp.resolve("queue/in"), new RingSize(0, 0), Progress.NONE));
        Directories.flip(temp.resolve("queue/0_segment.dat"), 100, 1);
        MmapQueueException error = assertThrows(MmapQueueException.class, () -> copy(0, 0));
        assertTrue(error.getMessage().contains("Repair it first"), error.getMessage());
    }

    @Test
    void version1HasNoOffsetsToKeep() {
        MmapQueue.open(config().formatVersion(1).build()).close();
        MmapQueueException error = assertThrows(MmapQueueException.class, () -> copy(0, 0));
        assertTrue(error.getMessage().contains("format version 1"), error.getMessage());
    }

    @Test
    void sizesOutOfRangeThrow() {
        fill(3, 0);
        assertEquals(
                "segment_size",
                assertThrows(ConfigException.class, () -> copy(0, 100)).key());
        assertEquals(
                "segment_size",
                assertThrows(ConfigException.class, () -> copy(0, 2L << 30)).key());
        assertEquals(
                "capacity",
                assertThrows(ConfigException.class, () -> copy(SEGMENT, 0)).key());
        assertEquals(
                "capacity",
                assertThrows(ConfigException.class, () -> copy(-1, 0)).key());
        assertEquals(3, copy(2 * SEGMENT, 0).records());
    }

    @Test
    void filesKeepTheirPermissionsAndProgressReachesItsEnd() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().fileMode("640").build())) {
            queue.push(new byte[100]);
        }
        List<Long> shares = new ArrayList<>();
        Copier.resize(temp.resolve("queue"), new RingSize(1 << 20, 0), (done, total) -> shares.add(total - done));
        assertEquals(0, shares.get(shares.size() - 1));
        for (String name : List.of("meta.dat", "0_segment.dat")) {
            assertEquals(
                    "rw-r-----",
                    PosixFilePermissions.toString(
                            Files.getPosixFilePermissions(temp.resolve("queue").resolve(name))));
        }
    }

    @Test
    void anEmptyQueueHasNoOffsets() {
        fill(0, 0);
        String queue = temp.resolve("queue").toString();
        assertTrue(run(0, "verify", queue).contains("0 whole, next offset 0, 0 bytes"));
        assertTrue(
                run(0, "copy", queue, "--to", temp.resolve("copy").toString()).contains("0 records, next offset 0"));
    }

    @Test
    void theCommandLineCopiesAndResizes() {
        fill(20, 0);
        String queue = temp.resolve("queue").toString();
        assertTrue(run(0, "copy", queue, "--to", temp.resolve("copy").toString(), "--segment-size", "8k")
                .contains("20 records, offsets 0 to 19"));
        assertTrue(run(0, "resize", queue, "--capacity", "1m").contains("up to 256 segments of 4096 bytes"));
        assertTrue(run(1, "resize", queue, "--capacity", "4k").contains("capacity = 4096 is invalid"));
        for (String wrong :
                List.of("", "--capacity", "--capacity 1x", "--capacity 0", "--to copy", "--capacity 1m --to x")) {
            List<String> words = new ArrayList<>(List.of("resize", queue));
            words.addAll(List.of(wrong.split(" ")));
            words.remove("");
            assertTrue(run(2, words.toArray(String[]::new)).contains("usage:"), wrong);
        }
    }

    private static String run(int status, String... words) {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(text, true, StandardCharsets.UTF_8);
        assertEquals(status, Main.run(List.of(words), out, out), () -> text.toString(StandardCharsets.UTF_8));
        return text.toString(StandardCharsets.UTF_8);
    }
}
