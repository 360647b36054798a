package org.mmapqueue.archive;

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
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.LocalFiles;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.support.Waiting;

/** The thread of a shipper. */
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
    void itRepeatsUntilTheArchiveIsBack() throws Exception {
        FailingFiles files = files();
        AtomicInteger calls = new AtomicInteger();
        files.fail(() -> calls.incrementAndGet() > 0, () -> false);
        try (Shipper shipper = shipper(files)) {
            source.pushTo(10);
            Waiting.until("some failures", () -> shipper.stats().failures() >= 2);
            assertEquals(
                    Optional.of("java.io.IOException: failed by the test"),
                    shipper.stats().failure());
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
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord entry) {
                Shipper ending = shipper.get();
                seen.add((ending.failure() != null) == ending.stats().hasEnded());
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        Logger logger = Logger.getLogger(Shipper.class.getName());
        Level level = logger.getLevel();
        logger.addHandler(handler);
        logger.setLevel(Level.SEVERE);
        try (Shipper first = shipper(files())) {
            source.pushTo(10);
            Waiting.until("the records are acked", () -> source.committedOffset() == 10);
            assertFalse(first.stats().hasEnded());
        }
        ShipOptions options =
                new ShipOptions("there", Duration.ofMillis(10), 1 << 20, ArchiveCodec.NONE, Duration.ZERO);
        FailingFiles files = files();
        try (Shipper other = new Shipper("/queues/one", source, files.uri(), () -> files, options)) {
            shipper.set(other);
            other.start();
            Waiting.until("it has ended", () -> other.stats().hasEnded());
            assertTrue(String.valueOf(other.failure()).contains("host here"), String.valueOf(other.failure()));
            assertEquals(List.of(true), seen); // while the error was logged
        } finally {
            logger.removeHandler(handler);
            logger.setLevel(level);
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
}
