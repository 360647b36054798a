package org.mmapqueue.core;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.ArchivePartition;
import org.mmapqueue.archive.ArchiveReader;
import org.mmapqueue.archive.PartitionEntry;
import org.mmapqueue.archive.ShipOptions;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.Archives;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ArchiveLink;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.FailingArchive;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.PowerLossStorage;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.copy.Copier;
import org.mmapqueue.tool.copy.RingSize;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/** A change of the archive that ends at any of its steps: each record is in one of both archives, once. */
class ArchiveChangeTest {
    private static final Duration LONG = Duration.ofMinutes(1);
    private static final ShipOptions OPTIONS =
            new ShipOptions("here", Duration.ofMillis(5), 1 << 20, ArchiveCodec.NONE, Duration.ZERO);
    private static final String FORMER = "former";
    private static final String NEXT = "next";

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    /** Of the queue and its archives, in this order. */
    private Path here;

    private int pushed;

    private void use(String name) {
        here = temp.resolve(name);
        pushed = 0;
    }

    private Path queue() {
        return here.resolve("queue");
    }

    private QueueConfig.Builder config(Path directory) {
        return QueueConfig.builder(directory)
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .flushPeriod(Duration.ofHours(1));
    }

    private QueueConfig into(Path directory, String archive) {
        return shipping(config(directory), archive);
    }

    private QueueConfig shipping(QueueConfig.Builder config, String archive) {
        return config.archiveUri(here.resolve(archive).toUri())
                .archiveHost("here")
                .shipPeriod(Duration.ofMillis(5))
                .build();
    }

    private void push(MmapQueue queue, int count) {
        for (int i = 0; i < count; i++) {
            assertEquals(pushed, queue.push(record(pushed++).getBytes(UTF_8)));
        }
    }

    private static String record(int offset) {
        return "record " + offset;
    }

    private void ship(Path directory, String archive, int count) throws InterruptedException {
        try (MmapQueue queue = MmapQueue.open(into(directory, archive))) {
            push(queue, count);
            assertTrue(queue.awaitShipped(pushed - 1, LONG));
        }
    }

    /** A queue of which the former archive has three records, and four are not shipped. */
    private void make() throws InterruptedException {
        ship(queue(), FORMER, 3);
        try (MmapQueue queue = MmapQueue.open(config(queue()).build())) {
            push(queue, 4);
        }
    }

    private ArchiveFiles files(String archive) {
        return Archives.files(here.resolve(archive).toUri(), FileMode.PRIVATE);
    }

    private boolean change(Path directory, String archive) {
        return MmapQueue.changeArchive(into(directory, archive), false);
    }

    private boolean change(Storage storage, ArchiveFiles files) throws IOException {
        QueueCore core = OpenQueues.acquireToRead(queue());
        try {
            return core.shipping().changeArchive(files, storage, OPTIONS, false);
        } finally {
            OpenQueues.release(core);
        }
    }

    private byte @Nullable [] link(Path directory) throws IOException {
        Path file = directory.resolve(ArchiveLink.FILE_NAME);
        return Files.exists(file) ? Files.readAllBytes(file) : null;
    }

    private static void assertIsWhole(Path directory) {
        assertEquals(List.of(), Verifier.verify(directory, Progress.NONE).findings());
    }

    // The offsets of an archive's records.
    private List<Integer> archived(String archive) throws IOException {
        List<Integer> found = new ArrayList<>();
        if (!Files.exists(here.resolve(archive).resolve("archive.properties"))) {
            return found;
        }
        try (Archive opened = Archive.open(files(archive))) {
            for (PartitionEntry entry : opened.partitions()) {
                ArchivePartition partition = opened.partition(entry);
                partition.refresh();
                try (ArchiveReader reader = partition.reader(partition.firstOffset(), partition.endOffset(), false)) {
                    while (reader.read(100, 1 << 20, (offset, time, data) -> {
                                assertEquals(record((int) offset), new String(data, UTF_8));
                                found.add((int) offset);
                            })
                            > 0) {}
                }
            }
        }
        return found;
    }

    private void assertEachIsArchivedOnce() throws IOException {
        List<Integer> all = new ArrayList<>(archived(FORMER));
        all.addAll(archived(NEXT));
        assertEquals(IntStream.range(0, pushed).boxed().toList(), all);
    }

    // After an end at any step the queue belongs to one of both archives, and the change can be repeated.
    private void assertCanBeRepeated(Path directory, boolean hasChanged) throws Exception {
        assertTrue(Verifier.verify(directory, Progress.NONE).isWhole());
        assertEquals(!hasChanged, change(directory, NEXT));
        assertFalse(Files.exists(directory.resolve(ArchiveLink.NEXT_NAME)));
        ship(directory, NEXT, 2);
        assertEachIsArchivedOnce();
        assertIsWhole(directory);
    }

    @Test
    void aKillAtAnyCallLeavesTheQueueToOneArchive() throws Exception {
        boolean isDone = false;
        int calls = 0;
        while (!isDone) {
            use("kill-" + calls);
            make();
            byte[] before = link(queue());
            FaultyStorage storage = new FaultyStorage();
            storage.stopAt(++calls);
            try (ArchiveFiles files = files(NEXT)) {
                isDone = change(storage, files);
            } catch (IOException e) {
                assertTrue(e.toString().contains("injected"), e::toString);
            }
            boolean hasChanged = !Arrays.equals(before, link(queue()));
            assertTrue(hasChanged || !isDone);
            if (!hasChanged && calls % 2 == 0) {
                ship(queue(), FORMER, 1);
            }
            assertCanBeRepeated(queue(), hasChanged);
        }
        assertTrue(calls > 10, "only " + calls + " calls");
    }

    @ParameterizedTest
    @EnumSource
    void aKillAtAnyChangeOfTheArchiveLeavesTheQueueToTheFormerOne(FailingArchive.Failure failure) throws Exception {
        boolean isDone = false;
        int changes = 0;
        while (!isDone) {
            use("kill-" + changes);
            make();
            byte[] before = link(queue());
            FailingArchive files = new FailingArchive(files(NEXT));
            files.failAfter(changes++, failure);
            try (files) {
                change(DiskStorage.INSTANCE, files);
                isDone = !files.hasFailed(); // a claim that cannot be deleted is no error
            } catch (IOException e) {
                assertTrue(files.hasFailed(), e::toString);
                assertArrayEquals(before, link(queue()));
            }
            boolean hasChanged = !Arrays.equals(before, link(queue()));
            if (!hasChanged) {
                ship(queue(), FORMER, 1);
            }
            assertCanBeRepeated(queue(), hasChanged);
        }
        assertTrue(changes > 4, "only " + changes + " changes");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 50, 100})
    void aLossOfPowerAtAnyCallLeavesTheQueueToOneArchive(int percent) throws Exception {
        SplittableRandom random = new SplittableRandom(percent);
        boolean isDone = false;
        for (int calls = 1; !isDone; calls++) {
            use("power-" + calls);
            make();
            byte[] before = link(queue());
            PowerLossStorage disk = new PowerLossStorage();
            disk.adopt(queue());
            FaultyStorage storage = new FaultyStorage(disk);
            storage.stopAt(calls);
            try (ArchiveFiles files = files(NEXT)) {
                isDone = change(storage, files);
            } catch (IOException e) {
                assertTrue(e.toString().contains("injected"), e::toString);
            }
            Path left = disk.lose(queue(), here.resolve("left"), random, percent);
            boolean hasChanged = !Arrays.equals(before, link(left));
            assertTrue(hasChanged || !isDone, "a change that returned is durable");
            assertCanBeRepeated(left, hasChanged);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"INPUT_OUTPUT", "NO_SPACE", "SHORT_WRITE"})
    void aFailedCallChangesNothing(FaultyStorage.Fault fault) throws Exception {
        boolean isDone = false;
        for (int number = 0; !isDone; number++) {
            use("fault-" + number);
            make();
            byte[] before = link(queue());
            FaultyStorage storage = new FaultyStorage();
            storage.failOnce(number, fault);
            try (ArchiveFiles files = files(NEXT)) {
                assertTrue(change(storage, files));
                isDone = storage.failed() == null;
            } catch (IOException e) {
                assertTrue(e.toString().contains("injected"), e::toString);
            }
            boolean hasChanged = !Arrays.equals(before, link(queue()));
            try (Stream<Path> all = Files.list(queue())) {
                assertEquals(
                        List.of(),
                        all.filter(each -> each.toString().endsWith(".new")).toList());
            }
            assertCanBeRepeated(queue(), hasChanged);
        }
    }

    // As a kill after the claim in the next archive leaves it.
    private void interruptedChange() throws Exception {
        make();
        byte[] before = link(queue());
        assertTrue(change(queue(), NEXT));
        Files.move(queue().resolve(ArchiveLink.FILE_NAME), queue().resolve(ArchiveLink.NEXT_NAME));
        Files.write(queue().resolve(ArchiveLink.FILE_NAME), before);
    }

    @Test
    void aResizeKeepsAnInterruptedChange() throws Exception {
        use("resize");
        interruptedChange();
        Copier.resize(queue(), new RingSize(32 * 4096, 8192), Progress.NONE);
        assertTrue(Files.exists(queue().resolve(ArchiveLink.NEXT_NAME)));
        QueueConfig config = shipping(QueueConfig.builder(queue()), NEXT);
        assertTrue(MmapQueue.changeArchive(config, false));
        try (MmapQueue queue = MmapQueue.open(config)) {
            push(queue, 1);
            assertTrue(queue.awaitShipped(pushed - 1, LONG));
        }
        assertEachIsArchivedOnce();
    }

    @Test
    void ofTwoDirectoriesWithAnInterruptedChangeOneCompletesIt() throws Exception {
        use("second");
        interruptedChange();
        Path second = Directories.copy(queue(), here.resolve("second"));
        assertTrue(change(queue(), NEXT));
        byte[] before = link(second);
        String text =
                assertThrows(ArchiveException.class, () -> change(second, NEXT)).getMessage();
        assertTrue(text.contains("take the partition over"), text);
        assertArrayEquals(before, link(second));
        ship(queue(), NEXT, 1);
        assertEachIsArchivedOnce();
        // A backup of the interrupted change, too, once it has taken the partition over: its queue ends before the
        // archive.
        assertTrue(MmapQueue.changeArchive(into(second, "other"), false));
    }

    @Test
    void aCopyIsNotThatOfAnInterruptedChange() throws Exception {
        use("copy");
        interruptedChange();
        Path copy = here.resolve("copy");
        Copier.copy(queue(), copy, new RingSize(0, 0), Progress.NONE);
        assertFalse(Files.exists(copy.resolve(ArchiveLink.NEXT_NAME)));
        assertThrows(ArchiveException.class, () -> change(copy, NEXT));
        assertCanBeRepeated(queue(), false);
    }

    @Test
    void aDamagedFileOfAnInterruptedChangeIsNoDamageOfTheQueue() throws Exception {
        use("damaged");
        interruptedChange();
        Path next = queue().resolve(ArchiveLink.NEXT_NAME);
        byte[] bytes = Files.readAllBytes(next);
        bytes[70] ^= 1;
        Files.write(next, bytes);
        Repairer.repairInPlace(queue(), false, Progress.NONE);
        ship(queue(), FORMER, 1);
        String text = assertThrows(MmapQueueException.class, () -> change(queue(), NEXT))
                .getMessage();
        assertTrue(text.contains("take the partition over"), text);
        ship(queue(), FORMER, 1);
        assertTrue(MmapQueue.changeArchive(into(queue(), NEXT), true));
        ship(queue(), NEXT, 1);
        assertEachIsArchivedOnce();
    }
}
