package org.mmapqueue.swap;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mmapqueue.support.Waiting;

/** Other threads want a slot that is being filled. */
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

    @Test
    void aFileThatCannotBeFilledNorClosedStopsNoOtherThread() throws Exception {
        storage.whileFilling = () -> {
            filling.countDown();
            await(finish);
            throw new IOException("the file could not be filled");
        };
        preallocating = Waiting.start(() -> {
            writer.preallocate(0);
            return true;
        });
        await(filling);
        Waiting.Running<Boolean> other = Waiting.start(() -> {
                    writer.preallocate(0);
                    return true;
                })
                .untilItIsIn(SlotTable.class, "awaitUninterruptibly");
        storage.whileFilling = () -> {};
        storage.beforeClosing = () -> {
            storage.beforeClosing = () -> {};
            throw new IOException("the file could not be closed");
        };
        finish.countDown();
        IOException failure = assertThrows(IOException.class, () -> preallocating.result());
        assertEquals("the file could not be filled", failure.getMessage());
        other.result();
        write(0);
        assertReads(writer, 0);
    }
}
