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
class ClaimTest {
    private final Claim claim = new Claim();
    private long guarded;

    @Test
    void oneThreadAtATimeIsInside() throws Exception {
        List<Waiting.Running<Boolean>> all = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            all.add(Waiting.start(() -> {
                for (int round = 0; round < 50_000; round++) {
                    claim.enter();
                    guarded++; // plain: lost updates would show
                    claim.exit();
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
    void tryEnterDoesNotWait() throws Exception {
        assertTrue(claim.tryEnter());
        assertFalse(claim.tryEnter());
        assertFalse(Waiting.start(claim::tryEnter).result());
        claim.exit();
        assertTrue(claim.tryEnter());
        claim.exit();
    }

    @Test
    void enteringTwiceIsAMistakeThatIsTold() {
        claim.enter();
        assertThrows(IllegalStateException.class, claim::enter);
        claim.exit();
        claim.enter();
        claim.exit();
    }

    @Test
    void whoWaitsGetsIn() throws Exception {
        claim.enter();
        Waiting.Running<Boolean> waiting = Waiting.start(() -> {
            claim.enter();
            claim.exit();
            return true;
        }).untilItWaits();
        assertFalse(waiting.isDone());
        claim.exit();
        assertTrue(waiting.result());
    }

    @Test
    void anInterruptNeitherLetsInNorIsLost() throws Exception {
        claim.enter();
        Waiting.Running<Boolean> waiting = Waiting.start(() -> {
            claim.enter();
            try {
                return Thread.interrupted();
            } finally {
                claim.exit();
            }
        }).untilItWaits();
        waiting.thread().interrupt();
        Thread.sleep(5);
        assertFalse(waiting.isDone());
        claim.exit();
        assertTrue(waiting.result());
    }

    @Test
    void paddingIsThere() {
        assertEquals(0, claim.padding());
    }
}
