package org.mmapqueue.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.Records;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.support.QuickDirectory;

/** A producer is deleted while another thread pushes as the same producer. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ForgottenProducerTest {
    private static final int PUSHES = 1000;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    /** A push that waits for the sequence to be durable must not wait for one that was deleted since. */
    @Test
    void aSyncPushEnds() throws InterruptedException {
        QueueConfig config = QueueConfig.builder(temp.resolve("queue")).build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            CompletableFuture<Void> deletions = CompletableFuture.runAsync(() -> {
                while (queue.endOffset() < PUSHES) {
                    try {
                        queue.forgetProducer("p");
                    } catch (ConfigException e) {
                        // Not made again yet.
                    }
                }
            });
            Records batch = Records.of(List.of(new byte[1]));
            for (int i = 0; i < PUSHES; i++) {
                assertEquals(
                        i, queue.pushOnce("p", i, batch, Duration.ZERO, true).orElseThrow());
            }
            deletions.join();
        }
    }
}
