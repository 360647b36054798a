package org.mmapqueue.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.support.Appender;
import org.mmapqueue.support.Waiting;

/** A push that waits long for room is reported, once. */
class RoomWaitTest {
    private static final long LONG_NANOS = RoomWait.LONG_SECONDS * 1_000_000_000;

    @TempDir
    private Path temp;

    @Test
    void onlyALongWaitIsReportedAndOnce() {
        AtomicLong now = new AtomicLong(-7);
        List<String> warnings = new ArrayList<>();
        RoomWait wait = new RoomWait(Path.of("/q"), () -> "the slowest consumer is slow", now::get, warnings::add);
        now.addAndGet(LONG_NANOS - 1);
        wait.goesOn();
        assertEquals(List.of(), warnings);
        now.incrementAndGet();
        wait.goesOn();
        now.addAndGet(10 * LONG_NANOS);
        wait.goesOn();
        assertEquals(
                List.of("no room for 5 s: the queue in /q is full: it holds records that are not acked; the slowest"
                        + " consumer is slow; to make room, ack records, delete a consumer that is not needed, or"
                        + " resize the queue"),
                warnings);
    }

    @Test
    void aReportThatFailsDoesNotFailThePush() {
        AtomicLong now = new AtomicLong();
        RoomWait wait = new RoomWait(Path.of("/q"), () -> "the slowest consumer is slow", now::get, text -> {
            throw new IllegalStateException("an appender has failed");
        });
        now.set(LONG_NANOS);
        wait.goesOn();
        wait.goesOn();
    }

    @Test
    void pushesOfAFullQueueAreReportedWithWhatHoldsIt() throws Exception {
        List<String> logged = Collections.synchronizedList(new ArrayList<>());
        Appender appender = Appender.of(RoomWait.class, logged::add);
        try (appender;
                MmapQueue queue = MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                        .capacity("8k")
                        .build())) {
            Consumer slow = queue.consumer("slow", StartAt.EARLIEST);
            while (queue.offer(new byte[100]).isPresent()) {}
            CompletableFuture<Long> waiting = CompletableFuture.supplyAsync(() -> push(queue));
            CompletableFuture<Long> async = queue.pushAsync(new byte[100]);
            Waiting.until("both were reported", () -> logged.size() >= 2);
            for (String each : logged) {
                assertTrue(each.startsWith("no room for 5 s: the queue in " + temp), each);
                assertTrue(each.contains("; the slowest consumer is slow, "), each);
            }
            while (slow.poll() != null) {}
            slow.ackUpTo(queue.endOffset() - 1);
            assertTrue(waiting.get() > 0);
            assertTrue(async.get() > 0);
            assertEquals(2, logged.size());
        }
    }

    private static long push(MmapQueue queue) {
        try {
            return queue.push(new byte[100], Duration.ofMinutes(1));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
