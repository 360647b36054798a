package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.mmapqueue.archive.SteppedShipper;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.LocalFiles;
import org.mmapqueue.core.OpenQueues;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.tool.copy.Copier;
import org.mmapqueue.tool.copy.RingSize;
import org.mmapqueue.tool.report.Progress;

/** A ring that overflows, on a disk that becomes full before the ring has all its files. */
class OverflowFullDiskTest extends OverflowSetup {
    private static final int SEGMENTS = 40;
    /** Room for some files of the ring. */
    private static final int ROOM = 4 * 4096 + 100;

    private static void push(MmapQueue queue, SteppedShipper shipper, int count) throws IOException {
        for (int i = 0; i < count; i++) {
            queue.push(payload(queue.endOffset()));
            if (i % 20 == 0) {
                queue.flush();
                shipper.ship(() -> {});
            }
        }
    }

    @Test
    void pushesFailTheConsumerBehindReadsOnAndWithRoomAllContinues() throws Exception {
        fill();
        Copier.resize(directory(), new RingSize(4096L * SEGMENTS, 4096), Progress.NONE);
        FaultyStorage disk = new FaultyStorage();
        QueueConfig config = config().queueCapacitySegments(SEGMENTS).build();
        try (MmapQueue queue = new MmapQueue(OpenQueues.acquire(config.values(), disk), false);
                ArchiveFiles files = new LocalFiles(archive());
                SteppedShipper shipper = SteppedShipper.resume(
                        queue.core().shipping().source(archive().toUri()), files, 8192)) {
            Consumer late = queue.consumer("late", StartAt.COMMITTED);
            Consumer ring = queue.consumer("ring", StartAt.LATEST);
            int passed = 0;
            int seen = MANY;
            for (int times = 0; times < 3; times++) {
                disk.room(ROOM);
                MmapQueueException full =
                        assertThrows(MmapQueueException.class, () -> push(queue, shipper, 10 * SEGMENTS));
                assertEquals(MmapQueueException.class, full.getClass());
                assertNames(full, "disk full");
                checkAll(late, passed, passed + 100);
                passed += 100;
                checkAll(ring, seen, queue.endOffset());
                seen = (int) queue.endOffset();
                assertNull(ring.poll());
            }
            disk.room(Long.MAX_VALUE);
            push(queue, shipper, MANY);
            assertTrue(queue.firstOffset() > seen, "the ring begins at " + queue.firstOffset());
            checkAll(late, passed, queue.endOffset());
            checkAll(ring, seen, queue.endOffset());
            assertNull(late.poll());
        }
    }
}
