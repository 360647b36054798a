package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.mmapqueue.config.Settings;

/** Times of redelivery, to the millisecond. */
class RedeliveryTest {
    private static final long NEVER = Long.MAX_VALUE;

    private final Window window = new Window(1000);
    private long now = 5000;

    private Redelivery redelivery(long visibilityMillis) {
        return redelivery(visibilityMillis, 0);
    }

    private Redelivery redelivery(long visibilityMillis, int maxAttempts) {
        return new Redelivery(
                window,
                new SparseIndex(),
                null,
                new Settings.Delivery(1000, visibilityMillis, maxAttempts, null, false),
                () -> now,
                new DamagePolicy(null, null, null));
    }

    /** Each delivery starts a new visibility timeout, however the one before ended. */
    @Test
    void aReleasedRecordGetsAFullTimeoutAtItsNextDelivery() {
        Redelivery redelivery = redelivery(6400);
        pop(redelivery);
        pop(redelivery);
        pop(redelivery);
        now += 5000;
        redelivery.release(1);
        assertEquals(1, redelivery.due());
        redelivery.popped(1);
        assertEquals(1, window.attempts(1));
        now += 1500; // the other two have expired
        redelivery.expire();
        assertEquals(Window.REQUEUED, window.state(0));
        assertEquals(Window.IN_FLIGHT, window.state(1));
        assertEquals(Window.REQUEUED, window.state(2));
        now += 4899;
        redelivery.expire();
        assertEquals(Window.IN_FLIGHT, window.state(1));
        now += 101;
        redelivery.expire();
        assertEquals(Window.REQUEUED, window.state(1));
    }

    /** From the maximum on, all deliveries of a record have the same number of attempts. */
    @Test
    void anEarlierTimeoutDoesNotEndALaterDeliveryOfEqualAttempts() {
        Redelivery redelivery = redelivery(6400);
        window.add(Window.IN_FLIGHT, 16_383);
        redelivery.lease(0);
        now += 5000;
        redelivery.requeue(0, 0);
        assertEquals(0, redelivery.due());
        redelivery.popped(0);
        now += 1500;
        redelivery.expire();
        assertEquals(Window.IN_FLIGHT, window.state(0));
        now += 5000;
        redelivery.expire();
        assertEquals(Window.REQUEUED, window.state(0));
    }

    private void pop(Redelivery redelivery) {
        window.add(Window.IN_FLIGHT, 1);
        redelivery.lease(window.next() - 1);
    }

    @Test
    void aDelayDoesNotEndEarly() {
        Redelivery redelivery = redelivery(0);
        pop(redelivery);
        pop(redelivery);
        assertEquals(NEVER, redelivery.quietMillis());
        redelivery.requeue(0, 100);
        redelivery.requeue(1, 30);
        assertEquals(30, redelivery.quietMillis());
        now += 29;
        assertEquals(-1, redelivery.due());
        assertEquals(1, redelivery.quietMillis());
        now += 1;
        assertEquals(1, redelivery.due());
        assertEquals(0, redelivery.quietMillis());
        redelivery.popped(1);
        assertEquals(-1, redelivery.due());
        now += 69;
        assertEquals(-1, redelivery.due());
        now += 1;
        assertEquals(0, redelivery.due());
    }

    @Test
    void aDeadLetterThatIsNotTakenIsDueAfterASecond() {
        Redelivery redelivery = redelivery(0, 1);
        pop(redelivery);
        assertTrue(redelivery.requeue(0, 0));
        assertEquals(-1, redelivery.due());
        assertTrue(redelivery.retryDeadLetter(0));
        assertEquals(1000, redelivery.quietMillis());
        now += 999;
        assertEquals(-1, redelivery.due());
        now += 1;
        assertEquals(0, redelivery.due());
    }

    @Test
    void theEarliestIsDueFirstThenTheLowestOffset() {
        Redelivery redelivery = redelivery(0);
        for (int i = 0; i < 4; i++) {
            pop(redelivery);
        }
        redelivery.requeue(3, 0);
        redelivery.requeue(2, 50);
        redelivery.requeue(0, 50);
        redelivery.requeue(1, 0);
        now += 50;
        for (long expected : new long[] {1, 3, 0, 2}) {
            assertEquals(expected, redelivery.due());
            redelivery.popped(expected);
        }
        assertEquals(-1, redelivery.due());
    }

    @Test
    void aRecordWithoutADelayIsDueAtOnce() {
        Redelivery redelivery = redelivery(0);
        pop(redelivery);
        redelivery.requeue(0, 0);
        assertEquals(0, redelivery.due());
        assertEquals(0, redelivery.quietMillis());
    }

    /** The lease of the earlier delivery ends during that of the later one. */
    @Test
    void anEarlierLeaseDoesNotRequeueALaterDelivery() {
        Redelivery redelivery = redelivery(6400);
        pop(redelivery);
        now += 3000;
        redelivery.requeue(0, 0);
        assertEquals(0, redelivery.due());
        redelivery.popped(0);
        assertEquals(2, window.attempts(0));
        now += 3500; // the first lease has ended
        redelivery.expire();
        assertEquals(Window.IN_FLIGHT, window.state(0));
        now += 3000; // the second one has
        redelivery.expire();
        assertEquals(Window.REQUEUED, window.state(0));
        assertEquals(2, window.attempts(0));
    }

    @Test
    void aResetForgetsLeasesAndDelays() {
        Redelivery redelivery = redelivery(6400);
        pop(redelivery);
        pop(redelivery);
        redelivery.requeue(1, 100);
        now += 3000;
        redelivery.reset();
        window.reset(0);
        assertEquals(NEVER, redelivery.quietMillis());
        pop(redelivery);
        pop(redelivery);
        redelivery.requeue(1, 5000);
        now += 3500; // the lease and the delay from before the reset have ended
        redelivery.expire();
        assertEquals(Window.IN_FLIGHT, window.state(0));
        assertEquals(-1, redelivery.due());
        now += 1500;
        assertEquals(1, redelivery.due());
    }

    /** Up to a 64th of the timeout late: records popped at about the same time share a run. */
    @Test
    void aTimeoutEndsSoonAfterItsDeadline() {
        Redelivery redelivery = redelivery(6400);
        pop(redelivery);
        now += 100;
        pop(redelivery);
        now += 1;
        pop(redelivery);
        assertEquals(6399, redelivery.quietMillis());
        now += 6398;
        redelivery.expire();
        assertFalse(redelivery.hasExpired());
        assertEquals(Window.IN_FLIGHT, window.state(0));
        now += 1;
        assertTrue(redelivery.hasExpired());
        redelivery.expire();
        assertEquals(Window.REQUEUED, window.state(0));
        assertEquals(Window.REQUEUED, window.state(1));
        assertEquals(Window.IN_FLIGHT, window.state(2));
        assertEquals(0, redelivery.due());
        now += 100;
        assertFalse(redelivery.hasExpired());
        now += 1;
        redelivery.expire();
        assertEquals(Window.REQUEUED, window.state(2));
    }
}
