package org.mmapqueue.concurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mmapqueue.support.Waiting;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SpinLockTest {
    private final SpinLock lock = new SpinLock();
    private long guarded;

    @Test
    void oneThreadAtATimeHoldsTheLock() throws Exception {
        List<Waiting.Running<Boolean>> all = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            all.add(Waiting.start(() -> {
                for (int round = 0; round < 50_000; round++) {
                    lock.lock();
                    guarded++; // plain: lost updates would show
                    lock.unlock();
                }
                return true;
            }));
        }
        for (Waiting.Running<Boolean> each : all) {
            assertTrue(each.result());
        }
        assertEquals(200_000, guarded);
    }

    @Test
    void theLockOfAThreadThatHasEndedIsTaken() throws Exception {
        Thread ended = new Thread(lock::lock);
        ended.start();
        ended.join();
        lock.lock();
        lock.unlock();
    }

    @Test
    void theLockOfALivingThreadThatHasLeftTheLibraryIsTakenByOneThreadAtATime() throws Exception {
        ExecutorService idle = Executors.newSingleThreadExecutor();
        try {
            idle.submit(lock::lock).get();
            oneThreadAtATimeHoldsTheLock();
        } finally {
            idle.shutdown();
        }
    }

    @Test
    void theThreadThatHasLeftTheLockHeldTakesItAgain() {
        lock.lock();
        lock.lock();
        lock.unlock();
        lock.lock();
        lock.unlock();
    }

    @Test
    void theLockOfAThreadInsideTheLibraryIsNotTaken() throws Exception {
        lock.lock();
        Waiting.Running<Boolean> waiting = Waiting.start(() -> {
                    lock.lock();
                    lock.unlock();
                    return true;
                })
                .untilItIsIn(SpinLock.class, "pause");
        Thread.sleep(600); // several looks at this thread's stack
        assertFalse(waiting.isDone());
        lock.unlock();
        assertTrue(waiting.result());
    }

    @Test
    void aWaitingThreadGetsTheLock() throws Exception {
        lock.lock();
        Waiting.Running<Boolean> waiting = Waiting.start(() -> {
                    lock.lock();
                    lock.unlock();
                    return true;
                })
                .untilItIsIn(SpinLock.class, "pause");
        assertFalse(waiting.isDone());
        lock.unlock();
        assertTrue(waiting.result());
    }

    @Test
    void anInterruptDoesNotEndTheWaitAndStaysPending() throws Exception {
        lock.lock();
        Waiting.Running<Boolean> waiting = Waiting.start(() -> {
                    lock.lock();
                    try {
                        return Thread.interrupted();
                    } finally {
                        lock.unlock();
                    }
                })
                .untilItIsIn(SpinLock.class, "pause");
        waiting.thread().interrupt();
        Thread.sleep(5);
        assertFalse(waiting.isDone());
        lock.unlock();
        assertTrue(waiting.result());
    }

    @Test
    void paddingIsUsed() {
        assertEquals(0, lock.padding());
    }
}
