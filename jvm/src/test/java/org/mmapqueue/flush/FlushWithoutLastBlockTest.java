package org.mmapqueue.flush;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.support.Waiting;

/** What a flush by the ceiling leaves: the block that the log ends in. With everything that is fsynced made of memory. */
@Timeout(60)
class FlushWithoutLastBlockTest {
    private static final int BLOCK = SyncedMemory.BLOCK;
    private static final int LARGE = 16 * BLOCK;
    private static final int SMALL = BLOCK;
    private static final long PERIOD_MILLIS = 20;

    private final SyncedMemory memory = new SyncedMemory();
    private final MetaPage meta = memory.meta;
    private final Syncer large = memory.syncer(new Geometry(Format.V2, LARGE, 16));

    private void end(long position) {
        meta.writing(position);
    }

    private void consumed(long position) {
        memory.unnoted.committed(position);
        memory.named.committed(position);
    }

    @Test
    void theBlockOfTheEndIsLeftAndTheWatermarkStaysWhereTheFlushBeforeBegan() throws IOException {
        end(10 * BLOCK + 700);
        assertFalse(large.syncMost());
        memory.assertCalls("segment 0 0-40960", "named", "watermark 0", "meta");
        end(15 * BLOCK + 900);
        assertFalse(large.syncMost());
        memory.assertCalls("segment 0 40960-61440", "named", "watermark 41660", "meta");
    }

    @Test
    void aWholeFlushTakesWhatWasLeftAndNothingTwice() throws IOException {
        end(10 * BLOCK + 700);
        large.syncMost();
        memory.calls.clear();
        large.syncAll();
        memory.assertCalls("segment 0 40960-41660", "named", "watermark 41660", "meta");
    }

    @Test
    void aSmallSegmentIsOneBlock() throws IOException {
        Syncer small = memory.syncer(new Geometry(Format.V2, SMALL, 100));
        end(5 * SMALL + 100);
        assertFalse(small.syncMost());
        memory.assertCalls(
                "segment 0 0-4096",
                "segment 1 0-4096",
                "segment 2 0-4096",
                "segment 3 0-4096",
                "segment 4 0-4096",
                "named",
                "watermark 0",
                "meta");
        end(10 * SMALL);
        assertFalse(small.syncMost());
        memory.assertCalls(
                "segment 5 0-4096",
                "segment 6 0-4096",
                "segment 7 0-4096",
                "segment 8 0-4096",
                "segment 9 0-4096",
                "named",
                "watermark 20580",
                "meta");
    }

    @Test
    void ofLessThanFourBlocksNothingIsLeft() throws IOException {
        end(4 * BLOCK - 1);
        assertTrue(large.syncMost());
        memory.assertCalls("segment 0 0-" + (4 * BLOCK - 1), "named", "watermark " + (4 * BLOCK - 1), "meta");
    }

    @Test
    void whereConsumersKeepUpTheSegmentIsSyncedAllTheSame() throws IOException {
        end(10 * BLOCK + 700);
        consumed(10 * BLOCK + 500);
        assertFalse(large.syncMost());
        memory.assertCalls("segment 0 0-40960", "named", "watermark 0", "meta");
    }

    @Test
    void whereConsumersKeepUpManySegmentsAheadTheirSegmentIsSyncedToItsEnd() throws IOException {
        Syncer small = memory.syncer(new Geometry(Format.V2, SMALL, 100));
        end(9 * SMALL + 100);
        consumed(9 * SMALL + 50);
        assertTrue(small.syncMost());
        memory.assertCalls("segment 9 0-100", "named", "watermark 36964", "meta");
    }

    @Test
    void whereConsumersKeepUpInTheNextSegmentBothAreSynced() throws IOException {
        end(10 * BLOCK + 700);
        large.syncMost();
        memory.calls.clear();
        end((LARGE / BLOCK + 10) * BLOCK + 700);
        consumed((LARGE / BLOCK + 10) * BLOCK + 700);
        assertFalse(large.syncMost());
        memory.assertCalls("segment 0 40960-65536", "segment 1 0-40960", "named", "watermark 41660", "meta");
        assertEquals(0, meta.intact());
    }

    @Test
    void aConsumerThatGoesBackGetsWhatItNeedsSynced() throws IOException {
        end(10 * BLOCK + 700);
        consumed(10 * BLOCK + 500);
        large.syncMost();
        memory.calls.clear();
        end((LARGE / BLOCK + 10) * BLOCK + 700);
        memory.named.committed(10 * BLOCK + 300);
        assertFalse(large.syncMost());
        memory.assertCalls("segment 0 40960-65536", "segment 1 0-40960", "named", "watermark 41660", "meta");
    }

    @Test
    void withRetentionItIsSyncedThoughConsumersKeepUp() throws IOException {
        meta.retain(1000, 0);
        end(10 * BLOCK + 700);
        consumed(10 * BLOCK + 500);
        assertFalse(large.syncMost());
        memory.assertCalls("segment 0 0-40960", "named", "watermark 0", "meta");
    }

    /** Nothing before the first segment that is fsynced can be relied on, so no recovery may begin there. */
    @Test
    void theWatermarkIsNotBeforeWhatWasLeftOut() throws IOException {
        Syncer small = memory.syncer(new Geometry(Format.V2, SMALL, 100));
        end(9 * SMALL + 100);
        consumed(6 * SMALL + 50);
        assertFalse(small.syncMost());
        memory.assertCalls(
                "segment 6 0-4096", "segment 7 0-4096", "segment 8 0-4096", "named", "watermark 24626", "meta");
        assertEquals(6 * SMALL, meta.intact());
    }

    @Test
    void acksDuringTheFlushMoveTheWatermarkNoFurtherThanWhatIsSynced() throws IOException {
        Syncer small = memory.syncer(new Geometry(Format.V2, SMALL, 100));
        memory.during = what -> {
            if (what.startsWith("segment 0")) {
                consumed(7 * SMALL + 9);
            } else if (what.startsWith("segment 7")) {
                consumed(9 * SMALL + 90);
            }
        };
        end(9 * SMALL + 100);
        assertFalse(small.syncMost());
        memory.assertCalls(
                "segment 0 0-4096",
                "segment 7 0-4096",
                "segment 8 0-4096",
                "named",
                "watermark " + (7 * SMALL + 9),
                "meta");
    }

    @Test
    void versionOneIsSyncedToItsEnd() throws IOException {
        Syncer first = memory.syncer(new Geometry(Format.V1, SMALL, 100));
        end(9 * SMALL + 100);
        assertTrue(first.syncMost());
        assertEquals(9 * SMALL + 100, meta.watermark());
    }

    @Test
    void theThreadLeavesOnRequestWhatThePeriodTakes() {
        AtomicLong now = new AtomicLong();
        try (Flusher flusher = memory.flusher(new Geometry(Format.V2, LARGE, 16), PERIOD_MILLIS)) {
            end(10 * BLOCK + 700);
            flusher.request();
            flusher.start(now::get);
            Waiting.until("the request is served", () -> memory.calls.contains("meta"));
            Waiting.until("the period is over", () -> {
                now.addAndGet(TimeUnit.MILLISECONDS.toNanos(PERIOD_MILLIS));
                return meta.watermark() == 10 * BLOCK + 700;
            });
        }
        assertEquals("segment 0 0-40960", memory.calls.get(0));
        assertEquals("segment 0 40960-41660", memory.calls.get(4));
    }
}
