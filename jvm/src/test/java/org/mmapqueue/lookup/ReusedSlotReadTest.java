package org.mmapqueue.lookup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mmapqueue.Message;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.log.LogReaderV2;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

/** Reads by offset of slots that were reclaimed, refilled or wiped. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReusedSlotReadTest extends WrappingRing {
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
        writer.ackUpTo(consumer, kept - 1);
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
            writer.ackUpTo(consumer, pushed - 1);
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
