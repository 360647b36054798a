package org.mmapqueue.concurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mmapqueue.support.Waiting;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SpinLockTest {
    private final SpinLock lock = new SpinLock();
    private long guarded;

    @Test
    void oneThreadAtATimeIsInside() throws Exception {
        List<Waiting.Running<Boolean>> all = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            all.add(Waiting.start(() -> {
                for (int round = 0; round < 50_000; round++) {
                    lock.acquire();
                    guarded++; // plain: lost updates would show
                    lock.release();
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
    void tryAcquireDoesNotWait() throws Exception {
        assertTrue(lock.tryAcquire());
        assertFalse(lock.tryAcquire());
        assertFalse(Waiting.start(lock::tryAcquire).result());
        lock.release();
        assertTrue(lock.tryAcquire());
        lock.release();
    }

    @Test
    void enteringTwiceIsAMistakeThatIsTold() {
        lock.acquire();
        assertThrows(IllegalStateException.class, lock::acquire);
        lock.release();
        lock.acquire();
        lock.release();
    }

    @Test
    void whoWaitsGetsIn() throws Exception {
        lock.acquire();
        Waiting.Running<Boolean> waiting = Waiting.start(() -> {
                    lock.acquire();
                    lock.release();
                    return true;
                })
                .untilItWaits();
        assertFalse(waiting.isDone());
        lock.release();
        assertTrue(waiting.result());
    }

    @Test
    void anInterruptNeitherLetsInNorIsLost() throws Exception {
        lock.acquire();
        Waiting.Running<Boolean> waiting = Waiting.start(() -> {
                    lock.acquire();
                    try {
                        return Thread.interrupted();
                    } finally {
                        lock.release();
                    }
                })
                .untilItWaits();
        waiting.thread().interrupt();
        Thread.sleep(5);
        assertFalse(waiting.isDone());
        lock.release();
        assertTrue(waiting.result());
    }

    @Test
    void paddingIsThere() {
        assertEquals(0, lock.padding());
    }
}
