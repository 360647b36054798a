package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** A consumer that its first pop creates. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LazyConsumerTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCloseDuringTheFirstPopLeavesItOpenForNobody(boolean leaves) throws Exception {
        TestDisk disk = new TestDisk();
        CountDownLatch isCreating = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        try (MmapQueue queue =
                disk.open(QueueConfig.builder(temp.resolve("queue")).build())) {
            Consumer consumer = queue.consumer();
            disk.watch((isSync, path) -> {
                isCreating.countDown();
                await(goesOn);
                return false;
            });
            Waiting.Running<Message> pop = Waiting.start(consumer::poll);
            await(isCreating);
            Waiting.Running<Void> close = Waiting.start(() -> {
                if (leaves) {
                    consumer.leave();
                } else {
                    consumer.close();
                }
                return null;
            });
            Waiting.until(
                    "the close ends or waits",
                    () -> close.isDone() || close.thread().getState() == Thread.State.BLOCKED);
            goesOn.countDown();
            close.result();
            try {
                pop.result();
            } catch (ClosedException e) {
                // the close came first
            }
            assertFalse(queue.owns("default"), "no other process could pop");
            assertThrows(ClosedException.class, consumer::poll);
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            if (!latch.await(60, TimeUnit.SECONDS)) {
                throw new AssertionError("the other thread hangs");
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
