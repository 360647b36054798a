package org.mmapqueue.core;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.ArchivePartition;
import org.mmapqueue.archive.ArchiveReader;
import org.mmapqueue.archive.PartitionEntry;
import org.mmapqueue.archive.files.Archives;
import org.mmapqueue.archive.owner.Claim;
import org.mmapqueue.config.ConfigKey;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.io.ProcessLock;
import org.mmapqueue.io.Storage;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.PowerLossStorage;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.copy.Copier;
import org.mmapqueue.tool.copy.RingSize;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/** A new queue on another host continues the partition of a lost one. */
class AdoptionTest {
    private static final Duration LONG = Duration.ofMinutes(1);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path archive() {
        return temp.resolve("archive");
    }

    private Path directory(String name) {
        return temp.resolve(name);
    }

    private QueueConfig.Builder config(String name, String host) {
        return QueueConfig.builder(directory(name))
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .flushPeriod(Duration.ofHours(1))
                .archiveUri(archive().toUri())
                .archiveHost(host)
                .shipPeriod(Duration.ofMillis(5));
    }

    private MmapQueue open(String name) {
        return MmapQueue.open(config(name, name).build());
    }

    private long adopt(String name) {
        return MmapQueue.adopt(config(name, name).build(), 0);
    }

    private long adopt(String name, Storage storage) {
        return Adoption.run(
                ConfigValues.of(directory(name))
                        .with(ConfigKey.SEGMENT_SIZE, 4096)
                        .with(ConfigKey.QUEUE_CAPACITY_SEGMENTS, 16)
                        .with(ConfigKey.ARCHIVE_URI, archive().toString())
                        .with(ConfigKey.ARCHIVE_HOST, name),
                0,
                storage);
    }

    // Pushes a record, and waits until the archive has it.
    private static long ship(MmapQueue queue, String record) throws InterruptedException {
        long offset = queue.push(record.getBytes(UTF_8));
        assertTrue(queue.awaitShipped(offset, LONG));
        return offset;
    }

    private void ship(String name, int count) throws InterruptedException {
        try (MmapQueue queue = open(name)) {
            for (int i = 0; i < count; i++) {
                queue.push((name + " " + i).getBytes(UTF_8));
            }
            assertTrue(queue.awaitShipped(queue.endOffset() - 1, LONG));
        }
    }

    private static String refused(MmapQueue queue) {
        return assertThrows(MmapQueueException.class, () -> ship(queue, "refused"))
                .getMessage();
    }

    private String refused(String name) {
        try (MmapQueue queue = open(name)) {
            return refused(queue);
        }
    }

    private List<String> archived() throws IOException {
        List<String> found = new ArrayList<>();
        try (Archive archive = Archive.open(Archives.files(archive().toUri()))) {
            ArchivePartition partition = archive.partition(entry(archive));
            partition.refresh();
            try (ArchiveReader reader = partition.reader(0, partition.endOffset(), false)) {
                while (reader.read(100, 1 << 20, (offset, time, data) -> found.add(new String(data, UTF_8))) > 0) {}
            }
        }
        return found;
    }

    private static PartitionEntry entry(Archive archive) throws IOException {
        return archive.partitions().get(0);
    }

    private String claim() throws IOException {
        Claim owner = owner();
        return owner.epoch() + " " + owner.token();
    }

    private Claim owner() throws IOException {
        try (Archive archive = Archive.open(Archives.files(archive().toUri()))) {
            return archive.owner(entry(archive)).orElseThrow();
        }
    }

    private static List<String> records(String text, int count) {
        return LongStream.range(0, count).mapToObj(i -> text + " " + i).toList();
    }

    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> all = Files.walk(from)) {
            for (Path each : all.toList()) {
                Files.copy(each, to.resolve(from.relativize(each)));
            }
        }
    }

    // A partition without records.
    private UUID register() throws IOException {
        UUID queue = new UUID(5, 6);
        try (Archive archive = Archive.create(Archives.files(archive().toUri()))) {
            archive.register(queue, 0, "old");
        }
        return queue;
    }

    @Test
    void theNewQueueContinuesThePartition() throws Exception {
        ship("old", 50);
        UUID id = MmapQueue.idIn(directory("old")).orElseThrow();
        assertEquals(50, adopt("new"));
        assertEquals(List.of(), Verifier.verify(directory("new"), Progress.NONE).findings());
        assertEquals("new", owner().host());
        try (MmapQueue queue = open("new")) {
            assertEquals(id, queue.id());
            assertEquals(50, queue.firstOffset());
            assertEquals(50, queue.endOffset());
            Consumer consumer = queue.consumer("new", StartAt.EARLIEST);
            for (int i = 0; i < 200; i++) {
                assertEquals(50 + i, ship(queue, "new " + i));
                Message popped = consumer.pop();
                assertEquals("new " + i, new String(popped.data(), UTF_8));
                assertEquals(50 + i, popped.offset());
                consumer.ack(popped);
            }
        }
        List<String> expected = new ArrayList<>(records("old", 50));
        expected.addAll(records("new", 200));
        assertEquals(expected, archived());
    }

    @Test
    void aPartitionWithoutRecordsIsContinuedFromItsBeginning() throws Exception {
        UUID queue = register();
        assertEquals(0, adopt("new"));
        assertEquals(List.of(), Verifier.verify(directory("new"), Progress.NONE).findings());
        try (MmapQueue adopted = open("new")) {
            assertEquals(queue, adopted.id());
            assertEquals(0, ship(adopted, "new 0"));
        }
        assertEquals(records("new", 1), archived());
    }

    @Test
    void aConsumerOfAQueueThatOverflowsReadsOnWhereThatOfTheLostOneWas() throws Exception {
        ship("old", 50);
        QueueConfig config = config("new", "new").overflow("archive").build();
        assertEquals(50, MmapQueue.adopt(config, 0));
        long next = 20;
        for (long end : List.of(45L, 52L)) { // also after a restart, and beyond the records of the lost queue
            try (MmapQueue queue = MmapQueue.open(config)) {
                ship(queue, "new");
                Consumer consumer = queue.consumer("mail", StartAt.offset(20));
                for (; next < end; next++) {
                    Message popped = consumer.pop(LONG);
                    assertEquals(next, popped.offset());
                    assertEquals(next < 50 ? "old " + next : "new", new String(popped.data(), UTF_8));
                    consumer.ack(popped);
                }
            }
        }
    }

    @Test
    void theShipperOfTheLostHostIsRefusedAtItsNextStore() throws Exception {
        try (MmapQueue old = open("old")) {
            ship(old, "old 0");
            ship(old, "old 1");
            assertEquals(2, adopt("new"));
            String text = refused(old);
            assertTrue(text.contains("which host new has adopted at "), text);
            assertTrue(text.contains("from offset 2 on") && text.contains("--from 2"), text);
        }
        try (MmapQueue queue = open("new")) {
            assertEquals(2, ship(queue, "new 0"));
        }
        ship("new", 3); // a restart passes on that the partition was adopted
        String text = refused("old");
        assertTrue(text.contains("which host new has adopted at ") && text.contains("--from 2"), text);
        try (MmapQueue old = MmapQueue.openToRead(directory("old"))) { // what was not shipped is still there
            assertEquals("refused", new String(old.get(2).data(), UTF_8));
        }
        assertEquals(List.of("old 0", "old 1", "new 0", "new 0", "new 1", "new 2"), archived());
    }

    @Test
    void eachLostHostLearnsWhereItsRecordsEnd() throws Exception {
        ship("first", 10);
        assertEquals(10, adopt("second"));
        ship("second", 10);
        assertEquals(20, adopt("third"));
        ship("third", 10);
        assertTrue(refused("first").contains("host third has adopted"));
        assertTrue(refused("first").contains("--from 10"));
        assertTrue(refused("second").contains("--from 20"));
        assertEquals(30, archived().size());
    }

    @Test
    void aDirectoryThatKnowsNoClaimIsNotTakenForOneThatWasNeverShipped() throws Exception {
        ship("old", 10);
        adopt("new");
        assertTrue(MmapQueue.leaveArchive(directory("old")));
        String text = refused("old");
        assertTrue(text.contains("its records after those of the archive"), text);
        assertTrue(text.contains("--from OFFSET"), text);
    }

    @Test
    void aDirectoryThatTakesOverAgainIsNotTakenForAnAdoptedOne() throws Exception {
        ship("old", 10);
        adopt("new");
        assertTrue(
                MmapQueue.takeOver(directory("old"), archive().toUri())); // the lost host is back, the new queue unused
        ship("old", 1);
        String text = refused("new");
        assertTrue(text.contains("another directory with this queue has shipped it last"), text);
        assertEquals(11, archived().size());
    }

    @Test
    void aKillBeforeTheFirstPushLosesNoOffset() throws Exception {
        ship("old", 50);
        adopt("new");
        MmapQueue queue =
                MmapQueue.open(config("new", "new").retainBytes(1 << 14).build());
        copy(directory("new"), directory("killed"));
        queue.close();
        try (MmapQueue killed =
                MmapQueue.open(QueueConfig.builder(directory("killed")).build())) {
            assertEquals(50, killed.endOffset());
            assertEquals(50, killed.push("a".getBytes(UTF_8)));
            assertEquals(50, killed.consumer().pop().offset());
        }
        assertEquals(
                List.of(), Verifier.verify(directory("killed"), Progress.NONE).findings());
    }

    @Test
    void anAdoptedQueueIsResizedCopiedAndRepaired() throws Exception {
        ship("old", 50);
        adopt("new");
        Copier.resize(directory("new"), new RingSize(32 * 4096, 8192), Progress.NONE);
        Copier.copy(directory("new"), directory("copy"), new RingSize(0, 0), Progress.NONE);
        for (String each : List.of("new", "copy")) {
            Files.delete(directory(each).resolve("meta.dat"));
            assertFalse(Verifier.verify(directory(each), Progress.NONE).isWhole());
            Repairer.repairInPlace(directory(each), false, Progress.NONE);
            assertEquals(
                    List.of(), Verifier.verify(directory(each), Progress.NONE).findings());
        }
        try (MmapQueue copy =
                MmapQueue.open(QueueConfig.builder(directory("copy")).build())) {
            assertEquals(50, copy.push("a".getBytes(UTF_8)));
        }
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(directory("new"))
                .archiveUri(archive().toUri())
                .archiveHost("new")
                .build())) {
            assertEquals(50, ship(queue, "new 0"));
        }
        assertEquals(51, archived().size());
    }

    @Test
    void theDirectoryKeepsTheSettingsOfANewQueue() throws Exception {
        ship("old", 5);
        MmapQueue.adopt(
                config("new", "new")
                        .retain(Duration.ofMinutes(1))
                        .retainBytes(8192)
                        .maxEventSize(500)
                        .build(),
                0);
        try (MmapQueue queue =
                MmapQueue.open(QueueConfig.builder(directory("new")).build())) {
            assertEquals("60000", queue.config().asMap().get("retain_ms"));
            assertEquals("8192", queue.config().asMap().get("retain_bytes"));
            assertEquals("500", queue.config().asMap().get("max_event_size"));
            assertEquals("4096", queue.config().asMap().get("segment_size"));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3})
    void aCrashAtAnyCallLeavesTheWholeQueueOrNone(int records) throws Exception {
        if (records > 0) {
            ship("old", records);
        } else {
            register();
        }
        boolean isDone = false;
        int calls = 0;
        while (!isDone) {
            String name = "new-" + calls;
            FaultyStorage storage = new FaultyStorage();
            storage.stopAt(++calls);
            try {
                adopt(name, storage);
                isDone = true;
            } catch (MmapQueueException e) {
                assertTrue(e.toString().contains("injected"), e::toString);
            }
            if (MmapQueue.idIn(directory(name)).isPresent()) {
                assertEquals(
                        List.of(),
                        Verifier.verify(directory(name), Progress.NONE).findings());
            } else {
                name = "again-" + calls;
                assertEquals(records, adopt(name)); // a claim without a queue is in nobody's way
            }
            try (MmapQueue queue = open(name)) {
                assertEquals(records, queue.endOffset());
            }
        }
        assertTrue(calls > 10, "only " + calls + " calls");
        try (MmapQueue queue = open("new-" + (calls - 1))) {
            assertEquals(records, ship(queue, "last"));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 50, 100})
    void aLossOfPowerAtAnyCallLeavesTheWholeQueueOrNone(int percent) throws Exception {
        ship("old", 3);
        SplittableRandom random = new SplittableRandom(percent);
        boolean isDone = false;
        for (int calls = 1; !isDone; calls++) {
            String name = "new-" + calls;
            PowerLossStorage disk = new PowerLossStorage();
            FaultyStorage storage = new FaultyStorage(disk);
            storage.stopAt(calls);
            try {
                adopt(name, storage);
                isDone = true;
            } catch (MmapQueueException e) {
                assertTrue(e.toString().contains("injected"), e::toString);
            }
            if (!Files.exists(directory(name))) {
                continue;
            }
            Path left = disk.lose(directory(name), directory("left-" + calls), random, percent);
            boolean isQueue = MmapQueue.idIn(left).isPresent();
            assertTrue(isQueue || !isDone);
            if (isQueue) {
                assertEquals(List.of(), Verifier.verify(left, Progress.NONE).findings());
                try (MmapQueue queue = open(left.getFileName().toString())) {
                    assertEquals(3, queue.endOffset());
                }
            }
        }
    }

    @Test
    void anInterruptedAdoptionCanBeRepeated() throws Exception {
        ship("old", 3);
        Thread.currentThread().interrupt();
        boolean isAdopted = true;
        try {
            adopt("new");
        } catch (MmapQueueException e) {
            isAdopted = false;
        }
        assertTrue(Thread.interrupted());
        assertEquals(3, isAdopted ? 3 : adopt("new"));
        try (MmapQueue queue = open("new")) {
            assertEquals(3, ship(queue, "new 0"));
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"INPUT_OUTPUT", "NO_SPACE"})
    void aFailureLeavesNothingAndTheCallCanBeRepeated(FaultyStorage.Fault fault) throws Exception {
        ship("old", 3);
        for (int calls = 0; ; calls++) {
            String name = "new-" + calls;
            FaultyStorage storage = new FaultyStorage();
            storage.failOnce(calls, fault);
            try {
                assertEquals(3, adopt(name, storage));
                assertTrue(calls > 5, "only " + calls + " calls");
                return;
            } catch (MmapQueueException e) {
                assertTrue(e.toString().contains("injected"), e::toString);
            }
            assertEquals(3, adopt(name)); // in the same directory
            try (MmapQueue queue = open(name)) {
                assertEquals(3, queue.endOffset());
            }
        }
    }

    @Test
    void ofTwoAdoptionsTheLaterOneIsShipped() throws Exception {
        ship("old", 3);
        adopt("first");
        adopt("second");
        String text = refused("first");
        assertTrue(text.contains("host second has adopted") && text.contains("--from 3"), text);
        ship("second", 1);
        assertEquals(4, archived().size());
    }

    @Test
    void errorsChangeNothing() throws Exception {
        ship("old", 3);
        String before = claim();
        QueueConfig there = config("new", "new").build();
        String text = assertThrows(ArchiveException.class, () -> MmapQueue.adopt(there, 7))
                .getMessage();
        assertTrue(text.contains("has no partition 7"), text);
        text = assertThrows(
                        ArchiveException.class,
                        () -> MmapQueue.adopt(
                                config("new", "new")
                                        .archiveUri(directory("old").toUri())
                                        .build(),
                                0))
                .getMessage();
        assertTrue(text.contains("is not an archive"), text);
        assertThrows(
                ConfigException.class,
                () -> MmapQueue.adopt(QueueConfig.builder(directory("new")).build(), 0));
        assertFalse(Files.exists(directory("new")));
        text = assertThrows(MmapQueueException.class, () -> adopt("old")).getMessage();
        assertTrue(text.contains("there is a queue in"), text);
        Files.createDirectory(directory("new"));
        Files.createFile(directory("new").resolve("other"));
        text = assertThrows(ConfigException.class, () -> adopt("new")).getMessage();
        assertTrue(text.contains("other"), text);
        Files.delete(directory("new").resolve("other"));
        ProcessLock lock = ProcessLock.acquire(directory("new").resolve("lock"), "the queue", FileMode.PRIVATE);
        try (lock) {
            assertThrows(LockedException.class, () -> adopt("new"));
        }
        assertEquals(before, claim());
        ship("old", 1);
    }

    @Test
    void aDamagedNewestRunIsNotContinued() throws Exception {
        ship("old", 3);
        String before = claim();
        Path run;
        try (Stream<Path> files = Files.walk(archive())) {
            run = files.filter(each -> each.toString().endsWith(".run"))
                    .reduce((one, other) -> other.compareTo(one) > 0 ? other : one)
                    .orElseThrow();
        }
        byte[] whole = Files.readAllBytes(run);
        byte[] damaged = whole.clone();
        damaged[damaged.length - 40] ^= 1;
        Files.delete(run);
        Files.write(run, damaged);
        String text = assertThrows(ArchiveException.class, () -> adopt("new")).getMessage();
        assertTrue(
                text.contains("newest run is damaged")
                        && text.contains(run.getFileName().toString()),
                text);
        assertEquals(before, claim());
        assertFalse(Files.exists(directory("new")));
        Files.write(run, whole);
        assertEquals(3, adopt("new"));
    }
}
