package org.mmapqueue.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mmapqueue.support.Waiting;

/** A reader wants a segment whose slot is filled for a later one meanwhile. */
@Timeout(120)
class FilledDuringEvictionTest extends DiscardedFiles {
    private final CountDownLatch filling = new CountDownLatch(1);
    private final CountDownLatch finish = new CountDownLatch(1);
    private Waiting.Running<Boolean> preallocating;

    private static void await(CountDownLatch latch) throws IOException {
        try {
            if (!latch.await(Waiting.LONG.toSeconds(), TimeUnit.SECONDS)) {
                throw new IOException("not within the time limit");
            }
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
    }

    @Test
    void theFileStaysOpenWhenTheReaderFails() throws Exception {
        for (long id = 0; id < CAPACITY; id++) {
            write(id);
            writer.evictWhenFull();
        }
        reopen();
        writer.startAt(CAPACITY - 1);
        for (long id = 1; id <= MAX; id++) {
            writer.unpin(writer.pin(id));
        }
        storage.whileFilling = () -> {
            filling.countDown();
            await(finish);
        };
        storage.beforeClosing = () -> {
            storage.beforeClosing = () -> {};
            preallocating = Waiting.start(() -> {
                writer.preallocate(CAPACITY);
                return true;
            });
            await(filling);
            throw new IOException("the evicted file could not be closed");
        };
        IOException failure = assertThrows(IOException.class, () -> writer.pin(0));
        assertEquals("the evicted file could not be closed", failure.getMessage());
        finish.countDown();
        preallocating.result();
        storage.whileFilling = () -> {};
        write(CAPACITY);
        assertReads(writer, CAPACITY);
    }
}
