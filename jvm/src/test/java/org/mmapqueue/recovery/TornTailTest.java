package org.mmapqueue.recovery;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/**
 * Crash after crash, each with something torn after the recovery point: the log is always what it was up to some whole
 * record, then what was pushed since. torn.runs in the system properties makes it longer.
 */
@Tag("long-form")
@Timeout(600)
class TornTailTest {
    private static final int RUNS = Integer.getInteger("torn.runs", 25);
    private static final int CAPACITY = 1000;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final List<byte[]> log = new ArrayList<>();
    private final List<Integer> batchEnds = new ArrayList<>();

    private static QueueConfig config(Path at, int segment, boolean timestamps) {
        return QueueConfig.builder(at)
                .segmentSize(segment)
                .queueCapacitySegments(CAPACITY)
                .maxInMemSegments(5)
                .maxEventSize(10_000)
                .timestamps(timestamps)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    @ParameterizedTest
    @CsvSource({"4096, true", "4096, false", "16384, true"})
    void theLogIsAPrefixAndWhatWasPushedSince(int segment, boolean timestamps) {
        for (int run = 0; run < RUNS; run++) {
            try {
                run(new SplittableRandom(run), segment, timestamps);
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("run " + run, e);
            }
        }
    }

    private void run(SplittableRandom random, int segment, boolean timestamps) {
        Path at = temp.resolve("queue");
        log.clear();
        batchEnds.clear();
        int flushed = 0;
        for (int crash = 0; crash < 5; crash++) {
            MmapQueue queue = MmapQueue.open(config(at, segment, timestamps));
            assertIsTheLog(queue, flushed);
            int pushes = random.nextInt(25);
            int flushAt = random.nextInt(30);
            flushed = log.size(); // a recovery makes durable what it has found
            for (int i = 0; i < pushes; i++) {
                if (i == flushAt) {
                    queue.flush();
                    flushed = log.size();
                }
                push(queue, random, segment);
            }
            Path left = Directories.losePower(Directories.copy(at, temp.resolve("left")));
            queue.close();
            Directories.delete(at);
            tear(left, segment, random);
            at = temp.resolve("queue-" + crash);
            Directories.copy(left, at);
            Directories.delete(left);
        }
        try (MmapQueue queue = MmapQueue.open(config(at, segment, timestamps))) {
            assertIsTheLog(queue, flushed);
        }
        Directories.delete(at);
    }

    private void push(MmapQueue queue, SplittableRandom random, int segment) {
        int header = 16;
        int count = random.nextInt(4) == 0 ? 2 + random.nextInt(4) : 1;
        List<byte[]> batch = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            // Many that divide a segment exactly: then whole records stand at the beginnings of segments.
            int length = switch (random.nextInt(4)) {
                case 0 -> (segment - 64) / 8 - header;
                case 1 -> (segment - 64) / 2 - header;
                case 2 -> random.nextInt(9000);
                default -> random.nextInt(300);
            };
            batch.add(Payload.of(log.size() + i + 1000L * random.nextInt(1000), length));
        }
        queue.pushBatch(batch);
        log.addAll(batch);
        batchEnds.add(log.size());
    }

    /** Inverts a bit, wipes a sector or a page, or cuts a file, somewhere after the recovery point. */
    private static void tear(Path left, int segment, SplittableRandom random) {
        long watermark = Directories.word(left.resolve("meta.dat"), 576);
        long writing = Directories.word(left.resolve("meta.dat"), 512);
        if (writing <= watermark) {
            return;
        }
        for (int i = 0; i < 1 + random.nextInt(3); i++) {
            long position = random.nextLong(watermark, writing);
            Path file = left.resolve(position / segment + "_segment.dat");
            int at = (int) (position % segment);
            // Not a byte before the recovery point.
            int first = position / segment == watermark / segment ? (int) (watermark % segment) : 0;
            switch (random.nextInt(5)) {
                case 0 -> wipe(file, Math.max(first, at / 512 * 512), at / 512 * 512 + 512);
                case 1 -> wipe(file, Math.max(first, at / 4096 * 4096), at / 4096 * 4096 + 4096);
                case 2 -> {
                    if (first == 0 && position / segment > watermark / segment) {
                        Directories.resize(file, at);
                    }
                }
                default -> {
                    if (Files.exists(file) && at < Directories.read(file).length) {
                        Directories.flip(file, at, 1 << random.nextInt(8));
                    }
                }
            }
        }
    }

    private static void wipe(Path file, int from, int to) {
        int length = Directories.read(file).length;
        if (from < Math.min(to, length)) {
            Directories.overwrite(file, from, new byte[Math.min(to, length) - from]);
        }
    }

    /** The records, from the first on; cuts the log of the test to what is left, which may be no part of a batch. */
    private void assertIsTheLog(MmapQueue queue, int flushed) {
        List<Message> found = Payload.drain(queue);
        assertTrue(found.size() <= log.size(), found.size() + " records of " + log.size());
        assertTrue(found.size() >= flushed, found.size() + " records, flushed " + flushed);
        for (int i = 0; i < found.size(); i++) {
            assertEquals(i, found.get(i).offset());
            assertArrayEquals(log.get(i), found.get(i).data(), "record " + i);
        }
        assertEquals(found.size(), queue.endOffset());
        assertTrue(found.isEmpty() || batchEnds.contains(found.size()), "a batch was cut at " + found.size());
        log.subList(found.size(), log.size()).clear();
        batchEnds.removeIf(end -> end > found.size());
    }
}
