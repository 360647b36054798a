package org.mmapqueue.damage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.DamagedRange;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.RecordReader;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** {@code on_damage = skip}: whole records come with their offsets, damaged ones are listed, none is in neither. */
@Tag("long-form")
class SkipDamageTest {
    /** Damaged queues; damage.rounds in the system properties sets another number. */
    private static final int ROUNDS = Integer.getInteger("damage.rounds", 20);

    private static final int SEGMENT = 4096;
    private static final int RECORDS = 150;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path made;
    /** The segment of the log end. */
    private int last;

    @BeforeEach
    void make() {
        made = temp.resolve("made");
        try (MmapQueue queue = MmapQueue.open(config(made, "error"))) {
            queue.createConsumer("default", StartAt.EARLIEST);
            for (int i = 0; i < RECORDS; i++) {
                queue.push(record(i));
            }
            last = (int) (queue.stats().writingPosition() / SEGMENT);
        }
    }

    private static byte[] record(long number) {
        return Payload.of(number, number % 40 == 13 ? 6000 : (int) (number * 31 % 400));
    }

    private static QueueConfig config(Path at, String onDamage) {
        return QueueConfig.builder(at)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(64)
                .maxEventSize(9000)
                .onDamage(onDamage)
                .build();
    }

    private static void check(Message message) {
        assertArrayEquals(record(message.offset()), message.data(), "record " + message.offset());
    }

    // Each offset is popped or listed, once.
    private static void checkAll(long first, List<Long> popped, List<DamagedRange> ranges, String what) {
        Set<Long> seen = new HashSet<>(popped);
        assertEquals(popped.size(), seen.size(), what);
        for (DamagedRange range : ranges) {
            for (long offset = range.firstOffset(); offset <= range.lastOffset(); offset++) {
                assertTrue(seen.add(offset), what + ": " + offset + " of " + range + " was popped, or listed twice");
            }
        }
        assertEquals(RECORDS - first, seen.size(), what + ": " + ranges + ", popped " + popped);
    }

    /** Noise in one to three ranges of all segments but the last, in which the writer is. */
    @Test
    void whateverIsDamagedEachOffsetIsPoppedOrListed() {
        int skipped = 0;
        for (int round = 0; round < ROUNDS; round++) {
            Random random = new Random(round);
            Path path = Directories.copy(made, temp.resolve("queue"));
            for (int hole = random.nextInt(3); hole >= 0; hole--) {
                byte[] noise = new byte[1 + random.nextInt(random.nextBoolean() ? 8 : 600)];
                if (random.nextInt(4) > 0) {
                    random.nextBytes(noise);
                }
                Path file = path.resolve(random.nextInt(last) + "_segment.dat");
                Directories.overwrite(file, random.nextInt(SEGMENT - noise.length), noise);
            }
            String what = "round " + round;
            skipped += consume(path, random, what);
            Directories.delete(path);
        }
        assertTrue(skipped > ROUNDS / 2, skipped + " records in " + ROUNDS + " queues");
    }

    private static int consume(Path path, Random random, String what) {
        List<Long> popped = new ArrayList<>();
        List<DamagedRange> ranges = new ArrayList<>();
        long committed = 0;
        try (MmapQueue queue = MmapQueue.open(config(path, "skip"))) {
            Consumer consumer = queue.consumer();
            pop(consumer, popped, RECORDS / 2);
            // Requeued records are found over the damage.
            long again = popped.get(random.nextInt(popped.size()));
            consumer.nack(again);
            assertEquals(again, consumer.poll().offset(), what);
            consumer.ackUpTo(popped.get(random.nextInt(popped.size())));
            committed = consumer.committedOffset();
            ranges.addAll(consumer.damagedRanges());
            assertEquals(records(ranges), queue.consumerStats().get(0).damagedRecords(), what);
            assertEquals(ranges.isEmpty() ? Map.of() : Map.of("default", ranges), queue.damagedRanges(), what);
        }
        long first = committed;
        popped.removeIf(offset -> offset >= first);
        int passed = popped.size()
                + (int) ranges.stream()
                        .filter(range -> range.lastOffset() < first)
                        .mapToLong(DamagedRange::records)
                        .sum();
        assertEquals(first, passed, what + ": records before the committed offset");
        // A consumer that is opened after damage, in the same segment, continues.
        try (MmapQueue queue = MmapQueue.open(config(path, "skip"));
                RecordReader reader = queue.reader(first, RECORDS, true)) {
            assertEquals(first, queue.consumer().committedOffset(), what);
            List<Long> rest = new ArrayList<>();
            pop(queue.consumer(), rest, RECORDS);
            // What the consumer has skipped before is acked, out of order.
            Set<Long> before = offsets(ranges);
            Set<Long> skipped = offsets(queue.consumer().damagedRanges());
            skipped.addAll(before);
            skipped.removeIf(offset -> offset < first);
            assertEquals(RECORDS - first, rest.size() + skipped.size(), what + ": " + skipped + ", " + rest);
            assertTrue(rest.stream().noneMatch(skipped::contains), what);
            List<Long> read = new ArrayList<>();
            int count = 1;
            while (count > 0 || reader.offset() < RECORDS) {
                count = reader.read(7, 3000, (offset, timestamp, data) -> {
                    assertArrayEquals(record(offset), data);
                    read.add(offset);
                });
            }
            checkAll(first, read, reader.damagedRanges(), what + ", reader");
            assertEquals(rest, read, what);
            ranges.addAll(queue.consumer().damagedRanges());
        }
        return (int) records(ranges);
    }

    private static void pop(Consumer consumer, List<Long> popped, int most) {
        while (popped.size() < most) {
            Message peeked = consumer.peek();
            Message message = consumer.poll();
            if (message == null) {
                assertNull(peeked);
                return;
            }
            assertEquals(message.offset(), peeked.offset());
            assertArrayEquals(message.data(), peeked.data());
            check(message);
            popped.add(message.offset());
        }
    }

    private static Set<Long> offsets(List<DamagedRange> ranges) {
        Set<Long> offsets = new HashSet<>();
        for (DamagedRange range : ranges) {
            for (long offset = range.firstOffset(); offset <= range.lastOffset(); offset++) {
                offsets.add(offset);
            }
        }
        return offsets;
    }

    private static long records(List<DamagedRange> ranges) {
        return ranges.stream().mapToLong(DamagedRange::records).sum();
    }

    @Test
    void aDamagedPayloadCostsOneRecordAndADamagedHeaderToo() {
        List<Integer> positions = RecordPositions.of(made.resolve("0_segment.dat"));
        Directories.flip(made.resolve("0_segment.dat"), positions.get(3) + 17, 1);
        Directories.flip(made.resolve("0_segment.dat"), positions.get(6), 8);
        try (MmapQueue queue = MmapQueue.open(config(made, "skip"))) {
            List<Long> popped = new ArrayList<>();
            pop(queue.consumer(), popped, RECORDS);
            assertEquals(RECORDS - 2, popped.size());
            assertEquals(
                    List.of(3L, 6L),
                    queue.consumer().damagedRanges().stream()
                            .map(DamagedRange::firstOffset)
                            .toList());
            DamagedRange range = queue.consumer().damagedRanges().get(0);
            assertEquals(made.resolve("0_segment.dat").toString(), range.file());
            assertEquals((long) positions.get(3), range.position());
            assertTrue(range.toString().endsWith("record 3 is skipped"), range.toString());
        }
    }

    /** The segment's header has the offset of its first record, so the committed offset is unknown with it. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 5, 20})
    void aConsumerContinuesAfterTheSegmentWithADamagedHeader(int acked) {
        Path damaged;
        try (MmapQueue queue = MmapQueue.open(config(made, "error"))) {
            if (acked > 0) {
                pop(queue.consumer(), new ArrayList<>(), acked);
                queue.consumer().ackUpTo(acked - 1);
            }
            long position = queue.consumerStats().get(0).readPosition();
            damaged = made.resolve(position / SEGMENT + "_segment.dat");
        }
        Directories.flip(damaged, 8, 1);
        try (MmapQueue queue = MmapQueue.open(config(made, "error"))) {
            CorruptException error =
                    assertThrows(CorruptException.class, () -> queue.consumer().poll());
            assertEquals(damaged.toString(), error.file());
        }
        try (MmapQueue queue = MmapQueue.open(config(made, "skip"))) {
            List<Long> popped = new ArrayList<>();
            pop(queue.consumer(), popped, RECORDS);
            DamagedRange range = queue.consumer().damagedRanges().get(0);
            assertTrue(range.firstOffset() <= acked, range.toString());
            assertEquals(range.lastOffset() + 1, popped.get(0));
            assertEquals(RECORDS - popped.get(0), popped.size());
            assertEquals(List.of(range), queue.consumer().damagedRanges());
            List<Long> second = new ArrayList<>();
            pop(queue.consumer("second", StartAt.EARLIEST), second, RECORDS);
            assertEquals(popped, second);
            queue.consumer().ackUpTo(RECORDS - 1);
        }
        try (MmapQueue queue = MmapQueue.open(config(made, "skip"))) {
            assertEquals(RECORDS, queue.consumer().committedOffset());
            assertNull(queue.consumer().poll());
        }
    }

    /** Acks after the damage are of offsets that count from there, and mean no records before it. */
    @Test
    void aRepairGivesAConsumerTheRecordsThatItHasSkipped() {
        try (MmapQueue queue = MmapQueue.open(config(made, "error"))) {
            pop(queue.consumer(), new ArrayList<>(), 5);
            queue.consumer().ackUpTo(4);
        }
        Path damaged = made.resolve("0_segment.dat");
        Directories.flip(damaged, 8, 1);
        try (MmapQueue queue = MmapQueue.open(config(made, "skip"))) {
            List<Long> popped = new ArrayList<>();
            pop(queue.consumer(), popped, 3);
            assertTrue(popped.get(0) > 5, popped.toString());
            queue.consumer().ack(popped.get(1));
        }
        Directories.flip(damaged, 8, 1);
        try (MmapQueue queue = MmapQueue.open(config(made, "error"))) {
            assertEquals(5, queue.consumer().committedOffset());
            List<Long> popped = new ArrayList<>();
            pop(queue.consumer(), popped, RECORDS);
            assertEquals(LongStream.range(5, RECORDS).boxed().toList(), popped);
        }
    }

    /** Without the key, the damage is an error each time. */
    @Test
    void theDefaultThrows() {
        Directories.flip(
                made.resolve("0_segment.dat"),
                RecordPositions.of(made.resolve("0_segment.dat")).get(3) + 17,
                1);
        try (MmapQueue queue = MmapQueue.open(config(made, "error"))) {
            List<Long> popped = new ArrayList<>();
            assertThrows(CorruptException.class, () -> pop(queue.consumer(), popped, RECORDS));
            assertThrows(CorruptException.class, () -> queue.consumer().poll());
            assertEquals(List.of(0L, 1L, 2L), popped);
            assertEquals(List.of(), queue.consumer().damagedRanges());
        }
    }

    /** A record that is damaged after it was popped, and one on the way to it. */
    @Test
    void requeuedRecordsAreFoundOverDamageThatCameLater() {
        try (MmapQueue queue = MmapQueue.open(config(made, "skip"))) {
            List<Long> popped = new ArrayList<>();
            pop(queue.consumer(), popped, 40);
            List<Integer> positions = RecordPositions.of(made.resolve("0_segment.dat"));
            Directories.overwrite(made.resolve("0_segment.dat"), positions.get(4), new byte[16]);
            Directories.flip(made.resolve("0_segment.dat"), positions.get(7) + 17, 1);
            queue.consumer().nack(6);
            queue.consumer().nack(7);
            Message again = queue.consumer().poll();
            assertEquals(6, again.offset());
            check(again);
            assertEquals(40, queue.consumer().poll().offset());
            assertEquals(
                    List.of(7L),
                    queue.consumer().damagedRanges().stream()
                            .map(DamagedRange::firstOffset)
                            .toList());
            queue.consumer().ackUpTo(40);
            assertEquals(41, queue.consumer().committedOffset());
        }
    }

    /**
     * A length that was damaged after the pops would lead to the record after the next one: acks read no record, so they
     * pass none that is not acked.
     */
    @ParameterizedTest
    @ValueSource(strings = {"error", "skip"})
    void anAckThatPassesALaterDamageLosesNoRecord(String onDamage) {
        Path path = temp.resolve("even");
        try (MmapQueue queue = MmapQueue.open(config(path, onDamage))) {
            queue.createConsumer("default", StartAt.EARLIEST);
            for (int i = 0; i < RECORDS; i++) {
                queue.push(Payload.of(i, 48));
            }
            Consumer consumer = queue.consumer();
            assertEquals(10, consumer.pollBatch(10, Long.MAX_VALUE).size());
            Path file = path.resolve("0_segment.dat");
            Directories.flip(file, RecordPositions.of(file).get(3), 64); // 48 bytes become 112: two records
            long[] acked = {5, 4, 3, 2, 1, 0};
            consumer.ack(acked);
            assertEquals(6, consumer.committedOffset());
        }
        try (MmapQueue queue = MmapQueue.open(config(path, onDamage))) {
            Message message = queue.consumer().pop();
            assertEquals(6, message.offset());
            assertArrayEquals(Payload.of(6, 48), message.data());
        }
    }

    /** No later header says how many records are lost, but the next record does. */
    @Test
    void damageInTheSegmentThatIsWrittenIsSkipped() {
        try (MmapQueue queue = MmapQueue.open(config(temp.resolve("queue"), "skip"))) {
            for (int i = 0; i < 8; i++) {
                queue.push(record(i));
            }
            Path file = temp.resolve("queue/0_segment.dat");
            Directories.overwrite(file, RecordPositions.of(file).get(2), new byte[24]);
            List<Long> popped = new ArrayList<>();
            pop(queue.consumer(), popped, 8);
            assertEquals(List.of(0L, 1L, 3L, 4L, 5L, 6L, 7L), popped);
        }
    }

    /** Each intact record is popped, also between holes with an unknown number of lost records. */
    @Test
    void intactRecordsBetweenTwoHolesArePopped() {
        Path file = made.resolve("0_segment.dat");
        List<Integer> positions = RecordPositions.of(file);
        Directories.overwrite(file, positions.get(2), new byte[positions.get(4) - positions.get(2)]);
        Directories.overwrite(file, positions.get(7), new byte[positions.get(9) - positions.get(7)]);
        try (MmapQueue queue = MmapQueue.open(config(made, "skip"))) {
            List<Long> popped = new ArrayList<>();
            pop(queue.consumer(), popped, 10);
            assertEquals(List.of(0L, 1L, 4L, 5L, 6L, 9L), popped.subList(0, 6));
        }
    }

    @Test
    void version1HasNoDamageToSkip() {
        ConfigException error = assertThrows(
                ConfigException.class,
                () -> MmapQueue.open(QueueConfig.builder(temp.resolve("one"))
                        .formatVersion(1)
                        .onDamage("skip")
                        .build()));
        assertEquals("on_damage", error.key());
    }
}
