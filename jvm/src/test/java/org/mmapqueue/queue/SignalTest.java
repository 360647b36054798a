package org.mmapqueue.queue;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SignalTest {
    private static final long SECOND = 1_000_000_000L;

    private final AtomicBoolean ready = new AtomicBoolean();

    private static long in(long nanos) {
        return System.nanoTime() + nanos;
    }

    @Test
    void whatIsReadyIsNotWaitedFor() throws InterruptedException {
        ready.set(true);
        new Signal(SECOND).await(in(3600 * SECOND), ready::get);
    }

    @Test
    void aDeadlineInThePastIsNotWaitedFor() throws InterruptedException {
        new Signal(SECOND).await(in(-1), ready::get);
    }

    @Test
    void aSignalWakesAllThatWait() throws Exception {
        Signal signal = new Signal(3600 * SECOND); // no slice helps
        List<Waiting.Running<Boolean>> all = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            all.add(Waiting.start(() -> {
                signal.await(in(3600 * SECOND), ready::get);
                return ready.get();
            }).untilItWaits());
        }
        ready.set(true);
        signal.signalAll();
        for (Waiting.Running<Boolean> each : all) {
            assertTrue(each.result());
        }
    }

    @Test
    void aMissedSignalCostsOneSlice() throws InterruptedException {
        Signal signal = new Signal(1_000_000);
        AtomicInteger looks = new AtomicInteger();
        // Nobody signals; it becomes ready when it is looked at again and again.
        while (looks.get() < 1000) {
            signal.await(in(3600 * SECOND), () -> looks.incrementAndGet() >= 1000);
        }
        assertTrue(looks.get() >= 1000);
    }

    @Test
    void anInterruptEndsTheWait() {
        Signal signal = new Signal(3600 * SECOND);
        Waiting.Running<Boolean> waiting = Waiting.start(() -> {
            signal.await(in(3600 * SECOND), ready::get);
            return true;
        }).untilItWaits();
        waiting.thread().interrupt();
        assertThrows(InterruptedException.class, waiting::result);
    }

    @Test
    void itReturnsAtTheDeadline() throws InterruptedException {
        long deadline = in(20_000_000);
        while (System.nanoTime() - deadline < 0) {
            new Signal(SECOND).await(deadline, ready::get);
        }
        assertFalse(ready.get());
    }
}
