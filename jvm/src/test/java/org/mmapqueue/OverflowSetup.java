package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.QuickDirectory;

/** A queue whose ring overflows into an archive beside it, with records that follow from their offsets. */
abstract class OverflowSetup {
    static final Duration LONG = Duration.ofMinutes(1);
    static final Duration SHORT = Duration.ofMillis(50);
    /** More than six rings. */
    static final int MANY = 1000;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    final Path directory() {
        return temp.resolve("queue");
    }

    final Path archive() {
        return temp.resolve("archive");
    }

    /** The queue as it is without an archive. */
    final QueueConfig.Builder plain() {
        return QueueConfig.builder(directory())
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .maxInMemSegments(6)
                .maxEventSize(2000)
                .flushPeriod(Duration.ofMillis(5));
    }

    final QueueConfig.Builder config() {
        return plain().archiveUri(archive().toUri())
                .shipPeriod(Duration.ofMillis(5))
                .overflow("archive");
    }

    final QueueConfig.Builder readOnly() {
        return QueueConfig.builder(directory()).readOnly(true);
    }

    static byte[] payload(long number) {
        byte[] data = new byte[(int) (number * 577 % 1000)];
        Arrays.fill(data, (byte) number);
        return data;
    }

    static void push(MmapQueue queue, long from, long to) throws InterruptedException {
        for (long i = from; i < to; i++) {
            assertEquals(i, queue.push(payload(i), LONG));
        }
    }

    static Message check(Message message, long offset, int attempts) {
        assertNotNull(message, "record " + offset);
        assertEquals(offset, message.offset());
        assertArrayEquals(payload(offset), message.data());
        assertEquals(attempts, message.attempts());
        return message;
    }

    static void checkAll(Consumer consumer, long from, long to) throws InterruptedException {
        for (long i = from; i < to; i++) {
            consumer.ack(check(consumer.pop(LONG), i, 1));
        }
    }

    static void assertNames(Throwable failure, Object... parts) {
        for (Object part : parts) {
            assertTrue(failure.getMessage().contains(part.toString()), failure + " does not name " + part);
        }
    }

    /** Makes a closed queue with a consumer "late" far behind its ring; returns the offset of the ring's first record. */
    final long fill() throws InterruptedException {
        return fill(MANY);
    }

    final long fill(int many) throws InterruptedException {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.createConsumer("late", StartAt.EARLIEST);
            push(queue, 0, many);
            assertTrue(queue.firstOffset() > many / 2);
            return queue.firstOffset();
        }
    }

    final void hide() throws IOException {
        Files.move(archive(), temp.resolve("away"));
    }

    final void restore() throws IOException {
        Files.move(temp.resolve("away"), archive());
    }
}
