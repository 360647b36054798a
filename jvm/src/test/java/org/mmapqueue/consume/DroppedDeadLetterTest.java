package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/**
 * The writer drops a record that is on its way to the dead-letter queue. The consumer's next call throws Dropped, not the
 * move: a failure of that is only logged.
 */
class DroppedDeadLetterTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    /** A queue without its threads, so that only a push drops records. */
    private QueueCore core;

    private ConsumerCore consumer;
    private final List<byte[]> letters = new ArrayList<>();

    @BeforeEach
    void popTheLastAttempt() {
        core = Cores.open(
                QueueConfig.builder(temp.resolve("queue"))
                        .segmentSize(4096)
                        .queueCapacitySegments(8)
                        .maxEventSize(3000)
                        .flushPeriod(Duration.ofMinutes(10))
                        .maxConsumerLag(10_000)
                        .maxAttempts(1)
                        .deadLetterDir(temp.resolve("dead"))
                        .build(),
                DiskStorage.INSTANCE);
        consumer = core.consumer("default", StartAt.EARLIEST);
        push(5);
        assertEquals(0, consumer.poll().offset());
        assertTrue(consumer.nack(0, 0));
    }

    @AfterEach
    void close() {
        core.close();
    }

    private void push(int count) {
        for (int i = 0; i < count; i++) {
            byte[] payload = Payload.numbered(core.endOffset(), 250);
            core.writer().push(payload, 0, payload.length);
        }
    }

    /** @param whenTaken runs while the dead-letter queue takes a record */
    private void move(Runnable whenTaken) {
        new DeadLetters(core.settings(), config -> new DeadLetters.Target() {
                    @Override
                    public void push(byte[] data) {
                        letters.add(data);
                        whenTaken.run();
                    }

                    @Override
                    public void close() {}
                })
                .moveDeadLetters(consumer);
    }

    private void assertDropped() {
        DroppedException dropped = assertThrows(DroppedException.class, () -> core.poll(consumer));
        assertEquals(0, dropped.first());
        assertFalse(consumer.hasDeadLetters());
        assertEquals(dropped.last() + 1, core.poll(consumer).offset());
    }

    @Test
    void beforeTheMove() {
        push(400);
        move(() -> {});
        assertEquals(0, letters.size());
        assertDropped();
    }

    @Test
    void whileTheDeadLetterQueueTakesIt() {
        move(() -> push(400));
        assertEquals(0, Payload.numberOf(letters.get(0)));
        assertDropped();
    }

    /** Then it is not popped: there is nothing to ack. */
    @Test
    void aSeekWhileTheDeadLetterQueueTakesIt() {
        move(() -> core.seek(consumer, StartAt.EARLIEST));
        assertEquals(0, core.poll(consumer).offset());
        assertEquals(1, consumer.unacked());
    }
}
