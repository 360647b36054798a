package org.mmapqueue.queue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.OutOfRangeException;

/** A queue next to a list that must say the same after every step. */
final class QueueModel implements AutoCloseable {
    private final Setup setup;
    private Path directory;
    private MmapQueue queue;
    private int copies;

    /** All that was ever pushed, by number. */
    private final List<byte[]> log = new ArrayList<>();
    private int read;
    private int committed;
    /** The number that is offset 0: always 0 in version 2; in version 1 what was committed at the open. */
    private int zero;

    QueueModel(Setup setup, Path directory) {
        this.setup = setup;
        this.directory = directory;
        this.queue = setup.open(directory);
    }

    private byte[] payload(int length) {
        return Payload.of(log.size(), Math.min(length, setup.maxEvent));
    }

    void push(int length) {
        byte[] payload = payload(length);
        long offset;
        try {
            offset = queue.push(payload);
        } catch (FullException e) {
            assertHolds(payload.length);
            return;
        }
        assertEquals(log.size() - zero, offset);
        log.add(payload);
        check();
    }

    void pushBatch(List<Integer> lengths) throws InterruptedException {
        List<byte[]> batch = new ArrayList<>();
        int before = log.size();
        int bytes = 0;
        for (int length : lengths) {
            batch.add(payload(length));
            bytes += setup.footprint(batch.get(batch.size() - 1).length);
            log.add(batch.get(batch.size() - 1));
        }
        if (bytes > setup.room()) {
            log.subList(before, log.size()).clear();
            return;
        }
        try {
            assertEquals(before - zero, queue.pushBatch(batch, Duration.ZERO));
        } catch (FullException e) {
            log.subList(before, log.size()).clear();
            assertHolds(bytes);
        }
        check();
    }

    // Full may only be said when what is held, and one record more, comes near to the ring's size.
    private void assertHolds(int more) {
        long bytes = setup.footprint(more);
        for (byte[] held : log.subList(committed, log.size())) {
            bytes += setup.footprint(held.length);
        }
        // A reopening after a kill may leave the rest of a segment unused.
        long wasted = (long) (2 + copies) * setup.segmentSize;
        assertTrue(bytes + wasted >= setup.room(), "full with " + bytes + " bytes of " + setup.room());
    }

    void pop() {
        Message message = queue.poll();
        if (read == log.size()) {
            assertNull(message);
        } else {
            assertNext(message);
        }
        check();
    }

    private void assertNext(Message message) {
        assertEquals(read - zero, message.offset());
        assertArrayEquals(log.get(read), message.data(), "record " + read);
        read++;
    }

    void popBatch(int records, int bytes) throws InterruptedException {
        List<Message> batch = queue.popBatch(records, bytes, Duration.ZERO);
        int expected = 0;
        long sum = 0;
        while (expected < records && read + expected < log.size()) {
            sum += log.get(read + expected).length;
            if (expected > 0 && sum > bytes) {
                break;
            }
            expected++;
        }
        assertEquals(expected, batch.size());
        batch.forEach(this::assertNext);
        check();
    }

    void peek() {
        Message message = queue.peek();
        if (read == log.size()) {
            assertNull(message);
        } else {
            assertEquals(read - zero, message.offset());
            assertArrayEquals(log.get(read), message.data());
        }
        check();
    }

    /** Acks a record between a little before the committed one and a little behind the one read last. */
    void ack(int choice) {
        int number = committed - 3 + choice % (read - committed + 6);
        long offset = (long) number - zero;
        if (offset < 0 || number >= read) {
            assertThrows(OutOfRangeException.class, () -> queue.ack(offset));
        } else {
            queue.ack(offset);
            committed = Math.max(committed, number + 1);
        }
        check();
    }

    void ackAll() {
        if (read > committed) {
            queue.ack(read - 1L - zero);
            committed = read;
        }
        check();
    }

    void flush() {
        queue.flush();
        assertEquals(queue.stats().writingPosition(), queue.stats().watermarkPosition());
        check();
    }

    void reopen() {
        queue.close();
        queue = setup.open(directory);
        opened();
    }

    /** Goes on with what a kill at this moment would leave. */
    void abandon() {
        Path copy = Directories.copy(directory, directory.resolveSibling("copy-" + copies++));
        queue.close();
        Directories.delete(directory);
        directory = copy;
        queue = setup.openAfterKill(directory);
        opened();
        if (setup.isV1()) {
            // What was said for one open must not stick to the next.
            reopen();
        }
    }

    private void opened() {
        read = committed;
        zero = setup.isV1() ? committed : 0;
        check();
    }

    private void check() {
        Consumer consumer = queue.consumer();
        assertEquals(log.size() - zero, queue.endOffset());
        assertEquals(read - zero, consumer.readOffset());
        assertEquals(committed - zero, consumer.committedOffset());
        assertEquals(log.size() - committed, consumer.lag());
    }

    /** Pops all that is left. */
    @Override
    public void close() {
        while (read < log.size()) {
            assertNext(queue.poll());
        }
        assertNull(queue.poll());
        assertTrue(queue.stats().peakMappedSegments() <= setup.maxInMem);
        queue.close();
    }

    MmapQueue queue() {
        return queue;
    }
}
