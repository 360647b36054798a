package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledForJreRange;
import org.mmapqueue.archive.hadoop.SlowFileSystem;
import org.mmapqueue.consume.ReadAhead;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.spark.common.StoppedQuery;
import org.mmapqueue.support.Waiting;

/** A ring that overflows into a store with slow calls: whoever is in the ring does not notice. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@DisabledForJreRange(minVersion = 24, disabledReason = "this Hadoop calls Subject.getSubject, which is gone")
class OverflowSlowStoreTest extends OverflowSetup {
    private MmapQueue open() {
        return MmapQueue.open(
                config().archiveUri(URI.create("slow://" + archive())).build());
    }

    @Test
    void aConsumerInTheRingCallsNoStoreAndTheOneBehindItGetsAll() throws Exception {
        try (MmapQueue queue = open()) {
            Consumer late = queue.consumer("late", StartAt.EARLIEST);
            Consumer ring = queue.consumer("ring", StartAt.EARLIEST);
            for (int i = 0; i < MANY; i++) {
                push(queue, i, i + 1);
                ring.ack(check(ring.poll(), i, 1));
            }
            assertTrue(queue.firstOffset() > MANY / 2);
            checkAll(late, 0, MANY);
            assertNull(late.poll());
        }
        String self = Thread.currentThread().getName();
        assertFalse(SlowFileSystem.callers().contains(self), "this thread has called the store");
        assertFalse(SlowFileSystem.callers().stream().anyMatch(each -> each.contains("-ring-")));
        assertTrue(SlowFileSystem.callers().stream().anyMatch(each -> each.contains("-late-older")));
    }

    // A queue that was closed with records that its consumer has not read.
    private MmapQueue reopened() throws Exception {
        try (MmapQueue queue = open()) {
            queue.createConsumer("late", StartAt.EARLIEST);
            push(queue, 0, MANY);
        }
        return open();
    }

    @Test
    void callsThatWaitForTheStoreEndWithAnInterruptAndAClose() throws Exception {
        MmapQueue queue = reopened();
        try {
            Consumer late = queue.consumer("late", StartAt.COMMITTED);
            SlowFileSystem.hold(true);
            Waiting.Running<Message> interrupted =
                    Waiting.start(() -> late.pop(LONG)).untilItIsIn(ReadAhead.class, "awaitNanos");
            interrupted.thread().interrupt();
            assertThrows(InterruptedException.class, interrupted::result);
            Waiting.Running<Message> closed =
                    Waiting.start(() -> late.pop(LONG)).untilItIsIn(ReadAhead.class, "awaitNanos");
            queue.close();
            assertThrows(ClosedException.class, closed::result);
        } finally {
            SlowFileSystem.hold(false);
            queue.close();
        }
        try (MmapQueue again = open()) {
            checkAll(again.consumer("late", StartAt.COMMITTED), 0, MANY);
        }
    }

    @Test
    void aConsumerThatIsOpenedWhileItsCreationWaitsForTheStoreStaysOpen() throws Exception {
        try (MmapQueue queue = open()) {
            queue.createConsumer("late", StartAt.EARLIEST);
            push(queue, 0, MANY);
            assertTrue(queue.firstOffset() > MANY / 2);
        }
        MmapQueue queue = open();
        try {
            SlowFileSystem.hold(true);
            Waiting.Running<Void> creation = Waiting.<Void>start(() -> {
                        queue.createConsumer("made", StartAt.offset(17));
                        return null;
                    })
                    .untilItIsIn(SlowFileSystem.class, "sleep");
            Consumer made = queue.consumer("made", StartAt.EARLIEST);
            SlowFileSystem.hold(false);
            creation.result();
            assertTrue(queue.owns("made"));
            assertTrue(made.pop(LONG).offset() > MANY / 2);
        } finally {
            SlowFileSystem.hold(false);
            queue.close();
        }
    }

    /** Spark stops a query by an interrupt, and looks for that among the causes of an UncheckedIOException. */
    @Test
    void anInterruptOfAQueryThatWaitsForTheStoreIsItsEndAndNoFailure() throws Exception {
        MmapQueue queue = reopened();
        try {
            Consumer late = queue.consumer("late", StartAt.COMMITTED);
            SlowFileSystem.hold(true);
            List<Supplier<Object>> calls = List.of(() -> queue.bytes(0, MANY), () -> {
                late.seek(StartAt.offset(5));
                return 5;
            });
            for (Supplier<Object> each : calls) {
                Waiting.Running<Object> query =
                        Waiting.start(() -> StoppedQuery.during(each)).untilItIsIn(SlowFileSystem.class, "sleep");
                query.thread().interrupt();
                UncheckedIOException end = assertThrows(UncheckedIOException.class, query::result);
                assertInstanceOf(InterruptedIOException.class, end.getCause());
                assertTrue(end.getMessage().contains("overflows"), end::getMessage);
            }
        } finally {
            SlowFileSystem.hold(false);
            queue.close();
        }
        IllegalStateException failure = new IllegalStateException("by the test", new IOException());
        assertSame(
                failure,
                assertThrows(
                        IllegalStateException.class,
                        () -> StoppedQuery.during(() -> {
                            throw failure;
                        })));
    }
}
