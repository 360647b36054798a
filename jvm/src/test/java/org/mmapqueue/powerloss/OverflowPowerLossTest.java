package org.mmapqueue.powerloss;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.archive.SteppedShipper;
import org.mmapqueue.archive.files.FailingDirectories;
import org.mmapqueue.archive.files.LocalFiles;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.harness.Delivery;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.PropertySeed;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.StorageQueue;

/**
 * A loss of power at any call of a ring that overflows, on the disk of the ring or of the archive: each durable record
 * is in the ring or durable in the archive, and each consumer reads on where it was. The archive's disk keeps the files
 * whose directories were fsynced, and any of the others. The system properties power.runs and property.seed set the
 * number of runs, and their seeds.
 */
@Tag("long-form")
@Tag("slow")
@Timeout(600)
class OverflowPowerLossTest {
    private static final int RUNS = Integer.getInteger("power.runs", 25);
    private static final int STEPS = 150;
    private static final int CUT_PERCENT = 3;
    private static final int SEGMENT = 4096;
    private static final int MOST_BYTES = 3000;
    private static final int RUN_BYTES = 1 << 20;
    private static final int NEW_RECORDS = 30;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    /** What a consumer may have on the disk. */
    private static final class Reader {
        /** The offsets that may be committed: each one since the last flush. */
        final Set<Long> committed = new TreeSet<>();
        /** Records that were acked one by one; a loss of power may forget that. */
        final Set<Long> acked = new HashSet<>();
        /** Those of them that were acked since the last loss of power. */
        final Set<Long> current = new HashSet<>();
        /** Those of them that were acked before the last flush. */
        final Set<Long> saved = new HashSet<>();

        final Set<Long> inFlight = new TreeSet<>();

        Reader copy() {
            Reader copy = new Reader();
            copy.committed.addAll(committed);
            copy.acked.addAll(acked);
            copy.saved.addAll(saved);
            return copy;
        }

        void moved(long to) {
            committed.add(to);
            current.clear();
            saved.clear();
            inFlight.clear();
        }
    }

    /** What a loss of power has left, and what was expected at that moment. */
    private record Cut(
            String call,
            Map<Path, byte[]> ring,
            Map<Path, byte[]> archive,
            List<byte[]> records,
            long durable,
            Map<String, Reader> readers) {}

    /** The two disks, and what is open on them. */
    private final class Machine {
        final Path ring = directory();
        final Path archive = directory();
        final LossyDisk disk;
        final FailingDirectories archiveDisk = new FailingDirectories();
        final LocalFiles files = archiveDisk.files(archive);
        StorageQueue queue;
        SteppedShipper shipper;

        Machine(Map<Path, byte[]> onRing, Map<Path, byte[]> inArchive) throws IOException {
            disk = LossyDisk.of(onRing, ring);
            for (Map.Entry<Path, byte[]> each : inArchive.entrySet()) {
                Path file = archive.resolve(each.getKey());
                Files.createDirectories(file.getParent());
                Files.write(file, each.getValue());
            }
            for (Path each : inArchive.keySet()) {
                files.makeDurable(each.toString());
            }
        }

        void open() throws IOException {
            queue = StorageQueue.open(config(ring, archive), disk);
            shipper = SteppedShipper.resume(queue.shipSource(archive.toUri()), files, RUN_BYTES);
        }

        Map<Path, byte[]> archiveAfterLoss() {
            int percent = 50 * random.nextInt(3);
            Map<Path, byte[]> left = new TreeMap<>();
            try (Stream<Path> all = Files.walk(archive)) {
                for (Path each : all.filter(Files::isRegularFile).sorted().toList()) {
                    if (archiveDisk.isDurable(each, archive) || random.nextInt(100) < percent) {
                        left.put(archive.relativize(each), Directories.read(each));
                    }
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return left;
        }

        void close() throws IOException {
            disk.watch(call -> {});
            archiveDisk.watch(() -> {});
            if (shipper != null) {
                shipper.close();
            }
            if (queue != null) {
                queue.close();
            }
            disk.close();
            Directories.delete(ring);
            Directories.delete(archive);
        }
    }

    private SplittableRandom random;
    private int capacity;
    private int directories;
    private Machine machine;
    private StorageQueue queue;
    private String operation = "open";
    private final List<byte[]> records = new ArrayList<>();
    private long durable;
    private final Map<String, Reader> readers = new TreeMap<>();
    private final Deque<Cut> cuts = new ArrayDeque<>();
    private int checked;
    private int behind;

    static LongStream seeds() {
        return PropertySeed.seeds(RUNS);
    }

    private Path directory() {
        try {
            return Files.createDirectory(temp.resolve("d" + directories++));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private QueueConfig config(Path ring, Path archive) {
        return QueueConfig.builder(ring)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(capacity)
                .maxInMemSegments(9)
                .maxEventSize(MOST_BYTES)
                .flushPeriod(Duration.ofMinutes(10))
                .archiveUri(archive.toUri())
                .overflow("archive")
                .build();
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void noDurableRecordAndNoPositionIsLost(long seed) throws Exception {
        random = new SplittableRandom(seed);
        capacity = 4 + random.nextInt(6);
        try {
            machine = new Machine(Map.of(), Map.of());
            begin();
            for (int i = 0; i < STEPS; i++) {
                step();
                durable = Math.max(durable, queue.durableOffset());
                checkCuts();
            }
        } catch (Exception | AssertionError e) {
            throw new AssertionError("seed " + seed + ", " + operation, e);
        } finally {
            machine.close();
        }
        assertTrue(checked > 15, checked + " losses of power, " + behind + " consumers behind the ring");
    }

    /** The recovery ends the segment after the last record in flight: the next one is the first that the ring then has. */
    @Test
    void whatIsInFlightUpToTheFirstRecordOfTheRingSurvivesAKill() throws IOException {
        capacity = 4;
        random = new SplittableRandom(1);
        Path archive = directory();
        Path killed = temp.resolve("killed");
        Path ring = directory();
        LocalFiles files = new LocalFiles(archive);
        try (StorageQueue before = StorageQueue.open(config(ring, archive), DiskStorage.INSTANCE);
                SteppedShipper shipper = SteppedShipper.resume(before.shipSource(archive.toUri()), files, RUN_BYTES)) {
            before.createConsumer("a", StartAt.EARLIEST);
            for (int i = 0; i < 3; i++) {
                before.push(new byte[100]);
                assertEquals(i, before.poll("a").offset());
            }
            before.ack("a", 1);
            before.flush();
            shipper.ship(() -> {});
            Directories.copy(ring, killed);
        }
        try (StorageQueue after = StorageQueue.open(config(killed, archive), DiskStorage.INSTANCE);
                SteppedShipper shipper = SteppedShipper.resume(after.shipSource(archive.toUri()), files, RUN_BYTES)) {
            while (after.firstOffset() == 0) {
                after.push(new byte[900]);
                after.flush();
                shipper.ship(() -> {});
            }
            assertEquals(3, after.firstOffset());
            for (int offset : new int[] {0, 2, 3}) {
                Message message = after.poll("a");
                assertEquals(offset, message.offset());
                assertEquals(offset == 3 ? 1 : 2, message.attempts());
            }
        }
    }

    // Opens the queue. Whatever fails from here on, the power may fail instead.
    private void begin() throws IOException {
        machine.disk.watch(call -> maybeCut("ring: " + call));
        machine.archiveDisk.watch(() -> maybeCut("archive: fsync"));
        machine.open();
        queue = machine.queue;
    }

    private void maybeCut(String call) {
        if (random.nextInt(100) < CUT_PERCENT) {
            cut(call);
        }
    }

    private void cut(String call) {
        Map<String, Reader> copies = new TreeMap<>();
        readers.forEach((name, reader) -> copies.put(name, reader.copy()));
        cuts.add(new Cut(
                operation + ", " + call,
                machine.disk.cut(random),
                machine.archiveAfterLoss(),
                List.copyOf(records),
                durable,
                copies));
    }

    private void step() throws IOException {
        String name = random.nextBoolean() ? "a" : "b";
        Reader reader = readers.get(name);
        switch (random.nextInt(32)) {
            case 0, 1 -> flush();
            case 2, 3, 4, 5 -> ship();
            case 6, 7 -> {
                operation = "housekeeper";
                queue.housekeeperStep();
            }
            case 8 -> machine.disk.writeBack(random);
            case 9, 10, 11 -> pop(name, 1 + random.nextInt(30));
            case 12, 13, 14 -> ackUpTo(name);
            case 15 -> ackOne(name);
            case 16 -> {
                operation = "nack";
                if (reader != null && !reader.inFlight.isEmpty()) {
                    long offset = any(reader.inFlight);
                    queue.nack(name, offset);
                    reader.inFlight.remove(offset);
                }
            }
            case 17 -> seek(name);
            case 18 -> create(name);
            case 19 -> reopen();
            case 20 -> losePower();
            case 21 -> cut("between two calls");
            default -> push(1 + random.nextInt(12));
        }
    }

    private long any(Set<Long> offsets) {
        return List.copyOf(offsets).get(random.nextInt(offsets.size()));
    }

    private void push(int count) throws IOException {
        operation = "push";
        for (int i = 0; i < count; i++) {
            byte[] record = new byte[random.nextInt(random.nextInt(10) == 0 ? MOST_BYTES : 900)];
            for (int at = 0; at < record.length; at++) {
                record[at] = (byte) random.nextInt();
            }
            records.add(record);
            try {
                assertEquals(records.size() - 1, queue.push(record));
            } catch (FullException e) {
                records.remove(records.size() - 1);
                flush();
                ship();
                return;
            }
        }
    }

    private void flush() {
        operation = "flush";
        queue.flush();
        durable = records.size();
        flushed();
    }

    // What the consumers have committed is on the disk.
    private void flushed() {
        readers.forEach((name, reader) -> {
            long committed = queue.committedOffset(name); // may open it
            reader.committed.clear();
            reader.committed.add(committed);
            reader.saved.addAll(reader.current);
        });
    }

    private void ship() throws IOException {
        operation = "ship";
        machine.shipper.ship(() -> maybeCut("before the ack"));
    }

    private void pop(String name, int count) {
        operation = "pop";
        Reader reader = readers.get(name);
        if (reader == null) {
            return;
        }
        for (int i = 0; i < count; i++) {
            Message message = queue.poll(name);
            if (message == null) {
                return;
            }
            assertArrayEquals(records.get((int) message.offset()), message.data());
            reader.inFlight.add(message.offset());
            reader.acked.remove(message.offset()); // an ack that a loss of power has forgotten
        }
    }

    private void ackUpTo(String name) {
        operation = "ack";
        Reader reader = readers.get(name);
        if (reader != null && !reader.inFlight.isEmpty()) {
            long offset = any(reader.inFlight);
            queue.ackUpTo(name, offset);
            reader.inFlight.removeIf(each -> each <= offset);
            reader.committed.add(queue.committedOffset(name));
        }
    }

    private void ackOne(String name) {
        operation = "ack of one";
        Reader reader = readers.get(name);
        if (reader != null && !reader.inFlight.isEmpty()) {
            long offset = any(reader.inFlight);
            reader.acked.add(offset);
            queue.ack(name, offset);
            reader.inFlight.remove(offset);
            reader.current.add(offset);
            reader.committed.add(queue.committedOffset(name));
        }
    }

    private void seek(String name) {
        operation = "seek";
        Reader reader = readers.get(name);
        if (reader != null && !records.isEmpty()) {
            // Not beyond what the shipper has acked or the ring has.
            long first = random.nextBoolean() ? 0 : queue.firstOffset();
            long to = first + random.nextInt((int) (records.size() - first) + 1);
            reader.moved(to);
            queue.seek(name, StartAt.offset(to));
            reader.acked.clear();
        }
    }

    private void create(String name) {
        operation = "create";
        if (!readers.containsKey(name)) {
            Reader reader = new Reader();
            reader.committed.add(queue.firstOffset());
            queue.createConsumer(name, StartAt.EARLIEST);
            readers.put(name, reader);
        }
    }

    private void reopen() throws IOException {
        operation = "close";
        machine.shipper.close();
        Map<String, Long> committed = queue.committed();
        queue.close();
        durable = records.size();
        committed.forEach((name, offset) -> {
            Reader reader = readers.get(name);
            if (reader != null) {
                reader.committed.clear();
                reader.committed.add(offset);
                reader.saved.addAll(reader.current);
                reader.inFlight.clear();
            }
        });
        queue = null;
        operation = "open";
        begin();
    }

    // The run continues with what is left.
    private void losePower() throws IOException {
        cut("loss of power");
        Cut last = cuts.peekLast();
        checkCuts();
        machine.close();
        operation = "recovery";
        queue = null;
        machine = new Machine(last.ring, last.archive);
        begin();
        records.subList((int) queue.endOffset(), records.size()).clear();
        durable = records.size();
        for (Reader each : readers.values()) {
            each.acked.removeIf(offset -> offset >= durable);
            each.saved.removeIf(offset -> offset >= durable);
            each.current.clear();
            each.inFlight.clear();
        }
        flushed();
    }

    private void checkCuts() throws IOException {
        while (!cuts.isEmpty()) {
            Cut cut = cuts.remove();
            Machine left = new Machine(cut.ring, cut.archive);
            try {
                check(left, cut);
                checked++;
            } catch (Exception | AssertionError e) {
                throw new AssertionError("loss of power during " + cut.call, e);
            } finally {
                left.close();
            }
        }
    }

    private void check(Machine left, Cut cut) throws IOException {
        left.open();
        StorageQueue found = left.queue;
        long end = found.endOffset();
        assertTrue(
                cut.durable <= end && end <= cut.records.size(),
                "the log ends at " + end + ", expected " + cut.durable + " to " + cut.records.size());
        List<byte[]> expected = new ArrayList<>(cut.records.subList(0, (int) end));
        assertRecords(found, expected);
        for (Map.Entry<String, Reader> each : cut.readers.entrySet()) {
            String name = each.getKey();
            assertTrue(found.consumers().contains(name), "consumer " + name + " exists");
            drain(found, name, each.getValue(), expected);
        }
        found.flush();
        left.shipper.ship(() -> {});
        for (int i = 0; i < NEW_RECORDS; i++) {
            byte[] record = new byte[random.nextInt(500)];
            assertEquals(expected.size(), found.push(record));
            expected.add(record);
        }
        for (String name : cut.readers.keySet()) {
            for (int i = 0; i < NEW_RECORDS; i++) {
                assertEquals(end + i, found.poll(name).offset());
            }
            found.ackUpTo(name, expected.size() - 1);
        }
        found.flush();
        left.shipper.ship(() -> {});
        assertRecords(found, expected);
    }

    // From the beginning on: those that the ring has given up are in the archive.
    private static void assertRecords(StorageQueue found, List<byte[]> expected) {
        int next = 0;
        while (next < expected.size()) {
            for (Message each : found.getMany(next, Math.min(50, expected.size() - next))) {
                assertEquals(next, each.offset());
                assertArrayEquals(expected.get(next), each.data(), "record " + next);
                next++;
            }
        }
    }

    private void drain(StorageQueue found, String name, Reader reader, List<byte[]> expected) {
        long end = expected.size();
        long committed = found.committedOffset(name);
        long most = reader.committed.stream().mapToLong(Long::longValue).max().orElseThrow();
        assertTrue(
                reader.committed.contains(committed) || committed == end && most > end,
                "consumer " + name + " has committed " + committed + ", expected one of " + reader.committed
                        + "; the log ends at " + end);
        if (committed < found.firstOffset()) {
            behind++;
        }
        List<Long> popped = new ArrayList<>();
        for (Message each = found.poll(name); each != null; each = found.poll(name)) {
            assertArrayEquals(expected.get((int) each.offset()), each.data());
            popped.add(each.offset());
        }
        new Delivery(name, reader.acked::contains, reader.saved::contains).check(popped, committed, end);
    }
}
