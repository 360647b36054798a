package org.mmapqueue.lookup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.errors.OutOfRangeException;

/** The writer reuses slots while another process reads them through its own mappings. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RandomAccessRaceTest extends WrappingRing {
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
}
