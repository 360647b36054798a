package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.mmapqueue.concurrent.OwnThread;
import org.mmapqueue.errors.ArchiveUnavailableException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Appender;
import org.mmapqueue.support.Waiting;

/** The loader of records that only the archive has. */
class ReadAheadTest {
    private static final int CHUNK = 10;
    private static final int MIB = 1 << 20;

    private final List<Long> reads = Collections.synchronizedList(new ArrayList<>());
    private final List<OlderChunk> reused = Collections.synchronizedList(new ArrayList<>());
    private volatile boolean fails;
    private volatile Error error;
    private final AtomicReference<Thread> thread = new AtomicReference<>();

    private ReadAhead open(Runnable whenLoaded) {
        OlderRecords records = new OlderRecords() {
            @Override
            public OlderChunk read(long from) throws IOException {
                thread.set(Thread.currentThread());
                reads.add(from);
                if (fails) {
                    throw new IOException("failed by the test");
                }
                Error lacks = error;
                if (lacks != null) {
                    throw lacks;
                }
                OlderChunk.Builder chunk = new OlderChunk.Builder(from);
                chunk.add(from, 0, new byte[MIB], 0, 1);
                return chunk.build(from + CHUNK);
            }

            @Override
            public void reuse(OlderChunk chunk) {
                reused.add(chunk);
            }

            @Override
            public void close() {}
        };
        return new ReadAhead(records, "consumer a", "mmapqueue-a-older", whenLoaded);
    }

    /** Returns when the thread has loaded all for a consumer at an offset: 2 MiB after the chunk that it reads. */
    private void untilItPausesAhead(long offset) {
        Waiting.until("it reads ahead", () -> reads.contains(offset + 2 * CHUNK));
        untilItPauses();
    }

    private void untilItPauses() {
        Waiting.until("the thread pauses", () -> Waiting.isIn(thread.get(), OwnThread.class, "awaitNanos"));
    }

    @Test
    void consumersThatAskAgainDoNotHurryAnArchiveThatFails() throws Exception {
        fails = true;
        AtomicReference<ReadAhead> ahead = new AtomicReference<>();
        // As a pop that waits, which looks again whenever something was loaded, or could not be.
        ahead.set(open(() -> {
            if (fails) {
                assertThrows(NotLoadedException.class, () -> ahead.get().chunk(0));
            }
        }));
        ahead.get().range(0, 100);
        assertThrows(NotLoadedException.class, () -> ahead.get().chunk(0));
        Waiting.until("the archive fails", () -> !reads.isEmpty());
        assertThrows(ArchiveUnavailableException.class, () -> {
            while (true) {
                ahead.get().await(0, 0);
            }
        });
        Waiting.until("the thread pauses, though it is asked", () -> {
            assertThrows(NotLoadedException.class, () -> ahead.get().chunk(0));
            return Waiting.isIn(thread.get(), OwnThread.class, "awaitNanos");
        });
        fails = false;
        Waiting.until("it goes on", () -> reads.contains(2L * CHUNK));
        ahead.get().end();
    }

    /** Without its thread, calls would look for the record again and again. */
    @Test
    void anExceptionOfTheLogEndsNoThread() {
        fails = true;
        ReadAhead ahead = open(() -> {});
        ahead.range(0, 100);
        try (Appender log = Appender.throwing(ReadAhead.class)) {
            assertThrows(ArchiveUnavailableException.class, () -> ahead.await(0, 0));
            assertEquals(1, log.lines());
        }
        fails = false;
        Waiting.until("it goes on", () -> ahead.isLoaded(0));
        ahead.end();
    }

    @Test
    void aReaderWithoutMemoryTellsTheConsumerAndGoesOn() throws Exception {
        error = new OutOfMemoryError("of the test");
        ReadAhead ahead = open(() -> {});
        ahead.range(0, 100);
        MmapQueueException told = assertThrows(MmapQueueException.class, () -> ahead.await(0, 0));
        assertTrue(told.getMessage().startsWith("consumer a: record 0 is in the archive, and could not be read"));
        error = null;
        Waiting.until("it goes on", () -> ahead.isLoaded(0));
        ahead.end();
    }

    @Test
    void aRecordThatWasReadAgainIsNotLoadedForEver() throws Exception {
        ReadAhead ahead = open(() -> {});
        ahead.range(1000, 10_000);
        assertThrows(NotLoadedException.class, () -> ahead.chunk(3));
        ahead.await(3, 0);
        for (long at = 1000; at < 1500; at += CHUNK) {
            ahead.passed(at);
            ahead.await(at, 0);
        }
        untilItPauses();
        ahead.end();
        assertTrue(reads.contains(1490L));
        assertEquals(1, Collections.frequency(reads, 3L), "reads at " + reads);
    }

    @Test
    void theMemoryOfAChunkIsUsedAgainWhenTheConsumerHasLeftIt() throws Exception {
        ReadAhead ahead = open(() -> {});
        ahead.range(0, 10_000);
        ahead.await(0, 0);
        OlderChunk first = ahead.chunk(0);
        for (long at = CHUNK; at <= 3 * CHUNK; at += CHUNK) {
            ahead.passed(at);
            ahead.await(at, 0);
        }
        untilItPausesAhead(3 * CHUNK);
        assertFalse(reused.contains(first), "the consumer may still copy from it");
        for (long at = 3 * CHUNK; at <= 6 * CHUNK; at += CHUNK) {
            ahead.passed(at);
            ahead.await(at, 0);
            ahead.chunk(at);
        }
        untilItPausesAhead(6 * CHUNK);
        ahead.end();
        assertFalse(reused.contains(first), "dropped while it was held: left to the garbage collector");
        assertTrue(
                reused.stream().allMatch(each -> each.end() <= 5 * CHUNK) && !reused.isEmpty(),
                "chunks before the last one that was passed");
    }
}
