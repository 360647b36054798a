package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** Listeners that call the queue, or are slow, when a queue is opened or closed. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class QueueListenerTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue openIn(String name) {
        return MmapQueue.open(QueueConfig.builder(temp.resolve(name))
                .segmentSize(4096)
                .queueCapacitySegments(64)
                .maxInMemSegments(8)
                .build());
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(60, TimeUnit.SECONDS), "the other thread hangs");
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aListenerMayOpenAndCloseQueues() throws Exception {
        List<String> events = new ArrayList<>();
        QueueListener listener = new QueueListener() {
            @Override
            public void opened(Path directory, Figures figures) {
                event("+", directory);
            }

            @Override
            public void closed(Path directory, Figures figures) {
                event("-", directory);
            }

            private void event(String what, Path directory) {
                String name = directory.getFileName().toString();
                events.add(what + name);
                if (name.equals("first")) {
                    openIn("inner").close();
                    throw new IllegalStateException("logged");
                }
            }
        };
        MmapQueue.addListener(listener);
        events.clear(); // of queues that were open before
        MmapQueue first = openIn("first");
        first.close();
        MmapQueue.removeListener(listener);
        openIn("first").close();
        assertEquals(List.of("+first", "+inner", "-inner", "-first", "+inner", "-inner"), events);
    }

    @Test
    void aSlowListenerBlocksNoOtherThread() throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        QueueListener listener = new QueueListener() {
            @Override
            public void opened(Path directory, Figures figures) {
                if (directory.endsWith("slow")) {
                    inside.countDown();
                    QueueListenerTest.await(goOn);
                }
            }

            @Override
            public void closed(Path directory, Figures figures) {
                // not tested here
            }
        };
        MmapQueue.addListener(listener);
        try {
            Waiting.Running<MmapQueue> slow = Waiting.start(() -> openIn("slow"));
            await(inside);
            openIn("other").close();
            openIn("slow").close();
            goOn.countDown();
            slow.result().close();
        } finally {
            MmapQueue.removeListener(listener);
        }
    }
}
