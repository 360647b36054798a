package org.mmapqueue.powerloss;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.BatchDigest;
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
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.PowerLossStorage;
import org.mmapqueue.support.QuickDirectory;

/**
 * A loss of power at any step, and before any fsync, while idempotent producers push. The system property power.runs
 * makes it longer.
 */
@Tag("long-form")
@Timeout(600)
class IdempotentPowerLossTest {
    private static final int RUNS = Integer.getInteger("power.runs", 30);
    private static final int PRODUCERS = 2;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private PowerLossStorage disk;
    private Path directory;
    private QueueCore core;
    private ConsumerCore consumer;
    private SplittableRandom random;
    private boolean alwaysSync;
    /** The end of each batch that was begun, by producer and sequence. */
    private final List<Map<Long, Long>> ends = new ArrayList<>();

    private final long[] pushed = new long[PRODUCERS];
    private final long[] withRecords = new long[PRODUCERS];
    private final long[] durable = new long[PRODUCERS];
    private boolean watched;
    private int checks;

    private static QueueConfig config(Path at) {
        return QueueConfig.builder(at)
                .segmentSize(4096)
                .queueCapacitySegments(12)
                .maxInMemSegments(6)
                .maxEventSize(9000)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    private void open() {
        disk = new PowerLossStorage();
        FaultyStorage storage = new FaultyStorage(disk);
        storage.failWhen((call, path) -> {
            if (watched && call == FaultyStorage.Call.SYNC && random.nextInt(15) == 0) {
                check();
            }
            return false;
        });
        directory = temp.resolve("queue");
        ends.clear();
        for (int i = 0; i < PRODUCERS; i++) {
            ends.add(new HashMap<>());
            pushed[i] = -1;
            withRecords[i] = -1;
            durable[i] = -1;
        }
        core = Cores.open(config(directory), storage);
        consumer = core.consumer("default", StartAt.EARLIEST);
    }

    private static byte[] record(int producer, long sequence, int length) {
        byte[] record = new byte[Math.max(16, length)];
        ByteBuffer.wrap(record).putLong(producer).putLong(sequence);
        return record;
    }

    private void pushOnce(boolean sync) throws InterruptedException {
        int producer = random.nextInt(PRODUCERS);
        long sequence = pushed[producer] + 1 + random.nextInt(2);
        int count = random.nextInt(5) == 0 ? 0 : 1 + random.nextInt(3);
        List<byte[]> batch = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            batch.add(record(producer, sequence, random.nextInt(random.nextInt(5) == 0 ? 5000 : 400)));
        }
        ends.get(producer).put(sequence, core.endOffset() + count);
        try {
            core.writer()
                    .producers()
                    .push(
                            "p" + producer,
                            sequence,
                            new BatchDigest(count, hash(producer, sequence)),
                            Records.of(batch),
                            0,
                            sync,
                            () -> false);
            pushed[producer] = sequence;
            withRecords[producer] = count > 0 ? sequence : withRecords[producer];
            if (sync) {
                recordsDurable();
                durable[producer] = sequence;
            }
        } catch (FullException e) {
            ends.get(producer).remove(sequence);
            popAndAck(100);
        }
    }

    private static long hash(int producer, long sequence) {
        return 0x9E37_79B9_7F4A_7C15L * (2 * sequence + producer + 1);
    }

    private void durable() {
        System.arraycopy(pushed, 0, durable, 0, PRODUCERS);
    }

    // A batch without records is not waited for.
    private void recordsDurable() {
        for (int i = 0; i < PRODUCERS; i++) {
            durable[i] = Math.max(durable[i], withRecords[i]);
        }
    }

    private void push() {
        try {
            byte[] record = record(-1, 0, random.nextInt(1500));
            core.writer().push(record, 0, record.length);
        } catch (FullException e) {
            popAndAck(100);
        }
    }

    private void popAndAck(int most) {
        for (int i = 0; i < most; i++) {
            Message message = consumer.poll();
            if (message == null) {
                return;
            }
            core.ackUpTo(consumer, message.offset());
        }
    }

    private void step() throws InterruptedException {
        switch (random.nextInt(16)) {
            case 0 -> {
                core.writer().flush();
                durable();
            }
            case 1 -> {
                core.writer().awaitDurable();
                recordsDurable();
            }
            case 2, 3 -> disk.writeBack(directory, random);
            case 4 -> core.writer().housekeeper().step();
            case 5, 6 -> popAndAck(random.nextInt(12));
            case 7, 8 -> push();
            default -> pushOnce(alwaysSync || random.nextInt(6) == 0);
        }
    }

    /** Opens what a loss of power would leave now, and compares the known sequences with the records. */
    private void check() {
        checks++;
        try {
            SplittableRandom own = random.split();
            Path left = disk.lose(directory, temp.resolve("left"), own, new int[] {0, 10, 50, 90, 100}[own.nextInt(5)]);
            try (MmapQueue queue = MmapQueue.open(config(left))) {
                long end = queue.endOffset();
                Map<Integer, Long> last = lastFound(queue);
                for (int producer = 0; producer < PRODUCERS; producer++) {
                    check(queue, producer, end, last.getOrDefault(producer, -1L));
                }
            }
            Directories.delete(left);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static Map<Integer, Long> lastFound(MmapQueue queue) {
        Map<Integer, Long> last = new HashMap<>();
        for (Message message : Payload.drain(queue)) {
            ByteBuffer record = ByteBuffer.wrap(message.data());
            last.merge((int) record.getLong(), record.getLong(), Math::max);
        }
        return last;
    }

    private void check(MmapQueue queue, int producer, long end, long found) {
        String name = "p" + producer;
        long known = queue.lastSequence(name).orElse(-1);
        String what = name + " has pushed " + pushed[producer] + ", durably " + durable[producer] + ", known is "
                + known + ", found " + found;
        assertTrue(known >= durable[producer], what);
        assertTrue(known < 0 || ends.get(producer).get(known) <= end, what + ", the log ends at " + end);
        if (known >= 0) {
            assertEquals(
                    hash(producer, known),
                    queue.digest(name, known).orElseThrow().checksum(),
                    what);
        }
        if (alwaysSync) {
            assertTrue(found <= known, what);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aKnownSequenceHasItsRecordsAndADurableOneIsKnown(boolean sync) throws InterruptedException {
        alwaysSync = sync;
        watched = true;
        checks = 0;
        for (int run = 0; run < RUNS; run++) {
            random = new SplittableRandom(run);
            open();
            int steps = 20 + random.nextInt(80);
            try {
                for (int i = 0; i < steps; i++) {
                    step();
                    if (i % 20 == 19) {
                        check();
                    }
                }
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("run " + run, e);
            } finally {
                core.close();
                Directories.delete(directory);
            }
        }
        assertTrue(checks > 2 * RUNS, "only " + checks + " losses of power");
    }

    private void pushOne(long sequence) throws InterruptedException {
        core.writer()
                .producers()
                .push("p0", sequence, null, Records.of(List.of(record(0, sequence, 100))), 0, false, () -> false);
    }

    /** Newer slots have reached the disk, their batches have not: the last durable one must still be known. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 9})
    void slotsThatAreNewerThanTheirBatchesHideNoSequence(int ahead) throws Exception {
        random = new SplittableRandom(ahead);
        open();
        for (int sequence = 0; sequence < 4; sequence++) {
            pushOne(sequence);
        }
        core.writer().flush();
        for (int sequence = 4; sequence < 4 + ahead; sequence++) {
            pushOne(sequence);
        }
        byte[] page = Directories.read(directory.resolve("producers/p0.dat"));
        Path left = disk.lose(directory, temp.resolve("left"), random, 0);
        Files.write(left.resolve("producers/p0.dat"), page);
        try (MmapQueue queue = MmapQueue.open(config(left))) {
            assertEquals(4, queue.endOffset());
            assertEquals(3, queue.lastSequence("p0").orElse(-1));
        }
        core.close();
    }
}
