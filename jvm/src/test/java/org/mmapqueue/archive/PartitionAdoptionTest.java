package org.mmapqueue.archive;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.archive.files.LocalFiles;
import org.mmapqueue.archive.owner.LinkStore;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.RunMerger;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.meta.ArchiveLink;

/** Of two adoptions of a partition one alone succeeds; it continues after all that the former shipper has acked. */
class PartitionAdoptionTest {
    @TempDir
    private Path temp;

    private final MemorySource source = new MemorySource();

    /** The directory of a new queue. */
    private static final class Directory implements LinkStore {
        private @Nullable ArchiveLink link;

        @Override
        public Optional<ArchiveLink> readLink() {
            return Optional.ofNullable(link);
        }

        @Override
        public void writeLink(ArchiveLink now) {
            link = now;
        }
    }

    private FailingFiles files() {
        return new FailingFiles(new LocalFiles(temp.resolve("archive")));
    }

    private static ShipOptions options() {
        return new ShipOptions("lost", Duration.ofMillis(10), 1 << 20, ArchiveCodec.NONE, Duration.ZERO);
    }

    private Shipment lost() throws IOException {
        return Shipment.resume(source, files(), options());
    }

    private static void ship(Shipment shipment, MemorySource of, long to) throws IOException {
        of.pushTo(to);
        shipment.collect();
        shipment.ack(shipment.store());
    }

    private PartitionAdoption adoption(String host, LinkStore store) throws IOException {
        return Archive.open(files()).adoption(0, host, store);
    }

    private static String refused(ThrowingCall call) {
        return assertThrows(ArchiveException.class, call::run).getMessage();
    }

    private interface ThrowingCall {
        void run() throws IOException;
    }

    @Test
    void ofTwoAdoptionsAtOnceOneAloneSucceeds() throws IOException {
        ship(lost(), source, 10);
        PartitionAdoption first = adoption("first", new Directory());
        PartitionAdoption second = adoption("second", new Directory());
        second.claim();
        String text = refused(first::claim);
        assertTrue(text.contains("host second has adopted"), text);
        second.check();
        assertEquals(10, second.nextOffset());
    }

    @Test
    void aLaterAdoptionReplacesOneThatIsNotComplete() throws IOException {
        ship(lost(), source, 10);
        PartitionAdoption killed = adoption("killed", new Directory());
        killed.claim();
        killed.check();
        PartitionAdoption again = adoption("again", new Directory());
        again.claim();
        String text = refused(killed::check);
        assertTrue(text.contains("host again has adopted"), text);
        again.check();
        assertEquals(10, again.nextOffset());
    }

    @Test
    void whatTheFormerShipperStoresUpToTheClaimIsKept() throws IOException {
        Shipment lost = lost();
        ship(lost, source, 10);
        PartitionAdoption adoption = adoption("new", new Directory());
        ship(lost, source, 20);
        adoption.claim();
        assertEquals(20, adoption.nextOffset());
        source.pushTo(30);
        lost.collect();
        String text = refused(lost::store);
        assertTrue(text.contains("from offset 20 on"), text);
        assertEquals(20, source.committedOffset());
        adoption.check();
    }

    @Test
    void aDirectoryWithoutItsLinkIsRefusedToo() throws IOException {
        ship(lost(), source, 10);
        adoption("new", new Directory()).claim();
        source.forget();
        String text = refused(this::lost);
        assertTrue(text.contains("host new has adopted"), text);
    }

    @Test
    void aGapAtTheEndIsNotUsedAgain() throws IOException {
        ship(lost(), source, 10);
        Archive archive = Archive.open(files());
        ship(lost(), source, 20);
        for (Path each : runs()) {
            if (each.getFileName().toString().startsWith(String.format("%019d", 10))) {
                Files.delete(each);
            }
        }
        assertEquals(10, endOffset(archive));
        files().create("data/00000/000000000000/0000000000000000010-0000000000000000020-2-dropped.gap", out -> {});
        PartitionAdoption adoption = adoption("new", new Directory());
        adoption.claim();
        assertEquals(20, adoption.nextOffset());
    }

    private static long endOffset(Archive archive) throws IOException {
        RunList runs = archive.runs(0);
        runs.refresh();
        return runs.endOffset();
    }

    private List<Path> runs() throws IOException {
        try (Stream<Path> all = Files.walk(temp.resolve("archive"))) {
            return all.filter(each -> each.toString().endsWith(".run")).toList();
        }
    }

    @Test
    void aNewestRunThatIsReplacedBeforeItIsReadIsNoError() throws IOException {
        Shipment lost = lost();
        ship(lost, source, 10);
        ship(lost, source, 20);
        FailingFiles merging = new FailingFiles(files()) {
            private boolean isMerged;

            @Override
            public Input open(String name) throws IOException {
                if (name.endsWith(".run") && !isMerged) {
                    isMerged = true;
                    List<RunName> all = List.of(source.run(0, 10), source.run(10, 20));
                    RunMerger.merge(files(), 0, source.queueId(), all, ArchiveCodec.NONE, () -> false, () -> {});
                    for (RunName each : all) {
                        files().delete(each.file(0));
                    }
                }
                return super.open(name);
            }
        };
        PartitionAdoption adoption = Archive.open(merging).adoption(0, "new", new Directory());
        adoption.claim();
        assertEquals(20, adoption.nextOffset());
    }

    @Test
    void timestampsContinueAfterThoseOfTheArchive() throws IOException {
        Instant ahead = Instant.now().plus(1, ChronoUnit.DAYS).truncatedTo(ChronoUnit.MILLIS);
        source.stamp(ChronoUnit.MICROS.between(Instant.EPOCH, ahead)); // the clock of the lost host was fast
        Shipment lost = lost();
        ship(lost, source, 10);
        source.stamp(0); // then it was opened without timestamps
        ship(lost, source, 20);
        QueueConfig config = QueueConfig.builder(temp.resolve("new"))
                .archiveUri(temp.resolve("archive").toUri())
                .build();
        assertEquals(20, MmapQueue.adopt(config, 0));
        for (int i = 0; i < 2; i++) { // also after the next open
            try (MmapQueue queue = MmapQueue.open(config)) {
                long offset = queue.push("a".getBytes(UTF_8));
                assertEquals(20 + i, offset);
                assertEquals(ahead, queue.get(offset).timestamp().orElseThrow());
            }
        }
    }
}
