package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.damage.RecordPositions;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** A record that is damaged when it should move to the dead-letter queue. */
class DamagedDeadLetterTest {
    private static final Duration LONG = Duration.ofMinutes(1);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue open(String onDamage) {
        MmapQueue queue = MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .maxAttempts(1)
                .deadLetterDir(temp.resolve("dead"))
                .onDamage(onDamage)
                .build());
        for (int i = 0; i < 3; i++) {
            queue.push(Payload.of(i, 100));
        }
        return queue;
    }

    /** One bit of the first record's payload; the second call heals it. */
    private void flip() {
        Path segment = temp.resolve("queue/0_segment.dat");
        Directories.flip(segment, RecordPositions.of(segment).get(0) + 20, 1);
    }

    private byte[] letter() {
        try (MmapQueue letters =
                MmapQueue.open(QueueConfig.builder(temp.resolve("dead")).build())) {
            return letters.consumer().pop().data();
        }
    }

    @Test
    void itIsRedeliveredAndMovesWhenItIsWholeAgain() throws InterruptedException {
        try (MmapQueue queue = open("error")) {
            Consumer consumer = queue.consumer();
            assertEquals(0, consumer.pop().offset());
            flip();
            assertThrows(CorruptException.class, () -> consumer.nack(0));
            assertFalse(Files.exists(temp.resolve("dead")));
            flip();
            while (consumer.pop(LONG).offset() != 0) {
                // a record after it
            }
            consumer.nack(0);
            assertArrayEquals(Payload.of(0, 100), letter());
            assertEquals(1, consumer.committedOffset());
        }
    }

    @Test
    void itIsSkippedWithOtherDamage() {
        try (MmapQueue queue = open("skip")) {
            Consumer consumer = queue.consumer();
            assertEquals(0, consumer.pop().offset());
            flip();
            consumer.nack(0);
            assertEquals(0, consumer.damagedRanges().get(0).firstOffset());
            consumer.ack(consumer.pop().offset());
            assertEquals(2, consumer.committedOffset());
            assertFalse(Files.exists(temp.resolve("dead")));
        }
    }
}
