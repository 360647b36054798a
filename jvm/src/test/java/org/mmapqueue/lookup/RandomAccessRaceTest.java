package org.mmapqueue.lookup;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** The writer reuses slots while another process reads them through its own mappings. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RandomAccessRaceTest {
    private static final int CAPACITY = 8;
    private static final int SEGMENT = 4096;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private QueueCore writer;
    private ConsumerCore consumer;
    private QueueCore other;
    private long pushed;

    /** The queue as another process sees it. */
    private class OtherProcess implements RandomAccessReader.Source {
        @Override
        public long head() {
            return other.stats().lowWatermark();
        }

        @Override
        public long reclaimed() {
            return other.stats().lowWatermark();
        }

        @Override
        public long end() {
            return other.log().end();
        }

        @Override
        public boolean timestamps() {
            return true;
        }
    }

    @BeforeEach
    void open() {
        QueueConfig.Builder config = QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(SEGMENT)
                .queueCapacitySegments(CAPACITY)
                .maxInMemSegments(4)
                .maxEventSize(6000)
                .flushPeriod(Duration.ofMinutes(10));
        writer = Cores.open(config.build(), DiskStorage.INSTANCE);
        consumer = writer.consumer("default", StartAt.EARLIEST);
        other = Cores.open(config.readOnly(true).build(), DiskStorage.INSTANCE);
    }

    @AfterEach
    void close() {
        other.close();
        writer.close();
    }

    private RandomAccessReader randomAccess(RandomAccessReader.Source source) {
        return new RandomAccessReader((LogReaderV2) other.log().reader(), source);
    }

    private static byte[] record(long number) {
        return Payload.of(number, number % 37 == 5 ? 5000 : (int) (number * 31 % 300));
    }

    private void push() {
        byte[] data = record(pushed);
        assertEquals(pushed, writer.writer().push(data, 0, data.length));
        pushed++;
    }

    private void pushUpTo(long position) {
        while (writer.log().end() < position) {
            push();
        }
    }

    private void popAll() {
        while (consumer.readOffset() < pushed) {
            consumer.poll();
        }
    }

    /** Advances the writer by some segments, and acks every record but the last forty. */
    private void turn(int segments) {
        long target = writer.log().end() + (long) segments * SEGMENT;
        while (writer.log().end() < target) {
            push();
            popAll();
            writer.ack(consumer, Math.max(consumer.committedOffset() - 1, pushed - 41));
        }
    }

    private static void assertRecords(long number, List<Message> found) {
        assertTrue(!found.isEmpty());
        for (int i = 0; i < found.size(); i++) {
            assertEquals(number + i, found.get(i).offset());
            assertArrayEquals(record(number + i), found.get(i).data(), "record " + (number + i));
        }
    }

    private void assertRangeIsNow(OutOfRangeException thrown) {
        assertEquals(consumer.committedOffset(), thrown.first(), thrown.getMessage());
        assertEquals(pushed - 1, thrown.last(), thrown.getMessage());
    }

    /** Runs an action of the writer just before the n-th load of its cursors. */
    private final class Interrupting extends OtherProcess {
        private final Runnable action;
        private int left;

        Interrupting(int looks, Runnable action) {
            this.left = looks;
            this.action = action;
        }

        private void look() {
            if (left-- == 0) {
                action.run();
            }
        }

        boolean hasRun() {
            return left < 0;
        }

        @Override
        public long head() {
            look();
            return super.head();
        }

        @Override
        public long reclaimed() {
            look();
            return super.reclaimed();
        }

        @Override
        public long end() {
            look();
            return super.end();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3, CAPACITY, 3 * CAPACITY - 1})
    void theRingMayWrapAtAnyMomentOfACall(int segments) {
        pushUpTo(5 * SEGMENT);
        SplittableRandom random = new SplittableRandom(segments);
        int lost = 0;
        int kept = 0;
        for (int looks = 0; looks < 60; looks++) {
            for (boolean warm : new boolean[] {false, true}) {
                turn(1);
                Interrupting source = new Interrupting(looks, () -> turn(segments));
                RandomAccessReader randomAccess = warm ? readerWithFullIndex(source) : randomAccess(source);
                long wanted = consumer.committedOffset() + random.nextLong(pushed - consumer.committedOffset());
                try {
                    assertRecords(wanted, randomAccess.get(wanted, 20, Long.MAX_VALUE));
                    kept++;
                } catch (OutOfRangeException e) {
                    assertTrue(source.hasRun());
                    assertRangeIsNow(e);
                    lost++;
                }
                source.left = -1;
                assertEquals(consumer.committedOffset(), randomAccess.firstOffset());
                assertEquals(pushed, randomAccess.endOffset());
            }
        }
        assertTrue(kept > 0, "kept " + kept);
        assertTrue(lost > 0 || segments == 1, "lost " + lost);
    }

    private RandomAccessReader readerWithFullIndex(Interrupting source) {
        int looks = source.left;
        source.left = Integer.MAX_VALUE;
        RandomAccessReader randomAccess = randomAccess(source);
        for (long number = consumer.committedOffset(); number < pushed; number++) {
            assertRecords(number, randomAccess.get(number, 1, Long.MAX_VALUE));
        }
        source.left = looks;
        return randomAccess;
    }

    /** The writer may refill a slot as soon as it is reclaimed, whatever its bytes still are. */
    @Test
    void recordsReclaimedDuringACallAreOutOfRange() {
        pushUpTo(5 * SEGMENT);
        popAll();
        long position = 3 * SEGMENT;
        for (boolean isKnown : new boolean[] {false, true}) {
            long[] reclaimed = new long[2];
            RandomAccessReader randomAccess = randomAccess(new OtherProcess() {
                @Override
                public long head() {
                    return 0;
                }

                @Override
                public long reclaimed() {
                    long now = reclaimed[0];
                    reclaimed[0] = reclaimed[1];
                    return now;
                }
            });
            if (isKnown) {
                assertRecords(5, randomAccess.get(5, 1, 1));
                assertEquals(0, randomAccess.firstOffset());
            }
            reclaimed[1] = position;
            OutOfRangeException thrown = assertThrows(OutOfRangeException.class, () -> randomAccess.get(5, 1, 1));
            assertEquals(pushed - 1, thrown.last());
            assertEquals(thrown.first(), randomAccess.firstOffset());
            assertRecords(thrown.first(), randomAccess.get(thrown.first(), 1, 1));
            assertTrue(randomAccess.locate(thrown.first()).position() >= position);
            reclaimed[0] = 0;
            assertEquals(OptionalLong.of(thrown.first()), randomAccess.find(0));
        }
    }

    /** A call that loses one segment after the other retries until it has a result; none of this is damage. */
    @Test
    void theRingMayWrapManyTimesDuringOneCall() {
        pushUpTo(5 * SEGMENT);
        for (int turns = 1; turns < 20; turns++) {
            int[] left = {turns};
            RandomAccessReader randomAccess = randomAccess(new OtherProcess() {
                // After the bounds are loaded, before anything is read.
                @Override
                public long end() {
                    long end = super.end();
                    if (left[0]-- > 0) {
                        turn(CAPACITY);
                    }
                    return end;
                }
            });
            long wanted = consumer.committedOffset() + 3;
            assertRangeIsNow(assertThrows(OutOfRangeException.class, () -> randomAccess.get(wanted, 1, 1)));
            left[0] = turns;
            long found = randomAccess.find(0).orElseThrow();
            assertEquals(consumer.committedOffset(), found);
        }
    }

    @Test
    void firstEndAndTimeAreThoseOfOneMoment() {
        pushUpTo(5 * SEGMENT);
        for (int looks = 0; looks < 40; looks++) {
            turn(1);
            long first = consumer.committedOffset();
            long end = pushed;
            Interrupting source = new Interrupting(looks, () -> turn(CAPACITY));
            long found = randomAccess(source).firstOffset();
            assertTrue(found == first || source.hasRun() && found == consumer.committedOffset(), "first " + found);

            turn(1);
            end = pushed;
            source = new Interrupting(looks, () -> turn(CAPACITY));
            found = randomAccess(source).endOffset();
            assertTrue(found == end || source.hasRun() && found == pushed, "end " + found);

            turn(1);
            first = consumer.committedOffset();
            source = new Interrupting(looks, () -> turn(CAPACITY));
            found = randomAccess(source).find(0).orElseThrow();
            assertTrue(found == first || source.hasRun() && found == consumer.committedOffset(), "found " + found);
        }
    }

    /** A reused slot may hold any bytes: the call throws OutOfRange, not Corrupt. */
    @Test
    void aRefilledSlotIsOutOfRange() throws IOException {
        pushUpTo(5 * SEGMENT);
        RandomAccessReader randomAccess = randomAccess(new OtherProcess());
        for (long number = 0; number < pushed; number++) {
            assertRecords(number, randomAccess.get(number, 1, Long.MAX_VALUE));
        }
        popAll();
        long kept = 0;
        while (randomAccess.locate(kept).position() <= 3 * SEGMENT) {
            kept++;
        }
        writer.ack(consumer, kept - 1);
        Path zeroed = temp.resolve("queue/0_segment.dat");
        Directories.overwrite(zeroed, 0, new byte[SEGMENT]);
        Files.delete(temp.resolve("queue/1_segment.dat"));
        Directories.overwrite(temp.resolve("queue/2_segment.dat"), 64, new byte[1000]);
        for (RandomAccessReader each : List.of(randomAccess, randomAccess(new OtherProcess()))) {
            for (long number = 0; number < kept; number++) {
                long wanted = number;
                assertRangeIsNow(assertThrows(OutOfRangeException.class, () -> each.get(wanted, 1, Long.MAX_VALUE)));
                assertRangeIsNow(assertThrows(OutOfRangeException.class, () -> each.locate(wanted)));
            }
            for (long number = kept; number < pushed; number++) {
                assertRecords(number, each.get(number, 3, Long.MAX_VALUE));
            }
            assertEquals(kept, each.firstOffset());
            assertEquals(OptionalLong.of(kept), each.find(0));
        }
    }

    /** A retained segment must be intact. */
    @Test
    void aZeroedSlotThatIsRetainedIsDamage() {
        pushUpTo(5 * SEGMENT);
        Directories.overwrite(temp.resolve("queue/1_segment.dat"), 0, new byte[SEGMENT]);
        RandomAccessReader randomAccess = randomAccess(new OtherProcess());
        int damaged = 0;
        for (long number = 0; number < pushed; number++) {
            try {
                assertRecords(number, randomAccess.get(number, 1, Long.MAX_VALUE));
            } catch (CorruptException e) {
                assertTrue(e.file().endsWith("1_segment.dat"), e.getMessage());
                damaged++;
            }
        }
        assertTrue(damaged > 5 && damaged < pushed, "damaged " + damaged);
    }

    /** All is acked, exactly at a segment's end: the offset of the next record is found in the segment before. */
    @Test
    void theEndIsKnownWhenAllIsReclaimed() {
        RandomAccessReader randomAccess = randomAccess(new OtherProcess());
        while (writer.log().end() < 3 * CAPACITY * SEGMENT) {
            push();
            int left = (int) (SEGMENT - writer.log().end() % SEGMENT) % SEGMENT;
            if (left >= 16 && left < 300) {
                byte[] exact = Payload.of(pushed, left - 16);
                assertEquals(pushed++, writer.writer().push(exact, 0, exact.length));
                assertEquals(0, writer.log().end() % SEGMENT);
            }
            popAll();
            writer.ack(consumer, pushed - 1);
            assertEquals(pushed, randomAccess.endOffset());
            assertEquals(pushed, randomAccess.firstOffset());
            assertEquals(
                    new RandomAccessReader.OffsetPosition(pushed, writer.log().end()), randomAccess.locate(pushed));
            assertEquals(OptionalLong.empty(), randomAccess.find(0));
            assertThrows(OutOfRangeException.class, () -> randomAccess.get(pushed - 1, 1, 1));
        }
    }

    @Test
    void manyThreadsReadWhileTheRingWraps() throws Exception {
        pushUpTo(4 * SEGMENT);
        RandomAccessReader randomAccess = randomAccess(new OtherProcess());
        RandomAccessReader own =
                new RandomAccessReader((LogReaderV2) writer.log().reader(), new OtherProcess());
        boolean[] done = new boolean[1];
        Object monitor = new Object();
        List<Waiting.Running<Integer>> readers = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            RandomAccessReader each = i % 2 == 0 ? randomAccess : own;
            SplittableRandom random = new SplittableRandom(i);
            readers.add(Waiting.start(() -> {
                int read = 0;
                boolean last = false;
                while (!last) {
                    synchronized (monitor) {
                        last = done[0];
                    }
                    long first = each.firstOffset();
                    long wanted = first + random.nextLong(Math.max(1, each.endOffset() - first));
                    try {
                        List<Message> found = each.get(wanted, 1 + random.nextInt(30), 10_000);
                        assertRecords(wanted, found);
                        long time = found.get(0).timestampMicros();
                        long since = each.find(time).orElseThrow();
                        if (since <= wanted) {
                            read += found.size();
                        } else {
                            assertTrue(since <= each.firstOffset(), "of time " + time + ": " + since);
                        }
                    } catch (OutOfRangeException e) {
                        assertTrue(e.first() > wanted || e.last() < wanted, e.getMessage());
                    }
                }
                return read;
            }));
        }
        turn(100 * CAPACITY);
        synchronized (monitor) {
            done[0] = true;
        }
        for (Waiting.Running<Integer> each : readers) {
            assertTrue(each.result() > 0);
        }
        assertTrue(writer.stats().peakMappedSegments() <= 4);
        assertTrue(other.stats().peakMappedSegments() <= 4);
    }
}
