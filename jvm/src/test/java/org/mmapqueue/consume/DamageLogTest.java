package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.RecordReader;
import org.mmapqueue.damage.RecordPositions;
import org.mmapqueue.log.SkippedDamage;
import org.mmapqueue.support.Appender;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** Damage that is skipped is logged: appenders of the log are the program's code. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DamageLogTest {
    private static final List<Long> WHOLE = List.of(0L, 1L, 2L, 4L, 5L, 6L, 7L, 8L, 9L);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue queue;
    private Consumer consumer;

    @BeforeEach
    void damageRecord3() {
        queue = MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .onDamage("skip")
                .build());
        consumer = queue.consumer();
        for (int i = 0; i < 10; i++) {
            queue.push(Payload.of(i, 100));
        }
        Path segment = temp.resolve("queue/0_segment.dat");
        Directories.flip(segment, RecordPositions.of(segment).get(3) + 20, 1);
    }

    @AfterEach
    void close() {
        queue.close();
    }

    private static List<Long> offsets(List<Message> messages) {
        return messages.stream().map(Message::offset).toList();
    }

    private static void onAnotherThread(Runnable work) {
        try {
            CompletableFuture.runAsync(work).get(1, TimeUnit.MINUTES);
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            throw new AssertionError("the consumer is locked while it logs", e);
        }
    }

    @Test
    void anAppenderMayWaitForAThreadThatUsesTheConsumer() {
        List<Long> lags = new ArrayList<>();
        try (Appender log = Appender.of(SkippedDamage.class, line -> onAnotherThread(() -> lags.add(consumer.lag())))) {
            assertEquals(WHOLE, offsets(Payload.drain(consumer)));
            assertEquals(1, log.lines());
        }
        assertEquals(List.of(9L), lags, "the damaged record counts as acked");
    }

    @Test
    void anAppenderThatThrowsFailsNoCall() {
        try (Appender log = Appender.throwing(SkippedDamage.class)) {
            assertEquals(0, consumer.pop().offset());
            assertEquals(1, consumer.pop().offset());
            assertEquals(2, consumer.pop().offset());
            assertEquals(4, consumer.peek().offset());
            assertEquals(WHOLE.subList(3, 9), offsets(consumer.pollBatch(100, Long.MAX_VALUE)));
            assertEquals(1, consumer.damagedRanges().size());
            assertEquals(1, log.lines());
        }
    }

    @Test
    void anAppenderThatThrowsFailsNoReader() {
        List<Long> read = new ArrayList<>();
        try (Appender log = Appender.throwing(SkippedDamage.class);
                RecordReader reader = queue.reader(0, 10, true)) {
            while (reader.offset() < 10) {
                reader.read(100, Long.MAX_VALUE, (offset, timestamp, data) -> read.add(offset));
            }
            assertEquals(1, reader.damagedRanges().size());
            assertEquals(1, log.lines());
        }
        assertEquals(WHOLE, read);
    }
}
