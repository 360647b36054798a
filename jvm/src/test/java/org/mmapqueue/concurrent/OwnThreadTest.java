package org.mmapqueue.concurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.mmapqueue.io.Threads;
import org.mmapqueue.support.Appender;
import org.mmapqueue.support.Waiting;

class OwnThreadTest {
    private final AtomicInteger rounds = new AtomicInteger();
    private final AtomicReference<OwnThread> self = new AtomicReference<>();

    private OwnThread counting(long pauseNanos) {
        OwnThread thread = new OwnThread("counting", () -> {
            while (!self.get().isEnding()) {
                rounds.incrementAndGet();
                self.get().pause(pauseNanos);
            }
        });
        self.set(thread);
        return thread;
    }

    @Test
    void itHasOneLife() {
        OwnThread thread = counting(Long.MAX_VALUE);
        assertFalse(thread.isEnding());
        assertTrue(thread.start());
        assertFalse(thread.start());
        Waiting.until("a round", () -> rounds.get() == 1);
        assertFalse(thread.hasEnded());
        assertTrue(thread.close(Waiting.LONG, () -> {}));
        assertTrue(thread.hasEnded());
        assertFalse(thread.start());
        assertFalse(thread.end());
        assertEquals(1, rounds.get());
    }

    @Test
    void itNeverStartsAfterItsEnd() {
        OwnThread thread = counting(1);
        assertTrue(thread.end());
        assertFalse(thread.start());
        assertTrue(thread.isEnding());
        assertTrue(thread.close(Duration.ZERO, () -> {}));
        assertEquals(0, rounds.get());
    }

    @Test
    void aWakeUpAndAnInterruptEndOnePause() {
        OwnThread thread = counting(Long.MAX_VALUE);
        thread.start();
        Waiting.until("the first round", () -> rounds.get() == 1);
        thread.wake();
        Waiting.until("another round", () -> rounds.get() == 2);
        thread.interrupt();
        Waiting.until("a third round", () -> rounds.get() == 3);
        assertFalse(thread.isEnding());
        thread.endAndJoin();
        assertEquals(3, rounds.get());
    }

    /** The log is the program's code: it may push to the queue, and another thread that pushes may wake this one. */
    @Test
    void anInterruptIsLoggedWithoutTheLock() {
        OwnThread thread = counting(Long.MAX_VALUE);
        Appender waking = Appender.of(Threads.class, line -> {
            Thread other = new Thread(thread::wake);
            other.start();
            Threads.join(other);
        });
        try (waking) {
            thread.start();
            Waiting.until("the first round", () -> rounds.get() == 1);
            thread.interrupt();
            Waiting.until("two rounds more", () -> rounds.get() == 3);
            thread.endAndJoin();
        }
    }

    @Test
    void aBodyThatHangsIsInterruptedAndMayEndLater() {
        CountDownLatch hangs = new CountDownLatch(1);
        AtomicInteger interrupts = new AtomicInteger();
        OwnThread thread = new OwnThread("hanging", () -> {
            while (hangs.getCount() > 0) {
                try {
                    hangs.await();
                } catch (InterruptedException e) {
                    interrupts.incrementAndGet();
                }
            }
        });
        thread.start();
        AtomicInteger aborts = new AtomicInteger();
        assertFalse(thread.close(Duration.ofMillis(1), aborts::incrementAndGet));
        assertEquals(1, aborts.get());
        assertEquals(1, interrupts.get());
        AtomicInteger last = new AtomicInteger();
        thread.whenEnded(last::incrementAndGet);
        assertEquals(0, last.get());
        hangs.countDown();
        Waiting.until("it has ended", () -> last.get() == 1);
        thread.whenEnded(last::incrementAndGet);
        assertEquals(2, last.get());
    }

    @Test
    void anInterruptOfTheCallerStaysPending() {
        CountDownLatch ends = new CountDownLatch(1);
        OwnThread thread = new OwnThread("interruptible", () -> {
            try {
                ends.await();
            } catch (InterruptedException e) {
                // ends it
            }
        });
        thread.start();
        Thread.currentThread().interrupt();
        thread.close(Waiting.LONG, () -> {});
        assertTrue(Thread.interrupted());
        Waiting.until("it has ended", thread::hasEnded);
    }

    @Test
    void anErrorEndsIt() {
        OwnThread thread = new OwnThread("failing", () -> {
            throw new IllegalStateException("expected in the log of this test");
        });
        thread.start();
        Waiting.until("it has ended", thread::hasEnded);
    }
}
