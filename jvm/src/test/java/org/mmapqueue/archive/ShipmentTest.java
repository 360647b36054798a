package org.mmapqueue.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.mmapqueue.archive.files.FailingDirectories;
import org.mmapqueue.archive.files.LocalFiles;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.GapName;
import org.mmapqueue.archive.run.RunMerger;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.errors.CorruptException;

/** Records go into the archive once, whatever call of its file system fails. */
@Tag("slow")
class ShipmentTest {
    private static final ShipOptions OPTIONS =
            new ShipOptions("here", Duration.ofMillis(10), 1 << 20, ArchiveCodec.NONE, Duration.ZERO);

    /** With runs of four records. */
    private static final ShipOptions SMALL =
            new ShipOptions("here", Duration.ofMillis(10), 120, ArchiveCodec.NONE, Duration.ZERO);

    private enum Fault {
        BEFORE,
        AFTER,
        CRASH_BEFORE,
        CRASH_AFTER;

        boolean isCrash() {
            return this == CRASH_BEFORE || this == CRASH_AFTER;
        }

        boolean isBefore() {
            return this == BEFORE || this == CRASH_BEFORE;
        }
    }

    @TempDir
    private Path temp;

    private MemorySource source = new MemorySource();

    private LocalFiles local() {
        return new LocalFiles(temp.resolve("archive"));
    }

    private List<RunName> stored() throws IOException {
        RunList runs = Archive.open(local()).runs(0);
        runs.refresh();
        return runs.cover(runs.firstOffset(), runs.endOffset());
    }

    private List<RunName> shipped() throws IOException {
        return stored().stream()
                .map(each -> each.withEpoch(1)) // whatever the number of starts
                .toList();
    }

    private Shipment resume() throws IOException {
        return Shipment.resume(source, local(), OPTIONS);
    }

    private void ship(long to) throws IOException {
        Shipment shipment = resume();
        source.pushTo(to);
        shipment.collect();
        shipment.ack(shipment.store());
    }

    @Test
    void aRunHasWhatWasCollectedAndIsAckedThen() throws IOException {
        Shipment shipment = resume();
        source.pushTo(5);
        assertFalse(shipment.collect());
        source.pushTo(7);
        assertFalse(shipment.collect());
        assertEquals(0, source.committedOffset());
        RunName stored = shipment.store();
        assertEquals(source.run(0, 7), stored);
        assertEquals(0, source.committedOffset());
        shipment.ack(stored);
        assertEquals(7, source.committedOffset());
        assertFalse(shipment.hasRecords());
        assertEquals(List.of(source.run(0, 7)), shipped());
    }

    @Test
    void aRunEndsAtItsBytes() throws IOException {
        Shipment shipment = Shipment.resume(
                source, local(), new ShipOptions("here", Duration.ofMillis(10), 100, ArchiveCodec.NONE, Duration.ZERO));
        source.pushTo(1000);
        assertTrue(shipment.collect());
        assertTrue(shipment.collect());
        RunName run = shipment.store();
        assertTrue(run.bytes() >= 100 && run.bytes() < 130, run.toString());
    }

    @Test
    void theRunAfterAFullOneIsCollectedWhileThatIsStored() throws IOException {
        Shipment shipment = Shipment.resume(source, local(), SMALL);
        source.pushTo(100);
        assertTrue(shipment.collect());
        long end = source.reached();
        RunName first = shipment.store();
        assertEquals(end, first.end());
        shipment.ack(first);
        assertTrue(shipment.collect());
        RunName second = shipment.store();
        shipment.close();
        assertTrue(source.reached() > second.end(), "a third one was not collected");
        assertEquals(first.end(), source.committedOffset());
        assertEquals(source.run(first.end(), second.end()), second.withEpoch(1));
    }

    @Test
    void recordsThatAreDroppedDuringAStoreAreANamedGap() throws IOException {
        Shipment shipment = Shipment.resume(source, local(), SMALL);
        source.pushTo(100);
        assertTrue(shipment.collect());
        source.retainsFrom(50);
        source.committed(50);
        RunName first = shipment.store();
        shipment.ack(first);
        assertTrue(shipment.collect());
        shipment.ack(shipment.store());
        shipment.close();
        assertEquals(List.of(new Gap(first.end(), 50, Optional.of(GapName.Reason.DROPPED))), gaps());
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void anyCallOfTheFileSystemMayFail(Fault fault) throws IOException {
        shipWithFaults(fault, OPTIONS);
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void anyCallOfTheFileSystemMayFailBesideACollector(Fault fault) throws IOException {
        shipWithFaults(fault, SMALL);
    }

    private void shipWithFaults(Fault fault, ShipOptions options) throws IOException {
        Path base = temp;
        int calls = 0;
        boolean wasHit = true;
        while (wasHit) {
            calls++;
            source = new MemorySource();
            temp = Files.createDirectories(base.resolve(fault + "-" + calls));
            wasHit = shipWithFault(fault, calls, options);
            assertEquals(source.committedOffset(), 30);
            List<RunName> runs = shipped();
            long next = 0;
            for (RunName run : runs) {
                assertEquals(source.run(next, run.end()), run);
                next = run.end();
            }
            assertEquals(30, next);
        }
        assertTrue(calls > 8, () -> "expected some calls to fail");
    }

    // Ships three times ten records; the call of this number fails, or is the last one of a process. False if there was
    // none.
    private boolean shipWithFault(Fault fault, int number, ShipOptions options) throws IOException {
        FailingFiles files = new FailingFiles(local());
        AtomicInteger left = new AtomicInteger(number);
        files.fail(
                () -> fault.isBefore() && left.decrementAndGet() == 0,
                () -> !fault.isBefore() && left.decrementAndGet() == 0);
        Shipment shipment = null;
        for (int batch = 1; batch <= 3; ) {
            try {
                if (shipment == null) {
                    shipment = Shipment.resume(source, files, options);
                }
                source.pushTo(10L * batch);
                shipment.collect();
                while (shipment.hasRecords()) {
                    shipment.ack(shipment.store());
                    shipment.collect();
                }
                batch++;
            } catch (IOException e) {
                if (fault.isCrash() && shipment != null) {
                    shipment.close();
                    shipment = null;
                }
            }
        }
        shipment.close();
        return left.get() <= 0;
    }

    @ParameterizedTest
    @EnumSource(names = {"AFTER", "CRASH_AFTER"})
    void acknowledgedRunsAreDurableByNameWhateverFsyncFails(Fault fault) throws IOException {
        int number = 0;
        boolean wasHit = true;
        while (wasHit) {
            number++;
            Path parent = Files.createDirectories(temp.resolve(fault + "-" + number));
            Path root = parent.resolve("new").resolve("archive");
            FailingDirectories disk = new FailingDirectories();
            source = new MemorySource();
            disk.fail(number);
            shipOn(disk, root, fault.isCrash());
            assertEquals(30, source.committedOffset());
            try (Stream<Path> all = Files.walk(root)) {
                for (Path file : all.filter(Files::isRegularFile).toList()) {
                    assertTrue(disk.isDurable(file, parent), "failed fsync " + number + ": " + file);
                }
            }
            wasHit = disk.fsyncs() >= number;
        }
        assertTrue(number > 12, number + " fsyncs");
    }

    // Ships three times ten records; after a failure by the same objects, or by those of another process.
    private void shipOn(FailingDirectories disk, Path root, boolean crashes) {
        LocalFiles files = disk.files(root);
        Shipment shipment = null;
        for (int batch = 1; batch <= 3; ) {
            try {
                if (shipment == null) {
                    shipment = Shipment.resume(source, files, OPTIONS);
                }
                source.pushTo(10L * batch);
                shipment.collect();
                if (shipment.hasRecords()) {
                    shipment.ack(shipment.store());
                }
                batch++;
            } catch (IOException e) {
                if (crashes) {
                    shipment = null;
                    files = disk.files(root);
                }
            }
        }
    }

    @Test
    void aLostAckIsRepeated() throws IOException {
        ship(5);
        ship(9);
        source.committed(0); // as after a loss of power
        ship(12);
        assertEquals(List.of(source.run(0, 5), source.run(5, 9), source.run(9, 12)), shipped());
    }

    private List<Gap> gaps() throws IOException {
        RunList runs = Archive.open(local()).runs(0);
        runs.refresh();
        return runs.gaps(0, Long.MAX_VALUE);
    }

    @Test
    void recordsThatTheQueueHasDroppedAreANamedGap() throws IOException {
        ship(5);
        source.pushTo(9);
        source.ack(8); // a purge
        source.retainsFrom(7);
        ship(12);
        ship(14);
        assertEquals(List.of(source.run(7, 12), source.run(12, 14)), shipped().subList(1, 3));
        assertEquals(List.of(new Gap(5, 7, Optional.of(GapName.Reason.DROPPED))), gaps());
        assertEquals(14, source.committedOffset());
    }

    @Test
    void ackedRecordsThatTheQueueStillHasAreShipped() throws IOException {
        ship(5);
        source.pushTo(9);
        source.ack(8);
        ship(9);
        assertEquals(List.of(source.run(5, 9)), shipped().subList(1, 2));
        assertEquals(List.of(), gaps());
    }

    @Test
    void recordsMayBeDroppedWhileTheArchiveIsAway() throws IOException {
        Shipment shipment = resume();
        source.pushTo(4);
        shipment.collect();
        source.pushTo(20);
        source.committed(10);
        source.retainsFrom(10);
        assertTrue(shipment.collect()); // the records before the gap first
        shipment.ack(shipment.store());
        source.committed(15);
        source.retainsFrom(13);
        assertFalse(shipment.collect());
        shipment.ack(shipment.store());
        source.pushTo(22);
        shipment.collect();
        shipment.ack(shipment.store());
        source.retainsFrom(0);
        assertEquals(List.of(source.run(0, 4), source.run(13, 20), source.run(20, 22)), shipped());
        assertEquals(List.of(new Gap(4, 13, Optional.of(GapName.Reason.DROPPED))), gaps());
        assertEquals(22, source.committedOffset());
    }

    // Records 5 to 9 are dropped, 10 to 19 are collected, and nothing of them is stored.
    private Shipment collectedAfterADrop(FailingFiles files) throws IOException {
        ship(5);
        source.pushTo(20);
        source.ack(10);
        source.retainsFrom(10);
        Shipment shipment = Shipment.resume(source, files, OPTIONS);
        shipment.collect();
        return shipment;
    }

    @Test
    void aKillBetweenTheGapAndItsRunShipsTheSame() throws IOException {
        FailingFiles files = new FailingFiles(local());
        Shipment shipment = collectedAfterADrop(files);
        AtomicInteger creations = new AtomicInteger(2); // after the check and the gap
        files.fail(() -> creations.getAndDecrement() == 0, () -> false);
        assertThrows(IOException.class, shipment::store);
        assertEquals(List.of(new Gap(5, 10, Optional.of(GapName.Reason.DROPPED))), gaps());
        ship(21);
        assertEquals(List.of(source.run(10, 21)), shipped().subList(1, 2));
        assertEquals(List.of(new Gap(5, 10, Optional.of(GapName.Reason.DROPPED))), gaps());
    }

    @Test
    void aKillAfterTheGapWasStoredLeavesItKnownInTheQueuesDirectory() throws IOException {
        FailingFiles files = new FailingFiles(local());
        Shipment shipment = collectedAfterADrop(files);
        AtomicInteger calls = new AtomicInteger(1); // after the check
        files.fail(() -> false, () -> calls.getAndDecrement() == 0);
        assertThrows(IOException.class, shipment::store);
        assertEquals(List.of(new Gap(5, 10, Optional.of(GapName.Reason.DROPPED))), gaps());
        ship(21);
        assertEquals(5, source.readLink().orElseThrow().gapFirst());
        assertEquals(10, source.readLink().orElseThrow().gapEnd());
    }

    @Test
    void anOlderCopyOfTheQueueIsAnError() throws IOException {
        ship(5);
        ship(9);
        MemorySource newest = source;
        source = newest.replaced("record ");
        source.pushTo(5);
        source.ack(5);
        String text = assertThrows(ArchiveException.class, this::resume).getMessage();
        assertTrue(text.contains("before 9") && text.contains("ends at 5"), text);
        source = newest.replaced("other ");
        source.pushTo(20);
        source.ack(5);
        text = assertThrows(ArchiveException.class, this::resume).getMessage();
        assertTrue(text.contains("record 5 in run") && text.contains("another record"), text);
    }

    @Test
    void theSameRecordsInOtherPlacesAreTheSame() throws IOException {
        source.stamp(2_000_000);
        ship(5);
        ship(9);
        source.committed(5);
        source.moveTo(7); // as a resize, or a copy to another segment size
        source.stamp(1_000_000); // as a repair with --reset-clock
        source.lose(6); // as a repair
        Shipment shipment = resume();
        assertEquals(9, source.committedOffset());
        source.pushTo(12);
        shipment.collect();
        shipment.ack(shipment.store());
        assertEquals(12, source.committedOffset());
    }

    @Test
    void aLaterTimeIsThatOfAnotherRecord() throws IOException {
        source.stamp(2_000_000);
        ship(5);
        source.committed(0);
        source.stamp(2_000_001);
        String text = assertThrows(ArchiveException.class, this::resume).getMessage();
        assertTrue(text.contains("record 0 in run"), text);
    }

    private void merge() throws IOException {
        RunMerger.merge(local(), 0, source.queueId(), stored(), ArchiveCodec.NONE, () -> false, () -> {});
    }

    @Test
    void aMergedRunThatBeginsBeforeTheAcksIsCompared() throws IOException {
        ship(5);
        ship(9);
        merge();
        for (int retained : new int[] {0, 3, 5}) {
            source = source.replaced("other ");
            source.pushTo(20);
            source.ack(5);
            source.retainsFrom(retained);
            String text = assertThrows(ArchiveException.class, this::resume).getMessage();
            assertTrue(text.contains("record " + retained + " in run"), text);
            assertEquals(5, source.committedOffset());
        }
    }

    @Test
    void onlyRecordsThatTheQueueStillHasAreCompared() throws IOException {
        ship(5);
        ship(9);
        merge();
        source.committed(7);
        source.retainsFrom(6);
        resume();
        assertEquals(9, source.committedOffset());
    }

    @Test
    void recordsThatAreDamagedInTheArchiveAreNotAcked() throws IOException {
        ship(5);
        ship(9);
        List<RunName> parts = stored();
        merge();
        for (RunName run : parts) {
            assertTrue(local().delete(run.file(0)));
        }
        Path file = temp.resolve("archive").resolve(stored().get(0).file(0));
        byte[] damaged = Files.readAllBytes(file);
        damaged[64 + 2 * 72 + 50] ^= 1; // in the block of record 2, of 48 + 24 bytes
        damaged[64 + 6 * 72 + 50] ^= 1;
        Files.write(file, damaged);
        source.committed(4);
        assertThrows(CorruptException.class, this::resume);
        assertEquals(4, source.committedOffset());
        damaged[64 + 6 * 72 + 50] ^= 1;
        Files.write(file, damaged);
        resume();
        assertEquals(9, source.committedOffset());
    }

    @Test
    void aNewArchiveBeginsAtTheFirstRecordThatIsNotAcked() throws IOException {
        source.pushTo(7);
        source.ack(3);
        ship(7);
        assertEquals(List.of(source.run(3, 7)), shipped());
    }
}
