package org.mmapqueue.concurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.mmapqueue.support.Waiting;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SignalTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long NEVER = 3600 * SECOND;

    private final AtomicBoolean ready = new AtomicBoolean();

    private static long in(long nanos) {
        return System.nanoTime() + nanos;
    }

    private static Signal sleeping(WaitStrategy strategy) {
        return new Signal(strategy, NEVER, NEVER); // no slice helps
    }

    private Waiting.Running<Boolean> startWaiting(Signal signal) {
        return Waiting.start(() -> {
            signal.await(in(NEVER), ready::get);
            return ready.get();
        });
    }

    @ParameterizedTest
    @EnumSource
    void whatIsReadyIsNotWaitedFor(WaitStrategy strategy) throws InterruptedException {
        ready.set(true);
        sleeping(strategy).await(in(NEVER), ready::get);
    }

    @ParameterizedTest
    @EnumSource
    void aDeadlineInThePastIsNotWaitedFor(WaitStrategy strategy) throws InterruptedException {
        sleeping(strategy).await(in(-1), ready::get);
    }

    @ParameterizedTest
    @CsvSource({"BACKOFF, 1", "BACKOFF, 2", "BACKOFF, 12", "PARK, 1", "PARK, 3", "PARK, 12"})
    void aSignalWakesAllThatSleep(WaitStrategy strategy, int count) throws Exception {
        Signal signal = sleeping(strategy);
        for (int round = 0; round < 3; round++) {
            ready.set(false);
            List<Waiting.Running<Boolean>> all = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                all.add(startWaiting(signal).untilItWaits());
            }
            ready.set(true);
            signal.signalAll();
            for (Waiting.Running<Boolean> each : all) {
                assertTrue(each.result());
            }
        }
    }

    @Test
    void whoSpinsSeesItWithoutASignal() throws Exception {
        Waiting.Running<Boolean> waiting = startWaiting(sleeping(WaitStrategy.SPIN));
        ready.set(true);
        assertTrue(waiting.result());
    }

    /** The one that the others count on is interrupted when it is chosen, or leaves because of its deadline. */
    @Test
    void whoLeavesIsNotWaitedForByTheOthers() throws Exception {
        for (int round = 0; round < 50; round++) {
            ready.set(false);
            Signal signal = sleeping(WaitStrategy.PARK);
            Waiting.Running<Boolean> first = startWaiting(signal).untilItWaits();
            long soon = in(round * 40_000L);
            Waiting.Running<Boolean> second = Waiting.start(() -> {
                signal.await(soon, ready::get);
                return true;
            });
            List<Waiting.Running<Boolean>> others = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                others.add(startWaiting(signal).untilItWaits());
            }
            first.thread().interrupt();
            ready.set(true);
            signal.signalAll();
            for (Waiting.Running<Boolean> each : others) {
                assertTrue(each.result());
            }
            assertTrue(second.result());
            try {
                assertTrue(first.result()); // it was chosen before it was interrupted
            } catch (InterruptedException e) {
                assertTrue(ready.get());
            }
        }
    }

    /** A waiter that is missed for a moment is one that no later signal misses. */
    @Test
    void noneIsLeftBehindByManySignals() throws Exception {
        Signal signal = new Signal(WaitStrategy.PARK, SECOND / 100, SECOND / 100);
        AtomicInteger published = new AtomicInteger();
        int last = 20_000;
        List<Waiting.Running<Integer>> all = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            all.add(Waiting.start(() -> {
                int seen = 0;
                while (seen < last) {
                    int before = seen;
                    signal.await(in(NEVER), () -> published.get() != before);
                    seen = published.get();
                }
                return seen;
            }));
        }
        for (int i = 1; i <= last; i++) {
            published.set(i);
            signal.signalAll();
        }
        for (Waiting.Running<Integer> each : all) {
            assertEquals(last, each.result());
        }
    }

    @ParameterizedTest
    @EnumSource
    void aMissedSignalCostsOneSlice(WaitStrategy strategy) throws InterruptedException {
        Signal signal = new Signal(strategy, 100_000, 1_000_000);
        AtomicInteger looks = new AtomicInteger();
        // Nobody signals; it becomes ready when it is looked at again and again.
        while (looks.get() < 1000) {
            signal.await(in(NEVER), () -> looks.incrementAndGet() >= 1000);
        }
        assertTrue(looks.get() >= 1000);
    }

    @ParameterizedTest
    @EnumSource
    void itReturnsAfterSomeSlicesForItsCallerToLookAtOtherThings(WaitStrategy strategy) throws InterruptedException {
        new Signal(strategy, 100_000, 1_000_000).await(in(NEVER), ready::get);
        assertFalse(ready.get());
    }

    @ParameterizedTest
    @EnumSource
    void anInterruptEndsTheWait(WaitStrategy strategy) {
        Waiting.Running<Boolean> waiting = startWaiting(sleeping(strategy));
        if (strategy != WaitStrategy.SPIN) {
            waiting.untilItWaits();
        }
        waiting.thread().interrupt();
        assertThrows(InterruptedException.class, waiting::result);
    }

    @ParameterizedTest
    @EnumSource
    void itReturnsAtTheDeadline(WaitStrategy strategy) throws InterruptedException {
        long deadline = in(20_000_000);
        while (System.nanoTime() - deadline < 0) {
            sleeping(strategy).await(deadline, ready::get);
        }
        assertFalse(ready.get());
    }
}
