package org.mmapqueue.bridge;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.QueueListener;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** The queues that Python has opened. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BridgeTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @Test
    void anOpenQueueIsKnownWhileAListenerHearsOfAnother() throws Exception {
        String directory = temp.resolve("queue").toString();
        QueueHandle handle = Bridge.open(String.join(Bridge.SEPARATOR, "queue_dir", directory));
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        QueueListener listener = new QueueListener() {
            @Override
            public void opened(Path each, Figures figures) {
                if (each.endsWith("other")) {
                    inside.countDown();
                    await(goesOn);
                }
            }

            @Override
            public void closed(Path each, Figures figures) {}
        };
        MmapQueue.addListener(listener);
        try {
            Waiting.Running<MmapQueue> other = Waiting.start(() ->
                    MmapQueue.open(QueueConfig.builder(temp.resolve("other")).build()));
            await(inside);
            assertTrue(Bridge.isOpen(directory));
            goesOn.countDown();
            other.result().close();
            assertFalse(Bridge.isOpen(temp.resolve("other").toString()), "Python has not opened it");
            handle.close();
            assertFalse(Bridge.isOpen(directory));
        } finally {
            MmapQueue.removeListener(listener);
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(60, TimeUnit.SECONDS), "the other thread hangs");
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
