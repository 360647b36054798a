package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.concurrent.Signal;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/**
 * Each call that ends the wait of another thread wakes it. A waiting thread also checks every few ms, which hides a
 * missing wake-up. Here that interval exceeds the test, so that a missing wake-up is a call that hangs.
 */
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WakeUpTest {
    private static final Duration HOUR = Duration.ofHours(1);
    private static final long NEVER = Long.MAX_VALUE / 4;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue queue;
    private QueueCore core;

    @BeforeEach
    void open() throws ReflectiveOperationException {
        queue = MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(4)
                .maxInMemSegments(6)
                .maxEventSize(2000)
                .flushPeriod(Duration.ofMinutes(10))
                .maxUnacked(3)
                .build());
        core = (QueueCore) fieldOf(MmapQueue.class, QueueCore.class).get(queue);
        int signals = 0;
        for (Field each : QueueCore.class.getDeclaredFields()) {
            if (each.getType() == Signal.class) {
                each.setAccessible(true);
                sleepUntilWoken((Signal) each.get(core));
                signals++;
            }
        }
        assertEquals(2, signals);
    }

    private static Field fieldOf(Class<?> owner, Class<?> type) {
        for (Field each : owner.getDeclaredFields()) {
            if (each.getType() == type) {
                each.setAccessible(true);
                return each;
            }
        }
        throw new AssertionError(owner + " has no field of " + type);
    }

    private static void sleepUntilWoken(Signal signal) throws IllegalAccessException {
        int slices = 0;
        for (Field each : Signal.class.getDeclaredFields()) {
            if (each.getType() == long.class && !Modifier.isStatic(each.getModifiers())) {
                each.setAccessible(true);
                each.setLong(signal, NEVER);
                slices++;
            }
        }
        assertEquals(2, slices);
    }

    @AfterEach
    void close() {
        queue.close();
    }

    private static <T> Waiting.Running<T> startAndSleep(Callable<T> call) {
        Waiting.Running<T> running = Waiting.start(call);
        Waiting.until(
                "the call sleeps",
                () -> running.isDone() || LockSupport.getBlocker(running.thread()) instanceof Condition);
        assertTrue(!running.isDone(), "the call did not have to wait");
        return running;
    }

    private Waiting.Running<Message> startPop() {
        return startAndSleep(() -> queue.consumer().pop(HOUR));
    }

    private Waiting.Running<Long> startPush() {
        return startAndSleep(() -> queue.push(new byte[1000], HOUR));
    }

    private void fill() {
        assertThrows(FullException.class, () -> {
            while (true) {
                queue.push(new byte[1000]);
            }
        });
    }

    private void popSome() {
        for (int i = 0; i < 3; i++) {
            assertEquals(i, queue.consumer().pop().offset());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"push", "batch", "sync", "once"})
    void everyPushWakesAPop(String way) throws Exception {
        for (int round = 0; round < 5; round++) {
            Waiting.Running<Message> pop = startPop();
            switch (way) {
                case "push" -> queue.push(new byte[8]);
                case "batch" -> queue.pushBatch(List.of(new byte[8]));
                case "sync" -> queue.pushSync(new byte[8], HOUR);
                default -> queue.pushOnce("producer", round, List.of(new byte[8]), HOUR);
            }
            assertEquals(round, pop.result().offset());
            queue.consumer().ackUpTo(round);
        }
    }

    @Test
    void aPushWakesEveryConsumer() throws Exception {
        queue.createConsumer("other", StartAt.EARLIEST);
        Waiting.Running<Message> pop = startPop();
        Waiting.Running<Message> other =
                startAndSleep(() -> queue.consumer("other", StartAt.EARLIEST).pop(HOUR));
        queue.push(new byte[8]);
        assertEquals(0, pop.result().offset());
        assertEquals(0, other.result().offset());
    }

    @ParameterizedTest
    @ValueSource(strings = {"nack", "release", "seek"})
    void aRequeuedRecordWakesAPop(String way) throws Exception {
        queue.push(new byte[8]);
        assertEquals(0, queue.consumer().pop().offset());
        Waiting.Running<Message> pop = startPop();
        switch (way) {
            case "nack" -> queue.consumer().nack(0, Duration.ZERO);
            case "release" -> queue.consumer().release(new long[] {0});
            default -> queue.consumer().seek(StartAt.EARLIEST);
        }
        assertEquals(0, pop.result().offset());
    }

    @ParameterizedTest
    @ValueSource(strings = {"ackUpTo", "ack"})
    void roomBelowMaxUnackedWakesAPop(String way) throws Exception {
        for (int i = 0; i < 5; i++) {
            queue.push(new byte[8]);
        }
        popSome();
        Waiting.Running<Message> pop = startPop();
        if (way.equals("ackUpTo")) {
            queue.consumer().ackUpTo(0);
        } else {
            queue.consumer().ack(0);
        }
        assertEquals(3, pop.result().offset());
    }

    @ParameterizedTest
    @ValueSource(strings = {"ackUpTo", "ack", "seek", "delete"})
    void roomInTheRingWakesAPush(String way) throws Exception {
        if (way.equals("delete")) {
            queue.createConsumer("gone", StartAt.EARLIEST);
            queue.createConsumer("quick", StartAt.EARLIEST);
        }
        fill();
        long end = queue.endOffset();
        if (way.equals("delete")) {
            queue.consumer("quick", StartAt.EARLIEST).seek(StartAt.LATEST);
        } else {
            ackUpTo(2);
        }
        // One call wakes the push. An earlier one could do so too, and the last would find it on its way back to sleep.
        Waiting.Running<Long> push = startPush();
        switch (way) {
            case "ackUpTo" -> queue.consumer().ackUpTo(3);
            case "ack" -> queue.consumer().ack(3);
            case "seek" -> queue.consumer().seek(StartAt.LATEST);
            default -> queue.deleteConsumer("gone");
        }
        assertEquals(end, push.result());
    }

    // The next record ends in the second segment: its ack frees the slot of the first one.
    private void ackUpTo(long last) {
        for (long offset = 0; offset <= last; offset++) {
            assertEquals(offset, queue.consumer().pop().offset());
            queue.consumer().ackUpTo(offset);
        }
        assertEquals(last + 1, queue.consumer().pop().offset());
    }

    /** Of the last handle, and of one beside another. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aCloseWakesEveryWaitingThread(boolean last) throws Exception {
        fill();
        popSome();
        Waiting.Running<Message> pop = startPop();
        Waiting.Running<Long> push = startPush();
        MmapQueue other =
                MmapQueue.open(QueueConfig.builder(temp.resolve("queue")).build());
        if (last) {
            other.close();
        }
        queue.close();
        assertThrows(ClosedException.class, pop::result);
        assertThrows(ClosedException.class, push::result);
        other.close();
    }

    @Test
    void aConsumersCloseWakesItsPops() throws Exception {
        Waiting.Running<Message> pop = startPop();
        queue.consumer().close();
        assertThrows(ClosedException.class, pop::result);
    }

    /** The close comes between the look of the call and its sleep, and so finds nobody to wake. */
    @Test
    void aCallDoesNotSleepAfterTheClose() throws Exception {
        fill();
        Waiting.Running<Long> push = Waiting.start(
                () -> core.writer().push(new byte[1000], 0, 1000, HOUR.toNanos(), trueFromTheSecondLookOn()));
        assertThrows(ClosedException.class, push::result);
        queue.consumer().seek(StartAt.LATEST);
        ConsumerCore consumer = core.consumer("default", StartAt.EARLIEST);
        Waiting.Running<Boolean> wait = Waiting.start(() -> {
            core.awaitRecord(consumer, System.nanoTime() + HOUR.toNanos(), () -> true);
            return true;
        });
        assertTrue(wait.result());
    }

    private static BooleanSupplier trueFromTheSecondLookOn() {
        AtomicInteger looks = new AtomicInteger();
        return () -> looks.getAndIncrement() > 0;
    }
}
