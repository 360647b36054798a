package org.mmapqueue.bench.scale;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.mmapqueue.Consumer;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;

/**
 * A queue of 1 KiB records, with its defaults except for segments, capacity and the limit of mapped segments.
 */
final class ScaleQueue implements MessageHandler, AutoCloseable {
    static final int PAYLOAD = 1024;
    /** Few, so that memory shows what grows with the queue. */
    static final int MAPPED = 10;

    static final int ACK_EVERY = 256;
    private static final int OVERHEAD = 16;
    private static final int SEGMENT_HEADER = 64;
    /** Room beyond the queued records: segments in use at both ends, preallocated ones, and the largest tail. */
    static final long MARGIN_BYTES = 1L << 30;

    private static final int LEAST_MARGIN = 16;

    final MmapQueue opened;
    private final Consumer consumer;
    private final byte[] record = new byte[PAYLOAD];
    private long last = -1;
    private long popped;

    ScaleQueue(Path directory, int segment, int capacity, boolean flusher) {
        QueueConfig.Builder builder = QueueConfig.builder(directory)
                .segmentSize(segment)
                .queueCapacitySegments(capacity)
                .maxInMemSegments(MAPPED);
        if (!flusher) {
            builder.flushPeriod(Duration.ofMillis(Integer.MAX_VALUE)).flushCeilingNum(Integer.MAX_VALUE);
        }
        opened = MmapQueue.open(builder.build());
        consumer = opened.consumer();
        new Random(PAYLOAD).nextBytes(record);
    }

    /** Opens the queue of {@link #arguments}. */
    static ScaleQueue of(String[] arguments, boolean flusher) {
        return new ScaleQueue(
                Path.of(arguments[0]), Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]), flusher);
    }

    static List<String> arguments(Path directory, int segment, int capacity) {
        return List.of(directory.toString(), Integer.toString(segment), Integer.toString(capacity));
    }

    static long records(long bytes) {
        return bytes / PAYLOAD;
    }

    /** Returns the segments of a ring for {@code bytes} of payload, with a margin. */
    static int capacity(long bytes, int segment) {
        int perSegment = Math.max(1, (segment - SEGMENT_HEADER) / (PAYLOAD + OVERHEAD));
        long margin = Math.max(LEAST_MARGIN, MARGIN_BYTES / segment);
        return Math.toIntExact(records(bytes) / perSegment + 1 + margin);
    }

    void push(long count) {
        for (long i = 0; i < count; i++) {
            opened.push(record);
        }
    }

    /** Pops and acks records. */
    void pop(long count) {
        popped = 0;
        for (long i = 1; i <= count; i++) {
            consumer.poll(this);
            if (i % ACK_EVERY == 0 || i == count) {
                consumer.ackUpTo(last);
            }
        }
        if (popped != count * PAYLOAD) {
            throw new IllegalStateException(popped + " bytes popped in " + count + " records");
        }
    }

    /** Unacked records. */
    long queued() {
        return opened.endOffset() - consumer.committedOffset();
    }

    /** Pushes or pops until {@code count} records are queued. */
    void resizeTo(long count) {
        long tooMany = queued() - count;
        if (tooMany > 0) {
            pop(tooMany);
        } else {
            push(-tooMany);
        }
    }

    /** Reads the next records of the consumer without moving it, so that the page cache holds them. */
    void warm(long count) {
        long first = consumer.readOffset();
        long end = Math.min(first + count, opened.endOffset());
        while (first < end) {
            first += opened.getMany(first, (int) Math.min(1000, end - first), Long.MAX_VALUE, this);
        }
    }

    @Override
    public void onMessage(long offset, long timestampMicros, byte[] buffer, int start, int length, int attempts) {
        last = offset;
        popped += length;
    }

    @Override
    public void close() {
        opened.close();
    }
}
