package org.mmapqueue.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.LocalFiles;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.RunMerger;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.meta.ArchiveLink;
import org.mmapqueue.support.Waiting;

/** One directory ships into one archive, and of two directories with one queue only the one that claimed last. */
class OwnershipTest {
    private static final Duration PERIOD = Duration.ofMillis(10);

    @TempDir
    private Path temp;

    private final MemorySource source = new MemorySource();

    private static ShipOptions options(String host) {
        return new ShipOptions(host, PERIOD, 1 << 20, ArchiveCodec.NONE, Duration.ZERO);
    }

    private Path root() {
        return temp.resolve("archive");
    }

    private FailingFiles files() {
        return new FailingFiles(new LocalFiles(root()));
    }

    private Shipper shipper(MemorySource of, ArchiveFiles files, String host) {
        Shipper shipper = new Shipper("/queues/one", of, files.uri(), () -> files, options(host));
        shipper.start();
        return shipper;
    }

    private Shipment resume(MemorySource of) throws IOException {
        return Shipment.resume(of, files(), options("here"));
    }

    private static void ship(Shipment shipment, MemorySource of, long to) throws IOException {
        of.pushTo(to);
        shipment.collect();
        shipment.ack(shipment.store());
    }

    private List<String> archived() throws IOException {
        Archive archive = Archive.open(files());
        List<String> found = new ArrayList<>();
        for (PartitionEntry each : archive.partitions()) {
            ArchivePartition partition = archive.partition(each);
            partition.refresh();
            try (ArchiveReader reader = partition.reader(0, partition.endOffset(), false)) {
                while (reader.read(
                                100,
                                1 << 20,
                                (offset, timestamp, data) -> found.add(new String(data, StandardCharsets.UTF_8)))
                        > 0) {}
            }
        }
        return found;
    }

    private static List<String> records(String text, int to) {
        return Stream.iterate(0, i -> i + 1).limit(to).map(i -> text + i).toList();
    }

    private static String refused(ThrowingCall call) {
        return assertThrows(ArchiveException.class, call::run).getMessage();
    }

    private interface ThrowingCall {
        void run() throws IOException;
    }

    @Test
    void anArchiveThatGoesAwayIsAnOutageAndNeverMadeAnew() throws Exception {
        try (Shipper shipper = shipper(source, files(), "here")) {
            source.pushTo(10);
            Waiting.until("the records are acked", () -> source.committedOffset() == 10);
            Path away = temp.resolve("away");
            Files.move(root(), away);
            source.pushTo(20);
            Waiting.until("an outage", () -> shipper.stats().failures() >= 2);
            assertEquals(10, source.committedOffset());
            assertFalse(Files.exists(root()));
            assertTrue(shipper.stats().failure().orElseThrow().contains("the archive"), shipper.stats()::toString);
            Files.createDirectory(root()); // as a mount point without its file system
            long failures = shipper.stats().failures();
            Waiting.until("an outage", () -> shipper.stats().failures() >= failures + 2);
            assertEquals(10, source.committedOffset());
            try (Stream<Path> left = Files.list(root())) {
                assertEquals(0, left.count());
            }
            assertTrue(shipper.stats().failure().orElseThrow().contains("mounted"), shipper.stats()::toString);
            Files.delete(root());
            Files.move(away, root());
            Waiting.until("the records are acked", () -> source.committedOffset() == 20);
        }
        assertEquals(records("record ", 20), archived());
    }

    @Test
    void anotherArchiveInItsPlaceGetsNoRecord() throws Exception {
        MemorySource other = new MemorySource("other ", new UUID(7, 7));
        Path away = temp.resolve("away");
        try (Shipper first = shipper(other, files(), "there")) {
            other.pushTo(5);
            Waiting.until("the records are acked", () -> other.committedOffset() == 5);
            assertFalse(first.stats().hasEnded());
        }
        Files.move(root(), away);
        try (Shipper shipper = shipper(source, files(), "here")) {
            source.pushTo(10);
            Waiting.until("the records are acked", () -> source.committedOffset() == 10);
            Files.move(root(), temp.resolve("own"));
            Files.move(away, root());
            source.pushTo(20);
            Waiting.until("an outage", () -> shipper.stats().failures() >= 2);
            assertTrue(shipper.stats().failure().orElseThrow().contains("is the archive"), shipper.stats()::toString);
        }
        assertEquals(10, source.committedOffset());
        assertEquals(records("other ", 5), archived());
        try (Shipper shipper = shipper(source, files(), "here")) {
            Waiting.until("an outage", () -> shipper.stats().failures() >= 2);
            assertEquals(10, source.committedOffset());
            Files.move(root(), away);
            Waiting.until(
                    "another outage", () -> shipper.stats().failure().orElse("").contains("missing"));
            assertFalse(Files.exists(root()));
            Files.move(temp.resolve("own"), root());
            Waiting.until("the records are acked", () -> source.committedOffset() == 20);
        }
        assertEquals(records("record ", 20), archived());
        assertEquals(1, Archive.open(files()).partitions().size());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2}) // before its check, before it stores a run, before the check after it
    void anOldShipperThatGoesOnAfterATakeOverAcksNothing(int callsBefore) throws Exception {
        AtomicInteger left = new AtomicInteger(-1);
        CountDownLatch isPaused = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        FailingFiles paused = files();
        paused.fail(
                () -> {
                    if (Thread.currentThread().getName().endsWith("-shipper") && left.getAndDecrement() == 0) {
                        isPaused.countDown();
                        awaitLatch(goesOn);
                    }
                    return false;
                },
                () -> false);
        try (Shipper old = shipper(source, paused, "here")) {
            source.pushTo(10);
            Waiting.until("the records are acked", () -> source.committedOffset() == 10);
            Waiting.until("they are counted", () -> old.stats().records() == 10);
            MemorySource moved = source.copy();
            assertTrue(Archive.open(files()).takeOver(source.queueId(), moved));
            left.set(callsBefore);
            source.pushTo(15);
            awaitLatch(isPaused);
            moved.pushTo(20);
            try (Shipper next = shipper(moved, files(), "there")) {
                Waiting.until("the records are acked", () -> moved.committedOffset() == 20);
                goesOn.countDown();
                Waiting.until("the old one ends", () -> old.stats().hasEnded());
                assertInstanceOf(ArchiveException.class, old.failure());
                assertTrue(
                        old.failure().getMessage().contains("host there"),
                        old.failure().getMessage());
                assertEquals(10, source.committedOffset());
                moved.pushTo(30);
                Waiting.until("the records are acked", () -> moved.committedOffset() == 30);
                assertFalse(next.stats().hasEnded());
            }
        }
        assertEquals(records("record ", 30), archived());
        assertTrue(refused(() -> resume(source)).contains("another directory"));
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            assertTrue(latch.await(1, TimeUnit.MINUTES));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Files in which something happens before a run is stored. */
    private static final class HookedFiles extends FailingFiles {
        private ThrowingCall hook = () -> {};

        HookedFiles(ArchiveFiles files) {
            super(files);
        }

        @Override
        public boolean create(String name, Content content) throws IOException {
            if (name.endsWith(".run")) {
                ThrowingCall now = hook;
                hook = () -> {};
                now.run();
            }
            return super.create(name, content);
        }
    }

    @Test
    void aRunOfAReplacedShipperIsNotReadThoughItIsStoredLater() throws IOException {
        HookedFiles files = new HookedFiles(files());
        Shipment old = Shipment.resume(source, files, options("here"));
        ship(old, source, 10);
        MemorySource other = source.replaced("other "); // a copy of the directory with other records since
        other.pushTo(10);
        other.committed(10);
        ArchivePartition reader = reader();
        AtomicReference<Shipment> next = new AtomicReference<>();
        files.hook = () -> next.set(resume(other));
        source.pushTo(15);
        old.collect();
        String text = refused(old::store);
        assertTrue(text.contains("epoch 2") && text.contains("this shipper has epoch 1"), text);
        assertEquals(10, source.committedOffset());
        List<RunName> all = allRuns();
        assertEquals(2, all.size());
        assertEquals(List.of(source.run(0, 10)), stored()); // the other one is seen only by readers from before
        RunName merged = RunMerger.merge(files(), 0, source.queueId(), all, ArchiveCodec.NONE, () -> false, () -> {});
        assertEquals(15, merged.end());
        assertEquals(List.of(source.run(0, 10)), stored());
        ship(next.get(), other, 12);
        reader.refresh();
        assertEquals(12, reader.endOffset());
        ship(next.get(), other, 40);
        reader.refresh();
        assertEquals(40, reader.endOffset());
        List<String> expected = new ArrayList<>(records("record ", 10));
        expected.addAll(records("other ", 40).subList(10, 40));
        assertEquals(expected, archived());
        Shipment third = resume(other); // compares what is read, not what is left out
        ship(third, other, 50);
        assertEquals(50, archived().size());
        assertEquals(3, third.owner().epoch());
    }

    @Test
    void aMergeThatAnotherShipperReplacesMeanwhileIsNotStored() throws Exception {
        Shipment shipment = resume(source);
        for (int end = 1; end <= 16; end++) {
            ship(shipment, source, end);
        }
        CountDownLatch isMerging = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        ArchiveFiles slow = new FailingFiles(new LocalFiles(root())) {
            @Override
            public boolean create(String name, Content content) throws IOException {
                if (Thread.currentThread().getName().endsWith("-upkeep")) {
                    isMerging.countDown();
                    awaitLatch(goesOn); // after the next shipper has deleted unfinished files
                }
                return super.create(name, content);
            }
        };
        List<RunName> before = allRuns();
        try (Shipper old = shipper(source, slow, "here")) {
            awaitLatch(isMerging);
            Shipment next = resume(source.copy()); // its compaction may choose other runs
            assertEquals(3, next.owner().epoch());
            goesOn.countDown();
            assertFalse(old.stats().hasEnded()); // it has nothing to ship
        }
        assertEquals(16, before.size());
        assertEquals(before, allRuns());
        assertEquals(records("record ", 16), archived());
    }

    // All runs of partition 0, also those that readers leave out.
    private List<RunName> allRuns() throws IOException {
        return files().list(RunName.directory(0, 0)).stream()
                .flatMap(each -> RunName.parse(each.name()).stream())
                .toList();
    }

    private List<RunName> stored() throws IOException {
        RunList runs = Archive.open(files()).runs(0);
        runs.refresh();
        return runs.all();
    }

    private ArchivePartition reader() throws IOException {
        Archive archive = Archive.open(files());
        ArchivePartition partition = archive.partition(archive.partitions().get(0));
        partition.refresh();
        return partition;
    }

    @Test
    void aRestartOfTheSameDirectoryNeedsNoTakeOver() throws IOException {
        for (int i = 1; i <= 5; i++) {
            Shipment shipment = resume(source);
            assertEquals(i, shipment.owner().epoch());
            ship(shipment, source, 10L * i);
        }
        assertEquals(records("record ", 50), archived());
        assertEquals(1, files().list("owners/00000").size());
    }

    @Test
    void ofTwoCopiesOfOneDirectoryTheLastOneThatStartsIsShipped() throws Exception {
        try (Shipper first = shipper(source, files(), "here")) {
            source.pushTo(10);
            Waiting.until("the records are acked", () -> source.committedOffset() == 10);
            MemorySource copy = source.copy();
            try (Shipper second = shipper(copy, files(), "here")) {
                copy.pushTo(20);
                Waiting.until("the records are acked", () -> copy.committedOffset() == 20);
                source.pushTo(20);
                Waiting.until("the first one ends", () -> first.stats().hasEnded());
                assertEquals(10, source.committedOffset());
                assertTrue(refused(() -> resume(source)).contains("another directory with this queue"));
                copy.pushTo(30);
                Waiting.until("the records are acked", () -> copy.committedOffset() == 30);
                assertFalse(second.stats().hasEnded());
            }
        }
        assertEquals(records("record ", 30), archived());
    }

    @Test
    void aCopyWithOtherRecordsDoesNotReplaceTheRightOne() throws IOException {
        Shipment first = resume(source);
        ship(first, source, 10);
        MemorySource copy = source.replaced("other ");
        copy.pushTo(20);
        copy.committed(5);
        assertTrue(refused(() -> resume(copy)).contains("another record"));
        ship(first, source, 20);
        assertEquals(records("record ", 20), archived());
    }

    @Test
    void anotherHostTakesOver() throws IOException {
        ship(resume(source), source, 10);
        String text = refused(() -> Shipment.resume(source, files(), options("there")));
        assertTrue(text.contains("host here") && text.contains("host is there"), text);
        assertTrue(Archive.open(files()).takeOver(source.queueId(), source));
        Shipment moved = Shipment.resume(source, files(), options("there"));
        ship(moved, source, 20);
        assertEquals(
                "there",
                Archive.open(files()).owner(moved.partition()).orElseThrow().host());
        ship(Shipment.resume(source, files(), options("there")), source, 30); // not a second time
        assertTrue(refused(() -> resume(source)).contains("host there"));
        assertEquals(records("record ", 30), archived());
    }

    @Test
    void aBackupIsRefusedUntilItTakesOver() throws IOException {
        ship(resume(source), source, 10);
        MemorySource backup = source.copy();
        for (int i = 2; i < 5; i++) {
            ship(resume(source), source, 10L * i);
        }
        String text = refused(() -> resume(backup));
        assertTrue(text.contains("epoch 4") && text.contains("at epoch 1"), text);
        assertTrue(Archive.open(files()).takeOver(backup.queueId(), backup));
        assertTrue(refused(() -> resume(backup)).contains("the queue ends at 10"));
        backup.pushTo(50);
        ship(resume(backup), backup, 60);
        assertEquals(records("record ", 60), archived());
        assertTrue(refused(() -> resume(source)).contains("another directory"));
    }

    @Test
    void aDirectoryWithoutItsLinkIsACopy() throws IOException {
        ship(resume(source), source, 10);
        source.forget();
        String text = refused(() -> resume(source));
        assertTrue(text.contains("this directory never"), text);
        assertTrue(Archive.open(files()).takeOver(source.queueId(), source));
        ship(resume(source), source, 20);
        assertEquals(1, Archive.open(files()).partitions().size());
        assertEquals(records("record ", 20), archived());
    }

    @Test
    void damagedRegistrationsStopNoShipping() throws IOException {
        PartitionEntry own = resume(source).partition();
        PartitionEntry other = new PartitionEntry(7, new UUID(9, 9));
        for (PartitionEntry each : List.of(own, other)) {
            files().replace(PartitionRegistry.file(each), new byte[0]);
        }
        ship(resume(source), source, 10);
        MemorySource third = new MemorySource("third ", new UUID(3, 3));
        ship(resume(third), third, 5);
        Archive archive = Archive.open(files());
        assertEquals(
                List.of(own, other),
                archive.partitions().stream()
                        .filter(each -> !each.queue().equals(third.queueId()))
                        .toList());
        for (PartitionEntry each : List.of(own, other)) {
            assertTrue(
                    refused(() -> archive.registration(each)).contains(PartitionRegistry.file(each) + " is damaged"));
        }
        assertEquals(15, archived().size());
    }

    @Test
    void aQueueThatWasShippedIsNeverRegisteredAnew() throws IOException {
        Shipment first = resume(source);
        ship(first, source, 10);
        String file = PartitionRegistry.file(first.partition());
        byte[] content = Files.readAllBytes(root().resolve(file));
        assertTrue(files().delete(file));
        assertTrue(refused(() -> resume(source)).contains(file + " is missing"));
        assertEquals(List.of(), Archive.open(files()).partitions());
        files().replace(file, content);
        ship(resume(source), source, 20);
        assertEquals(records("record ", 20), archived());
    }

    @Test
    void aKillBetweenTheFirstClaimAndTheRegistrationLeavesThePartition() throws IOException {
        FailingFiles killed = files();
        AtomicInteger creates = new AtomicInteger();
        ArchiveFiles files = new FailingFiles(killed) {
            @Override
            public boolean create(String name, Content content) throws IOException {
                if (name.startsWith("partitions/")) {
                    creates.incrementAndGet();
                    throw new IOException("killed");
                }
                return super.create(name, content);
            }
        };
        assertThrows(IOException.class, () -> Shipment.resume(source, files, options("here")));
        assertEquals(1, creates.get());
        assertFalse(source.readLink().map(ArchiveLink::isRegistered).orElseThrow());
        Shipment shipment = resume(source);
        assertEquals(new PartitionEntry(0, source.queueId()), shipment.partition());
        assertEquals(2, shipment.owner().epoch());
        ship(shipment, source, 10);
        assertEquals(records("record ", 10), archived());
    }

    @Test
    void aClaimThatAppearsAfterItsCallHasFailedIsKnownAsOwn() throws IOException {
        ship(resume(source), source, 10);
        MemorySource backup = source.copy();
        Map<String, byte[]> late = new LinkedHashMap<>();
        ArchiveFiles slow = new FailingFiles(files()) {
            @Override
            public boolean create(String name, Content content) throws IOException {
                if (name.startsWith("owners/")) {
                    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                    content.writeTo(bytes);
                    late.put(name, bytes.toByteArray());
                    throw new IOException("failed by the test");
                }
                return super.create(name, content);
            }
        };
        for (int epoch = 2; epoch <= 5; epoch++) {
            if (epoch == 5) {
                files().replace("owners/00000/0000000002.properties", late.get("owners/00000/0000000002.properties"));
            }
            String text = assertThrows(IOException.class, () -> Shipment.resume(source, slow, options("here")))
                    .getMessage();
            assertEquals("failed by the test", text);
            assertEquals(epoch - 1, late.size());
        }
        files().replace("owners/00000/0000000003.properties", late.get("owners/00000/0000000003.properties"));
        Shipment shipment = resume(source);
        assertEquals(6, shipment.owner().epoch());
        ship(shipment, source, 20);
        assertEquals(records("record ", 20), archived());
        backup.pushTo(20);
        assertTrue(refused(() -> resume(backup)).contains("another directory"));
    }

    @Test
    void missingClaimsAreAnOutage() throws IOException {
        Shipment shipment = resume(source);
        ship(shipment, source, 10);
        Path claims = root().resolve("owners");
        Files.move(claims, temp.resolve("owners"));
        source.pushTo(20);
        shipment.collect();
        IOException e = assertThrows(IOException.class, shipment::store);
        assertTrue(e.getMessage().contains("owners/00000"), e.getMessage());
        Files.move(temp.resolve("owners"), claims);
        shipment.ack(shipment.store());
        assertEquals(records("record ", 20), archived());
    }
}
