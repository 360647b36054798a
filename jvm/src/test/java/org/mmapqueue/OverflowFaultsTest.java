package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.RunList;
import org.mmapqueue.archive.files.LocalFiles;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.consume.ReadAhead;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.UnackedLimitException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.meta.ConsumerImage;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Waiting;
import org.mmapqueue.tool.copy.Copier;
import org.mmapqueue.tool.copy.RingSize;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.ConsumerState;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.verify.Verifier;

/** A consumer behind its ring, while the archive is away, hangs, is damaged, or is another one. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OverflowFaultsTest extends OverflowSetup {
    /** The file of the run that holds a record. */
    private record Run(RunName name, Path file) {}

    private Run run(long offset) throws IOException {
        try (Archive open = Archive.open(new LocalFiles(archive()))) {
            RunList list = open.runs(0);
            list.refresh();
            RunName name = list.cover(offset, offset + 1).get(0);
            for (RunName other : list.all()) {
                if (!other.equals(name) && other.first() >= name.first() && other.end() <= name.end()) {
                    Files.delete(archive().resolve(other.file(0))); // it would replace the one that is damaged
                }
            }
            return new Run(name, archive().resolve(name.file(0)));
        }
    }

    // ---- the archive is away

    @ParameterizedTest
    @ValueSource(strings = {"away", "other", "unnamed"})
    void aConsumerWaitsForTheRightArchiveAndGoesOn(String what) throws Exception {
        fill();
        Path properties = archive().resolve("archive.properties");
        byte[] identity = Files.readAllBytes(properties);
        switch (what) {
            case "away" -> hide();
            case "unnamed" -> Files.delete(properties);
            default -> {
                hide();
                Archive.create(new LocalFiles(archive())).close();
            }
        }
        try (MmapQueue queue = MmapQueue.open(readOnly().build())) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            for (int i = 0; i < 2; i++) {
                assertNames(assertThrows(MmapQueueException.class, () -> consumer.pop(SHORT)), "record 0", archive());
                assertNames(assertThrows(MmapQueueException.class, consumer::poll), "record 0", archive());
                assertNames(assertThrows(MmapQueueException.class, consumer::peek), "record 0", archive());
            }
            MmapQueueException unread = assertThrows(MmapQueueException.class, () -> queue.get(0));
            assertNames(unread, "record 0", archive());
            assertFalse(unread.getMessage().contains("java."), unread.getMessage());
            Waiting.Running<Message> waiting = Waiting.start(() -> consumer.pop(LONG));
            CompletableFuture<Message> later = consumer.popAsync();
            if (what.equals("unnamed")) {
                Files.write(properties, identity);
            } else {
                if (what.equals("other")) {
                    Files.move(archive(), temp.resolve("wrong"));
                }
                restore();
            }
            Set<Long> first = new TreeSet<>();
            first.add(waiting.result().offset());
            first.add(later.get().offset());
            assertEquals(Set.of(0L, 1L), first);
            consumer.ackUpTo(1);
            checkAll(consumer, 2, MANY);
            assertNull(consumer.poll());
        }
    }

    @Test
    void anArchiveThatGoesAwayWhileItIsReadLosesNothing() throws Exception {
        int many = 6000; // more than a consumer loads ahead
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            Consumer consumer = queue.consumer("late", StartAt.EARLIEST);
            push(queue, 0, many);
            checkAll(consumer, 0, 10);
            RecordReader reader = queue.reader(0, many);
            assertEquals(1, reader.read(1, 1, (offset, timestamp, data) -> assertEquals(0, offset)));
            hide();
            long next = 10;
            MmapQueueException failure = null;
            while (failure == null && next < many) {
                try {
                    Message message = consumer.pop(SHORT);
                    consumer.ack(check(message, next, 1));
                    next++;
                } catch (MmapQueueException e) {
                    failure = e;
                }
            }
            assertNotNull(failure);
            assertNames(failure, "record " + next, archive());
            long committed = next;
            assertEquals(committed, consumer.committedOffset());
            // The reader goes on in what it has open, and never beyond.
            long[] read = {1};
            MmapQueueException unread = assertThrows(MmapQueueException.class, () -> {
                while (reader.read(7, 5000, (offset, timestamp, data) -> assertEquals(read[0]++, offset)) > 0) {}
            });
            assertNames(unread, "record " + read[0], archive());
            // Producers fill the ring, and then learn why.
            FullException full = assertThrows(FullException.class, () -> {
                for (int i = many; i < 2 * many; i++) {
                    queue.push(payload(i));
                }
            });
            assertNames(full, archive());
            long end = queue.endOffset();
            Waiting.Running<Long> pushing = Waiting.start(() -> queue.push(payload(end), LONG));
            restore();
            assertEquals(end, pushing.result());
            checkAll(consumer, committed, end + 1);
            assertNull(consumer.poll());
            while (reader.offset() < many) {
                reader.read(7, 5000, (offset, timestamp, data) -> assertEquals(read[0]++, offset));
            }
            reader.close();
        }
    }

    @Test
    void anotherArchiveInItsPlaceWhileItIsReadLosesNothing() throws Exception {
        int many = 16_000; // more than a consumer loads ahead, and a file has
        fill(many);
        try (MmapQueue queue = MmapQueue.open(readOnly().onDamage("skip").build())) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            checkAll(consumer, 0, 10);
            Path wrong = temp.resolve("wrong");
            QueueConfig.Builder elsewhere = QueueConfig.builder(temp.resolve("other"))
                    .segmentSize(1 << 20)
                    .queueCapacitySegments(16)
                    .maxInMemSegments(16)
                    .archiveUri(wrong.toUri());
            try (MmapQueue other = MmapQueue.open(elsewhere.build())) {
                push(other, 0, many);
                assertTrue(other.awaitShipped(many - 1, LONG));
            }
            hide();
            Files.move(wrong, archive());
            long next = 10;
            MmapQueueException failure = null;
            while (failure == null && next < many) {
                try {
                    consumer.ack(check(consumer.pop(SHORT), next, 1));
                    next++;
                } catch (MmapQueueException e) {
                    failure = e;
                }
            }
            assertNotNull(failure);
            assertNames(failure, "record " + next, "is the archive");
            long wanted = next;
            assertNames(assertThrows(MmapQueueException.class, () -> queue.get(wanted)), "is the archive");
            Files.move(archive(), wrong);
            restore();
            checkAll(consumer, next, many);
            assertEquals(List.of(), consumer.damagedRanges());
        }
    }

    // ---- damage

    private enum Damage {
        FLIPPED,
        TRUNCATED,
        DELETED;

        void make(Path file) throws IOException {
            switch (this) {
                case FLIPPED -> {
                    byte[] bytes = Files.readAllBytes(file);
                    bytes[bytes.length / 2] ^= 1;
                    Files.write(file, bytes);
                }
                case TRUNCATED -> Files.write(file, Arrays.copyOf(Files.readAllBytes(file), 100));
                default -> Files.delete(file);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Damage.class)
    void damageIsAnErrorUntilItIsMended(Damage damage) throws Exception {
        fill();
        Run run = run(300);
        byte[] intact = Files.readAllBytes(run.file());
        damage.make(run.file());
        String named =
                damage == Damage.DELETED ? "" + run.name().first() : run.name().toString();
        try (MmapQueue queue = MmapQueue.open(readOnly().build())) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            long next = 0;
            MmapQueueException failure = null;
            while (failure == null && next < MANY) {
                try {
                    consumer.ack(check(consumer.pop(LONG), next, 1));
                    next++;
                } catch (MmapQueueException e) {
                    failure = e;
                }
            }
            long stop = next;
            assertTrue(run.name().first() <= stop && stop < run.name().end(), "record " + stop);
            assertTrue(failure instanceof CorruptException || failure instanceof ArchiveException, "" + failure);
            assertNames(failure, named);
            for (int i = 0; i < 2; i++) {
                assertNames(assertThrows(MmapQueueException.class, consumer::poll), named);
                assertNames(assertThrows(MmapQueueException.class, () -> consumer.pop(LONG)), named);
                assertNames(assertThrows(MmapQueueException.class, () -> consumer.pollBatch(10, 1000)), named);
                assertEquals(stop, consumer.committedOffset());
                assertEquals(stop, consumer.readOffset());
            }
            assertNames(assertThrows(MmapQueueException.class, () -> queue.get(stop)), named);
            try (RecordReader reader = queue.reader(stop - 1, MANY)) {
                assertEquals(1, reader.read(100, 1 << 20, (offset, timestamp, data) -> {}));
                for (int i = 0; i < 2; i++) {
                    assertNames(
                            assertThrows(
                                    MmapQueueException.class,
                                    () -> reader.read(100, 1 << 20, (offset, timestamp, data) -> {})),
                            named);
                    assertEquals(stop, reader.offset());
                }
            }
            Files.write(run.file(), intact);
            check(queue.get(stop), stop, 0);
            Waiting.until("the mended file is read", () -> {
                try {
                    consumer.ack(check(consumer.poll(), stop, 1));
                    return true;
                } catch (MmapQueueException e) {
                    return false;
                }
            });
            checkAll(consumer, stop + 1, MANY);
        }
    }

    private static Set<Long> offsets(List<DamagedRange> ranges) {
        Set<Long> all = new TreeSet<>();
        for (DamagedRange each : ranges) {
            LongStream.rangeClosed(each.firstOffset(), each.lastOffset())
                    .forEach(offset -> assertTrue(all.add(offset), "record " + offset + " is lost twice"));
        }
        return all;
    }

    @ParameterizedTest
    @EnumSource(Damage.class)
    void damageThatIsSkippedIsNamedExactly(Damage damage) throws Exception {
        fill();
        Run run = run(300);
        damage.make(run.file());
        Set<Long> lost = new TreeSet<>();
        try (MmapQueue queue = MmapQueue.open(readOnly().onDamage("skip").build())) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            Set<Long> found = new TreeSet<>();
            long last = -1;
            while (last < MANY - 1) {
                Message message = consumer.pop(LONG);
                assertTrue(message.offset() > last, "record " + message.offset() + " after " + last);
                last = message.offset();
                check(message, last, 1);
                found.add(last);
                consumer.ack(message);
            }
            assertNull(consumer.poll());
            assertEquals(MANY, consumer.committedOffset());
            lost.addAll(offsets(consumer.damagedRanges()));
            LongStream.range(0, MANY)
                    .forEach(
                            offset -> assertEquals(!lost.contains(offset), found.contains(offset), "record " + offset));
            assertFalse(lost.isEmpty());
            assertTrue(lost.stream()
                    .allMatch(each ->
                            each >= run.name().first() && each < run.name().end()));
            assertTrue(damage == Damage.FLIPPED || lost.size() == run.name().count());
        }
        try (MmapQueue queue = MmapQueue.openToRead(temp.resolve("queue"));
                RecordReader reader = queue.reader(0, MANY, true)) {
            long[] next = {0};
            while (reader.offset() < MANY) {
                reader.read(7, 5000, (offset, timestamp, data) -> {
                    while (lost.contains(next[0])) {
                        next[0]++;
                    }
                    assertEquals(next[0]++, offset);
                    assertArrayEquals(payload(offset), data);
                });
            }
            assertEquals(lost.size(), reader.damagedRecords());
            if (damage != Damage.DELETED) {
                assertEquals(lost, offsets(reader.damagedRanges()));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aNackedRecordWhoseFileIsDamagedMeanwhileIsLostAlone(boolean skips) throws Exception {
        int many = 8000; // the chunk of the record is forgotten long before the last one
        fill(many);
        try (MmapQueue queue =
                MmapQueue.open(readOnly().onDamage(skips ? "skip" : "error").build())) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            checkAll(consumer, 0, 300);
            for (int i = 300; i < 7500; i++) {
                check(consumer.pop(LONG), i, 1);
            }
            Run run = run(300);
            byte[] intact = Files.readAllBytes(run.file());
            Damage.TRUNCATED.make(run.file());
            consumer.nack(300);
            if (skips) {
                check(consumer.pop(LONG), 7500, 1);
                assertEquals(Set.of(300L), offsets(consumer.damagedRanges()));
                assertTrue(consumer.damagedRanges().get(0).file().endsWith("" + run.name()));
            } else {
                for (int i = 0; i < 2; i++) {
                    assertNames(assertThrows(CorruptException.class, () -> consumer.pop(LONG)), run.name());
                    assertEquals(300, consumer.committedOffset());
                    assertEquals(7500, consumer.readOffset());
                }
                Files.write(run.file(), intact);
                Waiting.until("the mended file is read", () -> {
                    try {
                        check(consumer.poll(), 300, 2);
                        return true;
                    } catch (CorruptException e) {
                        return false;
                    }
                });
                check(consumer.pop(LONG), 7500, 1);
            }
            consumer.ackUpTo(7500);
            checkAll(consumer, 7501, many);
            assertEquals(many, consumer.committedOffset());
        }
    }

    @Test
    void filesThatWereDeletedAtTheFrontAreDropped() throws Exception {
        fill();
        Run kept = run(400);
        try (Archive open = Archive.open(new LocalFiles(archive()))) {
            RunList list = open.runs(0);
            list.refresh();
            for (RunName each : list.all()) {
                if (each.first() < kept.name().first()) {
                    Files.delete(archive().resolve(each.file(0)));
                }
            }
        }
        try (MmapQueue queue = MmapQueue.openToRead(temp.resolve("queue"))) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            DroppedException dropped = assertThrows(DroppedException.class, () -> consumer.pop(LONG));
            assertEquals(0, dropped.first());
            assertEquals(kept.name().first() - 1, dropped.last());
            assertEquals(kept.name().first(), consumer.committedOffset());
            checkAll(consumer, kept.name().first(), MANY);
        }
    }

    // ---- an archive that hangs

    /** A run that hangs when it is opened, until its content is back. */
    private final class Hanging {
        private final Path pipe = temp.resolve("pipe");
        private final Path kept = temp.resolve("kept");
        private final Path file;

        Hanging(long offset) throws Exception {
            file = run(offset).file();
            assertEquals(
                    0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
            Files.move(file, kept);
            Files.createLink(file, pipe);
        }

        void answer() throws IOException {
            Files.delete(file);
            Files.move(kept, file);
            release();
        }

        // An open to write returns when the other side has opened it to read.
        void release() throws IOException {
            FileChannel.open(pipe, StandardOpenOption.READ, StandardOpenOption.WRITE)
                    .close();
        }
    }

    private static void untilItHangs() {
        Waiting.until(
                "the archive hangs",
                () -> Thread.getAllStackTraces().entrySet().stream()
                        .anyMatch(each -> each.getKey().getName().endsWith("-late-older")
                                && Stream.of(each.getValue())
                                        .anyMatch(frame -> frame.getMethodName().equals("open0"))));
    }

    @Test
    void whileTheArchiveHangsAllElseOfTheConsumerAnswers() throws Exception {
        fill();
        Run first = run(0);
        long hangsAt = first.name().end();
        Hanging hanging = new Hanging(hangsAt);
        try (MmapQueue queue = MmapQueue.openToRead(temp.resolve("queue"))) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            consumer.seek(StartAt.offset(MANY - 1));
            check(consumer.pop(LONG), MANY - 1, 1);
            consumer.seek(StartAt.offset(0));
            Waiting.Running<Message> waiting = Waiting.start(() -> consumer.pop(LONG));
            untilItHangs();
            assertEquals(0, consumer.committedOffset());
            assertEquals(MANY, consumer.lag());
            assertEquals(0, consumer.unacked());
            assertTrue(queue.consumerStats().stream()
                    .anyMatch(each -> each.name().equals("late") && each.archivedRecords() > 0));
            assertFalse(waiting.isDone());
            hanging.answer();
            check(waiting.result(), 0, 1);
            consumer.ack(0);
            checkAll(consumer, 1, MANY);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"consumer", "queue", "delete", "seek", "interrupt"})
    void aPopThatHangsEndsWithItsConsumer(String how) throws Exception {
        fill();
        Hanging hanging = new Hanging(0);
        MmapQueue queue = MmapQueue.openToRead(temp.resolve("queue"));
        try {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            Waiting.Running<Message> waiting = Waiting.start(() -> consumer.pop(Duration.ofDays(1)));
            untilItHangs();
            Waiting.until("the pop waits", () -> Waiting.isIn(waiting.thread(), ReadAhead.class, "awaitNanos"));
            switch (how) {
                case "consumer" -> consumer.close();
                case "queue" -> queue.close();
                case "delete" -> queue.deleteConsumer("late");
                case "seek" -> consumer.seek(StartAt.offset(MANY - 1));
                default -> waiting.thread().interrupt();
            }
            switch (how) {
                case "seek" -> check(waiting.result(), MANY - 1, 1);
                case "interrupt" -> assertThrows(InterruptedException.class, waiting::result);
                default -> assertThrows(ClosedException.class, waiting::result);
            }
        } finally {
            hanging.release();
            queue.close();
        }
    }

    @Test
    void aStartInAnArchiveThatHangsKeepsNoOtherConsumerWaiting() throws Exception {
        fill();
        Hanging hanging = new Hanging(0);
        try (MmapQueue queue = MmapQueue.openToRead(temp.resolve("queue"))) {
            StartAt earliest = StartAt.timestamp(Instant.EPOCH.plusMillis(1));
            Waiting.Running<Consumer> waiting = Waiting.start(() -> queue.consumer("new", earliest));
            Waiting.until(
                    "the archive hangs",
                    () -> Stream.of(waiting.thread().getStackTrace())
                            .anyMatch(frame -> frame.getMethodName().equals("open0")));
            queue.consumer("other", StartAt.EARLIEST).close();
            queue.createConsumer("third", StartAt.LATEST);
            assertFalse(waiting.isDone());
            hanging.answer();
            assertThrows(CorruptException.class, waiting::result); // what hangs here has no bytes
            assertFalse(queue.consumers().contains("new"));
            check(queue.consumer("new", earliest).pop(LONG), 0, 1);
        }
    }

    // ---- delivery

    @Test
    void leasesDelaysAndDeadLettersReachRecordsOfTheArchive() throws Exception {
        fill();
        Path dead = temp.resolve("dead");
        try (MmapQueue queue = MmapQueue.open(plain().visibilityTimeout(Duration.ofMillis(100))
                .maxAttempts(2)
                .deadLetterDir(dead)
                .build())) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            check(consumer.pop(LONG), 0, 1);
            check(consumer.pop(LONG), 1, 1);
            consumer.ack(1);
            List<Message> again = new ArrayList<>();
            Waiting.until("the lease of record 0 ends", () -> {
                Message message = consumer.poll();
                if (message.offset() == 0) {
                    check(message, 0, 2);
                    return true;
                }
                again.add(message);
                consumer.ack(message);
                return false;
            });
            consumer.nack(0, Duration.ofMillis(1));
            try (MmapQueue letters = MmapQueue.openToRead(dead)) {
                Waiting.until("record 0 is dead", () -> letters.endOffset() == 1);
                assertArrayEquals(payload(0), letters.get(0).data());
            }
            Waiting.until("record 0 is acked", () -> consumer.committedOffset() == again.size() + 2);
        }
    }

    @Test
    void theLimitOfUnackedRecordsHoldsBehindTheRing() throws Exception {
        fill();
        try (MmapQueue queue = MmapQueue.open(readOnly().maxUnacked(10).build())) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            for (int i = 0; i < 10; i++) {
                check(consumer.pop(LONG), i, 1);
            }
            assertThrows(UnackedLimitException.class, consumer::poll);
            assertThrows(UnackedLimitException.class, () -> consumer.pop(SHORT));
            consumer.nack(3, Duration.ofMillis(20));
            check(consumer.pop(LONG), 3, 2);
            consumer.ackUpTo(9);
            List<CompletableFuture<Message>> later = new ArrayList<>();
            for (int i = 10; i < 15; i++) {
                later.add(consumer.popAsync());
            }
            for (int i = 10; i < 15; i++) {
                check(later.get(i - 10).get(), i, 1);
            }
            consumer.ackUpTo(14);
            checkAll(consumer, 15, MANY);
        }
    }

    @Test
    void recordsLargerThanAChunkAndEmptyOnesAreReadInTheArchive() throws Exception {
        int count = 60;
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(2 << 20)
                .queueCapacitySegments(4)
                .maxEventSize(1 << 20)
                .flushPeriod(Duration.ofMillis(5))
                .archiveUri(archive().toUri())
                .shipPeriod(Duration.ofMillis(5))
                .overflow("archive")
                .build())) {
            Consumer consumer = queue.consumer("late", StartAt.EARLIEST);
            for (int i = 0; i < count; i++) {
                queue.push(large(i), LONG);
            }
            assertTrue(queue.firstOffset() > 10);
            for (int i = 0; i < count; i++) {
                Message message = consumer.pop(LONG);
                assertEquals(i, message.offset());
                assertArrayEquals(large(i), message.data());
                consumer.ack(message);
            }
            assertNull(consumer.poll());
        }
    }

    private static byte[] large(int number) {
        byte[] data = new byte[number % 3 == 0 ? 0 : 900_000 - number];
        Arrays.fill(data, (byte) number);
        return data;
    }

    // ---- other openings, and tools

    @Test
    void aWriterWithoutAnArchiveLeavesItsConsumersThere() throws Exception {
        fill();
        int end = MANY;
        try (MmapQueue queue = MmapQueue.open(plain().build())) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            checkAll(consumer, 0, 10);
            queue.push(payload(end));
            end++;
        }
        assertNames(
                assertThrows(MmapQueueException.class, () -> MmapQueue.leaveArchive(temp.resolve("queue"))), "late");
        try (MmapQueue queue = MmapQueue.openToRead(temp.resolve("queue"))) {
            checkAll(queue.consumer("late", StartAt.COMMITTED), 10, end);
        }
        assertTrue(MmapQueue.leaveArchive(temp.resolve("queue")));
        assertFalse(Files.exists(temp.resolve("queue/overflow.uri")));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 5})
    void aPurgeMovesAConsumerOutOfTheArchive(int popped) throws Exception {
        fill();
        try (MmapQueue queue = MmapQueue.open(plain().build())) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            for (int i = 0; i < popped; i++) {
                check(consumer.pop(LONG), i, 1);
            }
            assertEquals(MANY, queue.purge());
            assertEquals(MANY, consumer.committedOffset());
            assertNull(consumer.poll());
            queue.push(payload(MANY));
            checkAll(consumer, MANY, MANY + 1);
        }
        try (MmapQueue queue = MmapQueue.open(plain().build())) {
            assertNull(queue.consumer("late", StartAt.COMMITTED).poll());
        }
    }

    @Test
    void aRepairedQueueAndACopyHaveTheirConsumersBehind() throws Exception {
        fill();
        Path directory = temp.resolve("queue");
        try (MmapQueue queue = MmapQueue.openToRead(directory)) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            checkAll(consumer, 0, 3);
            check(consumer.pop(LONG), 3, 1);
            check(consumer.pop(LONG), 4, 1);
            consumer.ack(4);
        }
        VerifyReport report = Verifier.verify(directory, Progress.NONE);
        assertEquals(List.of(), report.findings());
        assertEquals(
                List.of(3L),
                report.consumers().stream()
                        .filter(each -> each.name().equals("late"))
                        .map(ConsumerState::offset)
                        .toList());
        Repairer.repairInPlace(directory, false, Progress.NONE);
        try (MmapQueue queue = MmapQueue.openToRead(directory)) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            assertEquals(3, consumer.committedOffset());
        }
        Path repaired = temp.resolve("repaired");
        Repairer.repair(directory, repaired, false, Progress.NONE);
        Path copy = temp.resolve("copy");
        Copier.copy(directory, copy, new RingSize(4096L * 20, 4096), Progress.NONE);
        for (Path each : List.of(repaired, copy)) {
            try (MmapQueue queue = MmapQueue.openToRead(each)) {
                Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
                assertEquals(3, consumer.pop(LONG).offset());
                consumer.ack(3);
                consumer.ackUpTo(consumer.pop(LONG).offset()); // 5, as 4 is acked, or 4 again
                checkAll(consumer, consumer.committedOffset(), MANY);
            }
            try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(each)
                    .archiveUri(archive().toUri())
                    .overflow("archive")
                    .build())) {
                Waiting.until(
                        "the archive refuses the copy",
                        () -> queue.shipStats().orElseThrow().hasEnded());
                assertTrue(
                        queue.shipStats().orElseThrow().failure().orElseThrow().contains("another directory"));
            }
        }
        Copier.resize(directory, new RingSize(4096L * 20, 4096), Progress.NONE);
        try (MmapQueue queue = MmapQueue.openToRead(directory)) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            assertEquals(3, consumer.committedOffset());
            assertEquals(3, consumer.pop(LONG).offset());
            consumer.ack(3);
            Message next = consumer.pop(LONG);
            consumer.ackUpTo(next.offset());
            checkAll(consumer, next.offset() + 1, MANY);
        }
    }

    /** No record ends at the position from which the consumer is to read in the ring again. */
    @Test
    void aRepairLeavesAConsumerInTheArchive() throws Exception {
        fill();
        Path page = directory().resolve("consumers/late.dat");
        ConsumerImage image = ConsumerImage.read(DiskStorage.INSTANCE, page);
        assertTrue(image.isDropped());
        image.put(ConsumerImage.Word.DROPPED, image.get(ConsumerImage.Word.DROPPED) + Long.BYTES);
        image.write(DiskStorage.INSTANCE, page);
        List<String> actions =
                Repairer.repairInPlace(directory(), false, Progress.NONE).actions();
        assertTrue(
                actions.stream().anyMatch(each -> each.startsWith("consumer late continues in the archive")),
                actions.toString());
        try (MmapQueue queue = MmapQueue.openToRead(directory())) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            assertEquals(0, consumer.committedOffset());
            checkAll(consumer, 0, MANY);
        }
    }

    @Test
    void whatIsInFlightBehindTheRingSurvivesAKill() throws Exception {
        fill();
        Path killed = temp.resolve("killed");
        try (MmapQueue queue = MmapQueue.open(plain().build())) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            for (int i = 0; i < 10; i++) {
                check(consumer.pop(LONG), i, 1);
            }
            consumer.ack(new long[] {0, 3, 5});
            consumer.nack(7);
            check(consumer.pop(LONG), 7, 2);
            queue.flush();
            Directories.copy(directory(), killed);
        }
        try (MmapQueue queue = MmapQueue.openToRead(killed)) {
            Consumer consumer = queue.consumer("late", StartAt.COMMITTED);
            assertEquals(1, consumer.committedOffset());
            for (int offset : new int[] {1, 2, 4, 6, 7, 8, 9}) {
                check(consumer.pop(LONG), offset, offset == 7 ? 3 : 2);
            }
            consumer.ackUpTo(9);
            checkAll(consumer, 10, MANY);
        }
    }
}
