package org.mmapqueue.powerloss;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.Records;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.PowerLossStorage;
import org.mmapqueue.support.QuickDirectory;

/** A loss of power between two steps: durable records exist, no others, and the queue works. */
@Tag("long-form")
@Tag("slow")
@Timeout(600)
class PowerLossTest {
    private static final int RUNS = Integer.getInteger("power.runs", 25);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private int segment = 8192;
    private int capacity = 6;

    private PowerLossStorage storage;
    private Path directory;
    private QueueCore core;
    private final List<Reader> readers = new ArrayList<>();
    private long pushed;
    private long durable;

    /** A consumer and its expected state. */
    private static final class Reader {
        private final String name;
        private ConsumerCore consumer;
        /** The first record that is not acked. */
        private long acked;
        /** The same at the last flush: the acks before it are durable. */
        private long durablyAcked;

        Reader(String name) {
            this.name = name;
        }
    }

    private QueueConfig config(Path at) {
        return QueueConfig.builder(at)
                .segmentSize(segment)
                .queueCapacitySegments(capacity)
                .maxInMemSegments(6)
                .maxEventSize(12_000)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    private void open(boolean named) {
        storage = new PowerLossStorage();
        directory = temp.resolve("queue");
        core = Cores.open(config(directory), storage);
        readers.clear();
        readers.add(new Reader("default"));
        if (named) {
            readers.add(new Reader("named"));
        }
        for (Reader each : readers) {
            each.consumer = core.consumer(each.name, StartAt.EARLIEST);
        }
        pushed = 0;
        durable = 0;
    }

    private void close() {
        core.close();
        Directories.delete(directory);
    }

    private boolean push(int length) {
        byte[] payload = Payload.numbered(pushed, length);
        try {
            assertEquals(pushed, core.writer().push(payload, 0, payload.length));
        } catch (FullException e) {
            return false;
        }
        pushed++;
        return true;
    }

    private void pushBatch(SplittableRandom random) {
        List<byte[]> batch = new ArrayList<>();
        for (int i = 0; i < 2 + random.nextInt(5); i++) {
            batch.add(Payload.numbered(pushed + i, random.nextInt(3000)));
        }
        try {
            assertEquals(pushed, core.writer().push(Records.of(batch)));
            pushed += batch.size();
        } catch (FullException e) {
            assertTrue(pushed > 0);
        }
    }

    private void popAndAck(Reader reader, int records) {
        for (int i = 0; i < records && reader.acked < pushed; i++) {
            Message message = reader.consumer.poll();
            assertEquals(reader.acked, message.offset());
            core.ackUpTo(reader.consumer, reader.acked++);
        }
    }

    private void flush() {
        core.writer().flush();
        durable = pushed;
        readers.forEach(reader -> reader.durablyAcked = reader.acked);
    }

    private void sync() {
        core.writer().awaitDurable();
        durable = pushed;
    }

    private void step(SplittableRandom random) {
        switch (random.nextInt(24)) {
            case 0 -> flush();
            case 1 -> sync();
            case 2 -> storage.writeBack(directory, random);
            case 3, 4 -> core.writer().housekeeper().step();
            case 5, 6 -> pushBatch(random);
            case 7, 8, 9, 10 -> popAndAck(readers.get(random.nextInt(readers.size())), random.nextInt(12));
            default -> {
                if (!push(random.nextInt(random.nextInt(12) == 0 ? 12_000 : 1500))) {
                    readers.forEach(reader -> popAndAck(reader, random.nextInt(40)));
                }
            }
        }
    }

    /** Opens what is left, reads it, pushes a record, kills the queue and opens it again. */
    private void check(Path left) {
        Path killed = temp.resolve("killed");
        long end;
        try (MmapQueue queue = MmapQueue.open(config(left))) {
            end = queue.endOffset();
            assertTrue(end <= pushed, "records up to " + end + " of " + pushed);
            assertTrue(end >= durable, "durable up to " + durable + ", found up to " + end);
            for (Reader each : readers) {
                check(queue.consumer(each.name, StartAt.EARLIEST), each, end);
            }
            assertEquals(end, queue.push(Payload.numbered(end, 100)));
            Directories.copy(left, killed);
        }
        Directories.delete(left);
        try (MmapQueue queue = MmapQueue.open(config(killed))) {
            assertEquals(end + 1, queue.endOffset());
            for (Reader each : readers) {
                Payload.assertMessages(
                        end,
                        List.of(Payload.numbered(end, 100)),
                        Payload.drain(queue.consumer(each.name, StartAt.EARLIEST)));
            }
        }
        Directories.delete(killed);
    }

    private void check(Consumer consumer, Reader reader, long end) {
        long first = consumer.readOffset();
        String found = reader.name + " begins at " + first;
        assertTrue(first <= Math.min(reader.acked, end), found + ", acked " + reader.acked);
        assertTrue(first >= reader.durablyAcked, found + ", durably acked " + reader.durablyAcked);
        for (long expected = first; expected < end; expected++) {
            Message message = consumer.poll();
            assertEquals(expected, message.offset());
            assertEquals(expected, Payload.numberOf(message.data()));
        }
        assertNull(consumer.poll());
        if (end > first) {
            consumer.ackUpTo(end - 1); // makes room: acks that were not fsynced are lost
        }
    }

    @ParameterizedTest
    @CsvSource({"6, 8192, false", "6, 8192, true", "5, 4096, true", "400, 4096, false"})
    void anyPartOfUnsyncedDataMaySurvive(int segments, int size, boolean named) throws IOException {
        capacity = segments;
        segment = size;
        for (int run = 0; run < RUNS; run++) {
            SplittableRandom random = new SplittableRandom(run);
            open(named);
            int steps = 30 + random.nextInt(150);
            int percent = 0;
            try {
                for (int i = 0; i < steps; i++) {
                    step(random);
                    if (i % 40 == 39 || i == steps - 1) {
                        percent = new int[] {0, 10, 50, 90, 100}[random.nextInt(5)];
                        check(storage.lose(directory, temp.resolve("left"), random, percent));
                    }
                }
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("run " + run + ", " + percent + " percent", e);
            } finally {
                close();
            }
        }
    }

    @Test
    void aSecondLossDuringRecoveryLosesNoMore() throws IOException {
        for (int run = 0; run < RUNS; run++) {
            SplittableRandom random = new SplittableRandom(run);
            open(true);
            for (int i = 0; i < 100; i++) {
                step(random);
            }
            Path left = storage.lose(directory, temp.resolve("left"), random, 50);
            close();
            PowerLossStorage second = new PowerLossStorage();
            second.adopt(left);
            QueueCore recovered = Cores.open(config(left), second);
            Path again = second.lose(left, temp.resolve("again"), random, random.nextInt(101));
            recovered.close();
            Directories.delete(left);
            try {
                check(again);
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("run " + run, e);
            }
        }
    }

    @Test
    void aRecoveryFromAKillMakesRecordsDurable() throws IOException {
        for (int run = 0; run < RUNS; run++) {
            SplittableRandom random = new SplittableRandom(run);
            open(true);
            for (int i = 0; i < 80; i++) {
                step(random);
            }
            Path killed = Directories.copy(directory, temp.resolve("after-kill"));
            PowerLossStorage second = storage.killed(directory, killed);
            close();
            QueueCore recovered = Cores.open(config(killed), second);
            assertEquals(pushed, recovered.endOffset());
            durable = pushed;
            readers.forEach(reader -> reader.durablyAcked = reader.acked);
            Path left = second.lose(killed, temp.resolve("left"), random, run % 2 * 50);
            recovered.close();
            Directories.delete(killed);
            try {
                check(left);
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("run " + run, e);
            }
        }
    }

    /** The cursors on the disk are older than the segments: the kernel writes pages back in any order. */
    @Test
    void segmentsMayBeNewerThanTheCursors() throws IOException {
        open(false);
        for (int i = 0; i < 10; i++) {
            push(2000);
        }
        popAndAck(readers.get(0), 10);
        flush();
        byte[] meta = Directories.read(directory.resolve("meta.dat"));
        byte[] consumer = Directories.read(directory.resolve("consumers/default.dat"));
        for (int i = 0; i < 14; i++) {
            push(2000);
            popAndAck(readers.get(0), 1);
        }
        Path left = Directories.copy(directory, temp.resolve("left"));
        if (durable == 10) { // no flush was needed since then
            Files.write(left.resolve("meta.dat"), meta);
            Files.write(left.resolve("consumers/default.dat"), consumer);
        }
        check(left);
        close();
    }

    /**
     * The cursors on the disk are at a segment's end, and no later segment exists: only this segment has the offset of
     * the next record.
     */
    @Test
    void theSegmentThatEndsAtTheWatermarkIsNotReused() throws IOException {
        segment = 4096;
        capacity = 4;
        open(false);
        int quarter = (segment - 64) / 4 - 16; // beside its header and timestamp
        for (int i = 0; i < 4 * capacity; i++) {
            assertTrue(push(quarter));
            popAndAck(readers.get(0), 1);
            if (i == 3) {
                assertEquals(segment, core.stats().writingPosition());
                flush();
            }
        }
        assertEquals((long) capacity * segment, core.stats().writingPosition());
        assertEquals(segment, core.stats().watermarkPosition());
        assertTrue(push(quarter)); // the slot of the first segment
        // Of all that was not fsynced, the new contents of that slot alone have reached the disk.
        Path left = storage.lose(directory, temp.resolve("left"), new SplittableRandom(1), 0);
        Files.copy(
                directory.resolve("0_segment.dat"), left.resolve("0_segment.dat"), StandardCopyOption.REPLACE_EXISTING);
        check(left);
        close();
    }

    /** A header that recovery has cut off must not come back when the file is filled up to its length. */
    @Test
    void theFileAfterTheLogEndIsShort() throws IOException {
        segment = 4096;
        open(false);
        for (int i = 0; i < 3; i++) {
            push(1000);
        }
        flush();
        push(3000); // continues in the next segment
        Path left = storage.lose(directory, temp.resolve("left"), new SplittableRandom(1), 0);
        byte[] next = Directories.read(directory.resolve("1_segment.dat"));
        Files.write(left.resolve("1_segment.dat"), Arrays.copyOf(next, 2048));
        close();
        storage = new PowerLossStorage();
        storage.adopt(left);
        QueueCore recovered = Cores.open(config(left), storage);
        assertEquals(3, recovered.endOffset());
        assertEquals(3, recovered.writer().push(Payload.numbered(3, 100), 0, 100));
        Path again = storage.lose(left, temp.resolve("again"), new SplittableRandom(1), 0);
        recovered.close();
        Path file = again.resolve("1_segment.dat");
        if (Files.exists(file)) {
            Files.write(file, Arrays.copyOf(Directories.read(file), segment));
        }
        check(again);
        Directories.delete(left);
    }

    @Test
    void aCleanCloseMakesEverythingDurable() throws IOException {
        open(true);
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 60; i++) {
            step(random);
        }
        core.close();
        durable = pushed;
        readers.forEach(reader -> reader.durablyAcked = reader.acked);
        check(storage.lose(directory, temp.resolve("left"), random, 0));
    }
}
