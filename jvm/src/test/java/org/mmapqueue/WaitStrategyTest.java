package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.errors.EmptyException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** With every wait strategy a wait ends with success, at its timeout, or by an interrupt. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WaitStrategyTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue open(String strategy) {
        return MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(4)
                .maxInMemSegments(4)
                .maxEventSize(3000)
                .flushPeriod(Duration.ofMinutes(10))
                .waitStrategy(strategy)
                .build());
    }

    @ParameterizedTest
    @ValueSource(strings = {"backoff", "park", "spin"})
    void popsAndPushesWaitForEachOther(String strategy) throws Exception {
        int total = 3000;
        try (MmapQueue queue = open(strategy)) {
            assertEquals(strategy, queue.config().asMap().get("wait_strategy"));
            Waiting.Running<Boolean> consuming = Waiting.start(() -> {
                for (int i = 0; i < total; i++) {
                    Message message = queue.consumer().pop(Waiting.LONG);
                    assertEquals(i, message.offset());
                    assertEquals(i, Payload.numberOf(message.data()));
                    if (i % 10 == 9) {
                        queue.consumer().ackUpTo(i); // the ring is full at times, empty at others
                    }
                }
                return true;
            });
            for (int i = 0; i < total; i++) {
                assertEquals(i, queue.push(Payload.numbered(i, 200), Waiting.LONG));
            }
            consuming.result();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"backoff", "park", "spin"})
    void aWaitEndsAtItsTimeout(String strategy) {
        try (MmapQueue queue = open(strategy)) {
            assertThrows(EmptyException.class, () -> queue.consumer().pop(Duration.ofMillis(5)));
            assertThrows(FullException.class, () -> {
                while (true) {
                    queue.push(new byte[1000], Duration.ofMillis(5));
                }
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"backoff", "park", "spin"})
    void anInterruptEndsAWait(String strategy) {
        try (MmapQueue queue = open(strategy)) {
            Waiting.Running<Message> waitingPop =
                    Waiting.start(() -> queue.consumer().pop(Waiting.LONG));
            waitingPop.thread().interrupt();
            assertThrows(InterruptedException.class, waitingPop::result);
        }
    }
}
