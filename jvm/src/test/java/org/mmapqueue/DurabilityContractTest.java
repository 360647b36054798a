package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

@ForEverySetup
class DurabilityContractTest extends ContractTest {

    private void assertAllDurable() {
        QueueStats stats = queue.stats();
        assertEquals(stats.writingPosition(), stats.watermarkPosition());
    }

    @Test
    void flushMovesTheRecoveryPoint() {
        Payload.pushAll(queue, setup.payloads(1, 50));
        assertEquals(0, queue.stats().watermarkPosition());
        queue.flush();
        assertAllDurable();
        queue.push(new byte[10]);
        assertTrue(queue.stats().watermarkPosition() < queue.stats().writingPosition());
        queue.flush();
        queue.flush();
        assertAllDurable();
    }

    @Test
    void aSyncPushIsDurableWhenItReturns() throws Exception {
        for (int i = 0; i < 10; i++) {
            queue.push(setup.tenth(i));
            assertEquals(2L * i + 1, queue.pushSync(setup.tenth(i), Waiting.LONG));
            assertAllDurable();
        }
    }

    @Test
    void syncPushesOfManyThreads() throws Exception {
        List<Waiting.Running<Boolean>> pushers = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            pushers.add(Waiting.start(() -> {
                for (int round = 0; round < 10; round++) {
                    queue.pushSync(setup.tenth(round), Waiting.LONG);
                    long end = queue.stats().watermarkPosition();
                    assertTrue(end >= setup.segmentSize / 10);
                }
                return true;
            }));
        }
        for (Waiting.Running<Boolean> pusher : pushers) {
            assertTrue(pusher.result());
        }
        assertAllDurable();
        assertEquals(40, queue.endOffset());
    }

    @Test
    void theFlushCeilingTriggersAFlush() {
        queue.close();
        queue = MmapQueue.open(setup.config(directory).flushCeilingNum(5).build());
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 5; i++) {
                queue.push(setup.tenth(i));
            }
            Waiting.until(
                    "the flusher has flushed",
                    () -> queue.stats().watermarkPosition() == queue.stats().writingPosition());
        }
    }

    @Test
    void theFlushPeriodTriggersAFlush() {
        queue.close();
        queue = MmapQueue.open(
                setup.config(directory).flushPeriod(Duration.ofMillis(20)).build());
        for (int round = 0; round < 3; round++) {
            queue.push(setup.tenth(round));
            Waiting.until(
                    "the flusher has flushed",
                    () -> queue.stats().watermarkPosition() == queue.stats().writingPosition());
        }
    }

    @Test
    void closeFlushes() {
        Payload.pushAll(queue, setup.payloads(2, 50));
        long end = queue.stats().writingPosition();
        reopen();
        assertEquals(end, queue.stats().watermarkPosition());
        assertEquals(end, queue.stats().writingPosition());
    }
}
