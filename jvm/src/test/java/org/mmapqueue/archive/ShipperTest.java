package org.mmapqueue.archive;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.LocalFiles;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.support.Appender;
import org.mmapqueue.support.Waiting;

/** The thread of a shipper. */
@Tag("slow")
class ShipperTest {
    @TempDir
    private Path temp;

    private final MemorySource source = new MemorySource();

    private FailingFiles files() {
        return new FailingFiles(new LocalFiles(temp.resolve("archive")));
    }

    private Shipper shipper(ArchiveFiles files, Duration period, int bytes, String host) {
        Shipper shipper = new Shipper(
                "/queues/one",
                source,
                files.uri(),
                () -> files,
                new ShipOptions(host, period, bytes, ArchiveCodec.NONE, Duration.ZERO));
        shipper.start();
        return shipper;
    }

    private Shipper shipper(ArchiveFiles files) {
        return shipper(files, Duration.ofMillis(10), 1 << 20, "here");
    }

    private long archived() throws IOException {
        RunList runs = Archive.open(new LocalFiles(temp.resolve("archive"))).runs(0);
        runs.refresh();
        return runs.endOffset();
    }

    @Test
    void itShipsEachPeriod() throws Exception {
        try (Shipper shipper = shipper(files())) {
            for (int end = 10; end <= 50; end += 10) {
                long expected = end;
                source.pushTo(end);
                Waiting.until("the records are acked", () -> source.committedOffset() == expected);
            }
            assertEquals(50, archived());
            Waiting.until("the last run is counted", () -> shipper.stats().records() == 50);
            assertTrue(shipper.stats().runs() >= 5);
            assertTrue(shipper.stats().lastRun().isPresent());
        }
    }

    @Test
    void bytesEndThePeriod() throws Exception {
        try (Shipper shipper = shipper(files(), Duration.ofHours(1), 200, "here")) {
            source.pushTo(5);
            Waiting.until("the first run", () -> source.committedOffset() == 5);
            source.pushTo(100);
            Waiting.until("full runs", () -> source.committedOffset() >= 90);
            assertFalse(shipper.stats().hasEnded());
            shipper.close(Waiting.LONG);
        }
        assertEquals(100, archived()); // the end ships what is left
    }

    @Test
    void callersThatWaitDuringAStoreShareTheNextRun() throws Exception {
        CountDownLatch stores = new CountDownLatch(1);
        CountDownLatch answers = new CountDownLatch(1);
        FailingFiles files = new FailingFiles(new LocalFiles(temp.resolve("archive"))) {
            @Override
            public boolean create(String name, Content content) throws IOException {
                if (source.durableOffset() == 2 && name.endsWith(".run")) {
                    stores.countDown();
                    awaitIgnoringInterrupts(answers);
                }
                return super.create(name, content);
            }
        };
        try (Shipper shipper = shipper(files, Duration.ofHours(1), 1 << 20, "here")) {
            source.pushTo(1);
            Waiting.until("the first run", () -> source.committedOffset() == 1);
            source.pushTo(2);
            shipper.demand(2);
            Waiting.until("the second run is stored", () -> stores.getCount() == 0);
            source.pushTo(10);
            for (int end = 3; end <= 10; end++) {
                shipper.demand(end);
            }
            answers.countDown();
            Waiting.until("all are shipped", () -> source.committedOffset() == 10);
            Waiting.until("the last run is counted", () -> shipper.stats().records() == 10);
            assertEquals(3, shipper.stats().runs());
        }
    }

    @Test
    void itHoldsTwoRunsAtMost() throws Exception {
        FailingFiles files = files();
        try (Shipper shipper = shipper(files, Duration.ofHours(1), 200, "here")) {
            source.pushTo(1);
            Waiting.until("the first run", () -> source.committedOffset() == 1);
            files.fail(() -> true, () -> false);
            source.pushTo(100);
            Waiting.until("some failures", () -> shipper.stats().failures() >= 3);
            Waiting.until("a second run is collected", () -> source.reached() > 10);
            assertEquals(1, source.committedOffset());
            files.fail(() -> false, () -> false);
            Waiting.until("full runs", () -> source.committedOffset() >= 90);
            assertTrue(shipper.close(Waiting.LONG));
        }
        // The records have 24 or 32 bytes, so a run has 7 to 9 of them.
        assertTrue(source.mostAhead() <= 2 * 9, source.mostAhead() + " records");
        assertEquals(100, archived());
    }

    @Test
    void lostRecordsAreNotCountedAsShipped() throws Exception {
        source.lose(3);
        try (Shipper shipper = shipper(files())) {
            source.pushTo(10);
            Waiting.until("all are shipped", () -> source.committedOffset() == 10);
            assertEquals(9, shipper.stats().records());
        }
    }

    @Test
    void aReadThatFailsDuringAStoreEndsItAfterThatRun() throws Exception {
        source.failFrom(1);
        source.pushTo(100);
        try (Shipper shipper = shipper(files(), Duration.ofHours(1), 200, "here")) {
            Waiting.until("it has ended", () -> shipper.stats().hasEnded());
            assertEquals("failed by the test", String.valueOf(shipper.failure().getMessage()));
            assertEquals(1, shipper.stats().runs());
            assertEquals(shipper.stats().records(), source.committedOffset());
            assertEquals(source.committedOffset(), archived());
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 5, 12}) // in its own thread, before and after another record; while a run is stored
    void withoutMemoryItTriesAgain(long offset) throws Exception {
        source.failOnceAt(offset);
        source.pushTo(100);
        try (Shipper shipper = shipper(files(), Duration.ofMillis(10), 200, "here")) {
            Waiting.until("all are shipped", () -> source.committedOffset() == 100);
            Waiting.until("all are counted", () -> shipper.stats().records() == 100);
            assertEquals(1, shipper.stats().failures());
            assertFalse(shipper.stats().hasEnded());
        }
        List<String> found = new ArrayList<>();
        Archive archive = Archive.open(files());
        ArchivePartition partition = archive.partition(archive.partitions().get(0));
        partition.refresh();
        try (ArchiveReader reader = partition.reader(0, 100, false)) {
            while (reader.read(100, 1 << 20, (number, timestamp, data) -> found.add(new String(data, UTF_8))) > 0) {}
        }
        assertEquals(100, found.size());
        assertEquals("record " + offset, found.get((int) offset));
    }

    @Test
    void withoutMemoryAtTheAckItAcksLater() throws Exception {
        CountDownLatch fails = new CountDownLatch(1);
        MemorySource failing = new MemorySource() {
            @Override
            public void ack(long before) {
                if (before == 10 && fails.getCount() > 0) {
                    fails.countDown();
                    throw new OutOfMemoryError("by the test");
                }
                super.ack(before);
            }
        };
        failing.pushTo(10);
        try (Shipper shipper = new Shipper("/queues/one", failing, files().uri(), this::files, options())) {
            shipper.start();
            Waiting.until("all are shipped", () -> failing.committedOffset() == 10);
            assertEquals(0, fails.getCount());
            assertEquals(1, shipper.stats().runs());
        }
    }

    @Test
    void aDemandBeforeItsRecordIsDurableIsMetLater() throws Exception {
        try (Shipper shipper = shipper(files(), Duration.ofHours(1), 1 << 20, "here")) {
            source.pushTo(1);
            Waiting.until("the first run", () -> source.committedOffset() == 1);
            shipper.demand(5);
            source.pushTo(5);
            Waiting.until("the demanded records", () -> source.committedOffset() == 5);
        }
    }

    @Test
    void itRepeatsUntilTheArchiveIsBack() throws Exception {
        FailingFiles files = files();
        AtomicInteger calls = new AtomicInteger();
        files.fail(() -> calls.incrementAndGet() > 0, () -> false);
        try (Shipper shipper = shipper(files)) {
            source.pushTo(10);
            Waiting.until("some failures", () -> shipper.stats().failures() >= 2);
            assertEquals(Optional.of("failed by the test"), shipper.stats().failure());
            assertEquals(0, source.committedOffset());
            files.fail(() -> false, () -> false);
            Waiting.until("the records are shipped", () -> source.committedOffset() == 10);
            Waiting.until("a success", () -> shipper.stats().failure().isEmpty());
            files.fail(() -> true, () -> false);
            source.pushTo(20);
            Waiting.until("another failure", () -> shipper.stats().failure().isPresent());
            files.fail(() -> false, () -> false);
            Waiting.until("the others are shipped", () -> source.committedOffset() == 20);
        }
        assertEquals(20, archived());
    }

    @Test
    void itConnectsWhenTheFileSystemCanBeReached() throws Exception {
        AtomicInteger calls = new AtomicInteger();
        FailingFiles files = files();
        Shipper shipper = new Shipper(
                "/queues/one",
                source,
                files.uri(),
                () -> {
                    if (calls.incrementAndGet() < 4) {
                        throw new UncheckedIOException(new IOException("no route"));
                    }
                    return files;
                },
                new ShipOptions("here", Duration.ofMillis(10), 1 << 20, ArchiveCodec.NONE, Duration.ZERO));
        source.pushTo(10);
        shipper.start();
        Waiting.until("the records are shipped", () -> source.committedOffset() == 10);
        assertEquals(2, shipper.stats().failures());
        shipper.close();
    }

    @Test
    void aContradictionEndsItAndTheQueueKeepsItsRecords() throws Exception {
        try (Shipper first = shipper(files())) {
            source.pushTo(10);
            Waiting.until("the records are acked", () -> source.committedOffset() == 10);
            assertTrue(first.stats().hasBegun());
        }
        source.pushTo(20);
        try (Shipper other = shipper(files(), Duration.ofMillis(10), 1 << 20, "there")) {
            Waiting.until("it has ended", () -> other.stats().hasEnded());
            assertTrue(String.valueOf(other.failure()).contains("host here"), String.valueOf(other.failure()));
        }
        assertEquals(10, source.committedOffset());
        assertEquals(10, archived());
    }

    @Test
    void theEndAndItsCauseAppearTogether() throws Exception {
        AtomicReference<Shipper> shipper = new AtomicReference<>();
        List<Boolean> seen = Collections.synchronizedList(new ArrayList<>());
        try (Shipper first = shipper(files())) {
            source.pushTo(10);
            Waiting.until("the records are acked", () -> source.committedOffset() == 10);
            assertFalse(first.stats().hasEnded());
        }
        ShipOptions options =
                new ShipOptions("there", Duration.ofMillis(10), 1 << 20, ArchiveCodec.NONE, Duration.ZERO);
        FailingFiles files = files();
        Appender appender = Appender.of(Shipper.class, line -> {
            Shipper ending = shipper.get();
            seen.add((ending.failure() != null) == ending.stats().hasEnded());
        });
        try (appender;
                Shipper other = new Shipper("/queues/one", source, files.uri(), () -> files, options)) {
            shipper.set(other);
            other.start();
            Waiting.until("it has ended", () -> other.stats().hasEnded());
            assertTrue(String.valueOf(other.failure()).contains("host here"), String.valueOf(other.failure()));
            assertEquals(List.of(true), seen); // while the error was logged
        }
    }

    @Test
    void aCloseDoesNotWaitForAFileSystemThatHangs() throws Exception {
        CountDownLatch hangs = new CountDownLatch(1);
        CountDownLatch ends = new CountDownLatch(1);
        FailingFiles files = files();
        files.fail(
                () -> {
                    hangs.countDown();
                    boolean isOver = false;
                    while (!isOver) {
                        try {
                            ends.await();
                            isOver = true;
                        } catch (InterruptedException e) {
                            // as a file system that takes no notice
                        }
                    }
                    return true;
                },
                () -> false);
        Shipper shipper = shipper(files);
        hangs.await();
        shipper.close(Duration.ofMillis(20));
        assertEquals(0, source.committedOffset());
        ends.countDown();
    }

    private static List<Thread> threads(String queue) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(each -> each.getName().startsWith("mmapqueue-" + queue + "-"))
                .toList();
    }

    private static void awaitIgnoringInterrupts(CountDownLatch latch) {
        boolean isOver = false;
        while (!isOver) {
            try {
                latch.await();
                isOver = true;
            } catch (InterruptedException e) {
                // as a file system that takes no notice
            }
        }
    }

    private static ShipOptions options() {
        return new ShipOptions("here", Duration.ofMillis(1), 1 << 20, ArchiveCodec.NONE, Duration.ZERO);
    }

    @Test
    void aCloseBeforeTheFirstStepLeavesNoThread() {
        CountDownLatch connects = new CountDownLatch(1);
        CountDownLatch answers = new CountDownLatch(1);
        FailingFiles files = files();
        AtomicInteger calls = new AtomicInteger();
        Shipper shipper = new Shipper(
                "/queues/blocked",
                source,
                files.uri(),
                () -> {
                    if (calls.incrementAndGet() == 1) {
                        throw new UncheckedIOException(new IOException("no route"));
                    }
                    connects.countDown();
                    awaitIgnoringInterrupts(answers);
                    return files;
                },
                options());
        source.pushTo(10);
        shipper.start();
        Waiting.until("it connects", () -> connects.getCount() == 0);
        assertFalse(shipper.close(Duration.ofMillis(1)));
        CountDownLatch ended = new CountDownLatch(1);
        shipper.whenEnded(ended::countDown);
        assertEquals(1, ended.getCount());
        answers.countDown();
        Waiting.until("it has ended", () -> ended.getCount() == 0);
        Waiting.until("no thread is left", () -> threads("blocked").isEmpty());
    }

    @Test
    void itDoesNotStartAfterItsClose() {
        Shipper shipper = new Shipper("/queues/late", source, files().uri(), this::files, options());
        source.pushTo(10);
        shipper.close();
        shipper.start();
        assertEquals(List.of(), threads("late"));
        assertEquals(0, source.committedOffset());
    }

    // Ships so many runs that the upkeep has some to merge.
    private void shipSmallRuns() {
        for (int i = 0; i < 40; i++) {
            long end = source.durableOffset() + 1;
            source.pushTo(end);
            Waiting.until("a run is stored", () -> source.committedOffset() == end);
        }
    }

    @Test
    void aSlowMergeStoresNothingAfterTheClose() throws Exception {
        CountDownLatch merges = new CountDownLatch(1);
        CountDownLatch reads = new CountDownLatch(1);
        FailingFiles files = new FailingFiles(new LocalFiles(temp.resolve("archive"))) {
            @Override
            public Input open(String name) throws IOException {
                if (name.endsWith(".run")) {
                    merges.countDown();
                    awaitIgnoringInterrupts(reads);
                }
                return super.open(name);
            }
        };
        Shipper shipper = new Shipper("/queues/slow", source, files.uri(), () -> files, options());
        shipper.start();
        shipSmallRuns();
        Waiting.until("a merge has begun", () -> merges.getCount() == 0);
        List<RunName> before = allRuns();
        assertFalse(shipper.close(Duration.ofMillis(1)));
        CountDownLatch ended = new CountDownLatch(1);
        shipper.whenEnded(ended::countDown);
        reads.countDown();
        Waiting.until("it has ended", () -> ended.getCount() == 0);
        assertEquals(before, allRuns());
        assertEquals(List.of(), files.list(ArchiveFiles.TEMPORARY));
    }

    @Test
    void aMergeThatIsStoredDuringTheCloseKeepsItFromEnding() {
        CountDownLatch stores = new CountDownLatch(1);
        CountDownLatch answers = new CountDownLatch(1);
        FailingFiles files = new FailingFiles(new LocalFiles(temp.resolve("archive"))) {
            @Override
            public boolean create(String name, Content content) throws IOException {
                boolean isMerge = Thread.currentThread().getName().endsWith("-upkeep");
                if (isMerge) {
                    stores.countDown();
                    awaitIgnoringInterrupts(answers);
                }
                return super.create(name, content);
            }
        };
        Shipper shipper = new Shipper("/queues/storing", source, files.uri(), () -> files, options());
        shipper.start();
        shipSmallRuns();
        Waiting.until("a merge is stored", () -> stores.getCount() == 0);
        assertFalse(shipper.close(Duration.ofMillis(1)));
        assertFalse(threads("storing").isEmpty());
        answers.countDown();
        assertTrue(shipper.close(Waiting.LONG));
    }

    private List<RunName> allRuns() throws IOException {
        RunList runs = Archive.open(new LocalFiles(temp.resolve("archive"))).runs(0);
        runs.refresh();
        return runs.all();
    }

    @Test
    void aShipperThatRunsForAMomentCompacts() throws Exception {
        for (int i = 0; i < 40; i++) {
            source.pushTo(source.durableOffset() + 1);
            Shipper shipper = new Shipper("/queues/short", source, files().uri(), this::files, options());
            shipper.start();
            assertTrue(shipper.close(Waiting.LONG));
        }
        assertEquals(40, archived());
        List<RunName> runs = allRuns();
        assertTrue(runs.stream().anyMatch(run -> run.count() == CompactionPlan.FAN), runs.toString());
    }

    @Test
    void anInterruptOfItsThreadsIsSurvived() {
        FailingFiles files = files();
        try (Shipper shipper = new Shipper("/queues/shaken", source, files.uri(), () -> files, options())) {
            shipper.start();
            for (int i = 0; i < 100; i++) {
                long end = source.durableOffset() + 1;
                source.pushTo(end);
                threads("shaken").forEach(Thread::interrupt);
                Waiting.until("the record is shipped", () -> source.committedOffset() == end);
            }
            List<Thread> threads = threads("shaken");
            assertEquals(2, threads.size(), threads.toString());
            assertFalse(shipper.stats().hasEnded());
        }
    }

    private int numberOfRuns() {
        try {
            return new LocalFiles(temp.resolve("archive"))
                    .list(RunName.directory(0, 0))
                    .size();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private boolean hasMergedRun() {
        try {
            return allRuns().stream().anyMatch(run -> run.count() > 1);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void onAFullFileSystemReplacedRunsAreDeletedAtOnce() throws Exception {
        AtomicInteger most = new AtomicInteger(Integer.MAX_VALUE);
        FailingFiles files = new FailingFiles(new LocalFiles(temp.resolve("archive"))) {
            @Override
            public boolean create(String name, Content content) throws IOException {
                if (name.endsWith(".run") && numberOfRuns() >= most.get()) {
                    throw new IOException("No space left on device");
                }
                return super.create(name, content);
            }
        };
        try (Shipper shipper = new Shipper("/queues/full", source, files.uri(), () -> files, options())) {
            shipper.start();
            shipSmallRuns();
            Waiting.until("runs were merged", this::hasMergedRun);
            most.set(numberOfRuns() - 8); // all are kept for the grace period
            source.pushTo(1000);
            Waiting.until("the records are shipped", () -> source.committedOffset() == 1000);
        }
        assertEquals(1000, archived());
        assertTrue(numberOfRuns() <= most.get());
    }

    @Test
    void oldRunsAreDeletedThoughTheyCannotBeMerged() throws Exception {
        FailingFiles unreadable = new FailingFiles(new LocalFiles(temp.resolve("archive"))) {
            @Override
            public Input open(String name) throws IOException {
                if (name.endsWith(".run")) {
                    throw new IOException("failed by the test");
                }
                return super.open(name);
            }
        };
        source.stamp(1);
        try (Shipper shipper = new Shipper("/queues/old", source, unreadable.uri(), () -> unreadable, options())) {
            shipper.start();
            shipSmallRuns();
        }
        assertEquals(40, numberOfRuns());
        Duration retain = Duration.ofMillis(1);
        ShipOptions options = new ShipOptions("here", Duration.ofMillis(1), 1 << 20, ArchiveCodec.NONE, retain);
        try (Shipper shipper = new Shipper("/queues/old", source, unreadable.uri(), () -> unreadable, options)) {
            shipper.start();
            Waiting.until("old runs are deleted", () -> numberOfRuns() == 1);
            assertFalse(shipper.stats().hasEnded());
        }
    }

    @Test
    void theUpkeepOfAShipperThatHasFailedEndsToo() throws Exception {
        FailingFiles files = files();
        Shipper shipper = new Shipper("/queues/failed", source, files.uri(), () -> files, options());
        shipper.start();
        source.pushTo(3);
        Waiting.until("the records are acked", () -> source.committedOffset() == 3);
        source.failFrom(0);
        source.pushTo(5);
        Waiting.until("it has ended", () -> shipper.stats().hasEnded());
        Waiting.until("no thread is left", () -> threads("failed").isEmpty());
        shipper.close();
    }
}
