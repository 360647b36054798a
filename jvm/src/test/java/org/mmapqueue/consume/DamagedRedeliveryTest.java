package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.damage.RecordPositions;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** A requeued record that is damaged, with {@code on_damage = skip}: no ack commits it. */
class DamagedRedeliveryTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue open() {
        return MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .onDamage("skip")
                .build());
    }

    /** What a clean close saves belongs to the records from the committed position on. */
    @Test
    void aCloseAfterItKeepsTheStateOfEachOtherRecord() {
        try (MmapQueue queue = open()) {
            for (int i = 0; i < 10; i++) {
                queue.push(Payload.of(i, 100));
            }
            Consumer consumer = queue.consumer();
            Payload.drain(consumer);
            consumer.ack(5);
            consumer.nack(0);
            Path segment = temp.resolve("queue/0_segment.dat");
            Directories.flip(segment, RecordPositions.of(segment).get(0) + 20, 1);
            assertNull(consumer.poll());
            assertEquals(0, consumer.damagedRanges().get(0).firstOffset());
        }
        try (MmapQueue queue = open()) {
            List<Message> again = Payload.drain(queue.consumer());
            assertEquals(
                    List.of(1L, 2L, 3L, 4L, 6L, 7L, 8L, 9L),
                    again.stream().map(Message::offset).toList());
            again.forEach(each -> assertEquals(2, each.attempts(), "attempts of record " + each.offset()));
        }
    }
}
