package org.mmapqueue.flush;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GroupCommitTest {
    private static final int THREADS = 16;

    private final GroupCommit group = new GroupCommit();
    private final AtomicLong published = new AtomicLong();
    private final AtomicInteger runs = new AtomicInteger();
    private final AtomicInteger inside = new AtomicInteger();
    private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    private volatile long durable;

    @AfterEach
    void stop() {
        threads.shutdownNow();
    }

    private void force() {
        assertEquals(1, inside.incrementAndGet(), "runs at once");
        long target = published.get();
        Thread.yield();
        durable = target;
        runs.incrementAndGet();
        inside.decrementAndGet();
    }

    private void all(Callable<Void> work) throws Exception {
        List<Future<Void>> results = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            results.add(threads.submit(work));
        }
        for (Future<Void> each : results) {
            each.get();
        }
    }

    @Test
    void whoReturnsIsServedByARunThatBeganAfterTheCall() throws Exception {
        int each = 2000;
        all(() -> {
            for (int i = 0; i < each; i++) {
                long mine = published.incrementAndGet();
                group.run(this::force);
                assertTrue(durable >= mine);
            }
            return null;
        });
        assertTrue(runs.get() < THREADS * each, () -> runs + " runs: nobody has shared one");
    }

    @Test
    void oneRunServesAllWhoWait() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Future<?> first = threads.submit(() -> group.run(() -> {
            begun.countDown();
            try {
                goOn.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }));
        begun.await();
        List<Thread> waiting = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            Thread thread = new Thread(() -> group.run(this::force));
            thread.start();
            waiting.add(thread);
        }
        for (Thread each : waiting) {
            while (each.getState() != Thread.State.WAITING) {
                Thread.onSpinWait();
            }
        }
        goOn.countDown();
        first.get();
        for (Thread each : waiting) {
            each.join();
        }
        assertEquals(1, runs.get());
    }

    @Test
    void aRunThatFailsTellsItsThreadAloneAndStopsNobody() throws Exception {
        AtomicInteger failed = new AtomicInteger();
        all(() -> {
            for (int i = 0; i < 1000; i++) {
                boolean fails = i % 3 == 0;
                try {
                    group.run(() -> {
                        force();
                        if (fails) {
                            throw new StackOverflowError("injected");
                        }
                    });
                } catch (StackOverflowError e) {
                    failed.incrementAndGet();
                }
            }
            return null;
        });
        assertTrue(failed.get() > 0);
        assertThrows(
                IllegalStateException.class,
                () -> group.run(() -> {
                    throw new IllegalStateException("injected");
                }));
        group.run(this::force);
    }

    @Test
    void anInterruptStaysPendingAndEndsNoWait() throws Exception {
        all(() -> {
            for (int i = 0; i < 1000; i++) {
                long mine = published.incrementAndGet();
                if (i % 5 == 0) {
                    Thread.currentThread().interrupt();
                }
                group.run(this::force);
                assertTrue(durable >= mine);
                assertEquals(i % 5 == 0, Thread.interrupted());
            }
            return null;
        });
    }
}
