package org.mmapqueue.tool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mmapqueue.tool.report.Progress;

/** A job is polled, and can be cancelled while its tool reports progress. */
@Timeout(60)
class JobTest {
    @Test
    void aCancelledJobEndsAtItsNextProgress() throws InterruptedException {
        Job job = Job.started("test-endless", JobTest::readForever);
        while (job.done() == 0) {
            assertFalse(job.isOver(1));
        }
        job.cancel();
        assertTrue(job.isOver(60_000));
        assertThrows(CancellationException.class, job::result);
    }

    @Test
    void aToolWithoutFurtherProgressRunsToItsEnd() throws InterruptedException {
        CountDownLatch cancelled = new CountDownLatch(1);
        Job job = Job.started("test-switching", progress -> {
            try {
                cancelled.await();
            } catch (InterruptedException e) {
                return "interrupted";
            }
            return "completed";
        });
        job.cancel();
        assertFalse(job.isOver(1));
        cancelled.countDown();
        assertTrue(job.isOver(60_000));
        assertEquals("completed", job.result());
    }

    private static String readForever(Progress progress) {
        for (long done = 1; ; done++) {
            progress.at(done, Long.MAX_VALUE);
            Thread.onSpinWait();
        }
    }
}
