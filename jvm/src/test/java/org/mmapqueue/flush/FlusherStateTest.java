package org.mmapqueue.flush;

import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mmapqueue.support.Waiting;

@Timeout(120)
class FlusherStateTest {
    private static final int ROUNDS = 50_000;

    /** What the first thread has seen as the cause stays the cause. */
    @Test
    void ofTwoFailuresAtOnceOneIsTheCauseForAll() throws Exception {
        FlusherState[] states = new FlusherState[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            states[round] = new FlusherState();
        }
        AtomicInteger arrived = new AtomicInteger();
        Waiting.Running<Throwable[]> other = Waiting.start(() -> poisonAll(states, arrived));
        Throwable[] seen = poisonAll(states, arrived);
        Throwable[] seenByOther = other.result();
        for (int round = 0; round < ROUNDS; round++) {
            assertSame(seen[round], seenByOther[round], "round " + round);
            assertSame(seen[round], states[round].failure(), "round " + round);
        }
    }

    private static Throwable[] poisonAll(FlusherState[] states, AtomicInteger arrived) {
        Throwable own = new IllegalStateException(Thread.currentThread().getName());
        Throwable[] seen = new Throwable[states.length];
        for (int round = 0; round < states.length; round++) {
            arrived.incrementAndGet();
            for (int look = 1; arrived.get() < 2 * (round + 1); look++) {
                if (look % 1000 == 0) {
                    Thread.yield(); // the other thread may need this processor
                }
            }
            states[round].poison(own);
            seen[round] = states[round].failure();
        }
        return seen;
    }
}
