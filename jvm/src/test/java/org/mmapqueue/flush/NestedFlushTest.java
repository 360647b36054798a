package org.mmapqueue.flush;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.ProducerPage;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.support.Waiting;

/** A flush begins while another one has released its lock for acks between two segments. */
@Timeout(120)
class NestedFlushTest {
    private static final int SIZE = 4096;
    private static final MetaFields QUEUE = new MetaFields(2, 10, SIZE, 1, 2, true, 1000, 0, 1);

    @TempDir
    Path temp;

    private final SyncedMemory memory = new SyncedMemory();
    private final Flusher flusher = memory.flusher(new Geometry(Format.V2, SIZE, 10), 3_600_000);
    private ProducerPage page;
    private Waiting.Running<Boolean> inner;
    private Waiting.Running<Boolean> acks;

    private void push(long sequence, int segments) {
        page.store(sequence, 10 * sequence, (long) segments * SIZE, null);
        page.accept();
        memory.meta.writing((long) segments * SIZE);
    }

    private Waiting.Running<Boolean> startAndWaitForTheLock(Runnable call) {
        Waiting.Running<Boolean> running = Waiting.start(() -> {
            call.run();
            return true;
        });
        Waiting.until("it waits", () -> running.thread().getState() == Thread.State.WAITING);
        return running;
    }

    /** A durable sequence whose batch is not durable would replace the slot of the batch before. */
    @Test
    void noFlushEndsTheSequenceOfAnotherOne() throws Exception {
        Path file = temp.resolve("producer.dat");
        ProducerPage.create(DiskStorage.INSTANCE, file, QUEUE, 0);
        page = ProducerPage.open(DiskStorage.INSTANCE, file, QUEUE);
        page.start(0);
        memory.producers.add(page);
        push(1, 3);
        Thread outer = Thread.currentThread();
        memory.during = what -> {
            if (Thread.currentThread() == outer && what.startsWith("segment 0")) {
                push(2, 6);
                inner = startAndWaitForTheLock(flusher::flush);
                acks = startAndWaitForTheLock(() -> flusher.syncAcks(SIZE));
            } else if (inner != null && Thread.currentThread() == inner.thread() && what.startsWith("segment 0")) {
                flusher.startAt(2 * SIZE); // what the acks wait for is durable, without a flush of theirs
            }
        };
        flusher.flush();
        boolean ended = page.isDurable(2);
        boolean synced = List.copyOf(memory.calls).contains("segment 5 0-4096");
        assertTrue(synced || !ended, "sequence 2 is durable, but not its batch");
        inner.result();
        acks.result();
        assertTrue(page.isDurable(2));
        assertTrue(memory.calls.contains("segment 5 0-4096"));
        flusher.close();
        page.close();
    }

    /** Otherwise it would never be parked. */
    @Test
    void aPageWithNothingToSyncStaysIdle() throws IOException {
        Path file = temp.resolve("producer.dat");
        ProducerPage.create(DiskStorage.INSTANCE, file, QUEUE, 0);
        page = ProducerPage.open(DiskStorage.INSTANCE, file, QUEUE);
        page.start(0);
        memory.producers.add(page);
        push(1, 1);
        assertFalse(page.isIdle());
        flusher.flush();
        assertTrue(page.isIdle());
        memory.meta.writing(2 * SIZE);
        flusher.flush();
        assertTrue(page.isIdle());
        page.close();
    }
}
