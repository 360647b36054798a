package org.mmapqueue.bridge;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.queue.Consumer;
import org.mmapqueue.queue.MmapQueue;
import org.mmapqueue.queue.QueueStats;
import org.mmapqueue.queue.StartAt;

/** One opened queue, its consumers known by small numbers. Safe for any number of threads. */
public final class QueueHandle {
    // More than what either format stores beside the payload of a record, and in each segment.
    private static final int RECORD_OVERHEAD = 64;
    private static final int SEGMENT_OVERHEAD = 128;

    private final MmapQueue queue;
    private final java.util.function.Consumer<QueueHandle> onClose;
    // Nothing is ever taken out: a consumer's place is its number.
    private final List<Consumer> consumers = new ArrayList<>();

    QueueHandle(MmapQueue queue, java.util.function.Consumer<QueueHandle> onClose) {
        this.queue = queue;
        this.onClose = onClose;
    }

    /**
     * A consumer.
     *
     * @param name its name; "default" is the one that every queue has
     * @param start where it begins when it is made now: "earliest" or "latest"
     * @return its number, for the calls that take one
     * @throws ConfigException for another start
     * @throws MmapQueueException as {@link MmapQueue#consumer(String, StartAt)} does
     */
    public int consumer(String name, String start) {
        Consumer consumer = queue.consumer(name, startAt(start));
        synchronized (consumers) {
            consumers.add(consumer);
            return consumers.size() - 1;
        }
    }

    private static StartAt startAt(String start) {
        return switch (start.toLowerCase(Locale.ROOT)) {
            case "earliest" -> StartAt.EARLIEST;
            case "latest" -> StartAt.LATEST;
            default -> throw new ConfigException("start", start, "earliest or latest");
        };
    }

    /**
     * Makes a consumer for another process.
     *
     * @param name its name
     * @param start where it begins: "earliest" or "latest"
     * @throws ConfigException for another start
     * @throws MmapQueueException as {@link MmapQueue#createConsumer} does
     */
    public void createConsumer(String name, String start) {
        queue.createConsumer(name, startAt(start));
    }

    Consumer consumer(int number) {
        synchronized (consumers) {
            return consumers.get(number);
        }
    }

    MmapQueue queue() {
        return queue;
    }

    /**
     * Maps a file as a stage.
     *
     * @param path the file; it may be deleted as soon as this returns
     * @param size its size in bytes
     * @param nonce what its first bytes are, in hexadecimal digits: shows that this process sees the same file
     * @return the stage, or null when this process can not map the file or sees another one in its place
     */
    public Stage mappedStage(String path, int size, String nonce) {
        MappedByteBuffer memory;
        try (FileChannel file = FileChannel.open(Path.of(path), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            // Mapping past the end would make the file longer, without the blocks that the other side has reserved.
            if (file.size() != size) {
                return null;
            }
            memory = file.map(FileChannel.MapMode.READ_WRITE, 0, size);
        } catch (IOException e) {
            return null;
        }
        byte[] expected = HexFormat.of().parseHex(nonce);
        byte[] found = new byte[expected.length];
        memory.get(0, found);
        return Arrays.equals(expected, found) ? new Stage(this, memory) : null;
    }

    /**
     * A stage in the heap, for where no memory can be shared: {@link Stage#write} and {@link Stage#read} reach it.
     *
     * @param size its size in bytes
     * @return the stage
     */
    public Stage heapStage(int size) {
        return new Stage(this, ByteBuffer.allocate(size));
    }

    /**
     * Acks all records up to and including one.
     *
     * @param consumer the consumer's number
     * @param offset the record's offset
     * @throws MmapQueueException as {@link Consumer#ack} does
     */
    public void ack(int consumer, long offset) {
        consumer(consumer).ack(offset);
    }

    /**
     * How many records a consumer has not acked.
     *
     * @param consumer the consumer's number
     * @return records from the committed offset to the end
     */
    public long lag(int consumer) {
        return consumer(consumer).lag();
    }

    /**
     * How many records a consumer has not popped.
     *
     * @param consumer the consumer's number
     * @return records from the reading offset to the end
     */
    public long size(int consumer) {
        // In this order, as both only grow: never below zero.
        long read = consumer(consumer).readOffset();
        return queue.endOffset() - read;
    }

    /**
     * Whether a record of max_event_size would find no room now. As long as it would, no push is refused.
     *
     * @return 1 for yes, 0 for no
     */
    public int full() {
        QueueStats stats = queue.stats();
        long end = (stats.slowestCommittedPosition() / stats.segmentSize() + stats.capacitySegments())
                * stats.segmentSize();
        return end - stats.writingPosition() < spaceNeeded(stats.segmentSize()) ? 1 : 0;
    }

    /** At most, wherever in a segment it begins. */
    private long spaceNeeded(int segmentSize) {
        long record = Long.parseLong(queue.config().asMap().get("max_event_size")) + RECORD_OVERHEAD;
        return record + (record / (segmentSize - SEGMENT_OVERHEAD) + 2) * SEGMENT_OVERHEAD;
    }

    /** Forces all that was pushed so far to the disk. */
    public void flush() {
        queue.flush();
    }

    /**
     * The state of the queue.
     *
     * @return the components of {@link QueueStats}, by name: lines of key=value
     */
    public String stats() {
        QueueStats stats = queue.stats();
        StringBuilder text = new StringBuilder();
        for (var component : QueueStats.class.getRecordComponents()) {
            try {
                text.append(component.getName()).append('=').append(component.getAccessor().invoke(stats)).append('\n');
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException("a record's own accessor", e);
            }
        }
        return text.toString();
    }

    /**
     * The configuration in force.
     *
     * @return keys and values by turns, joined by NUL characters
     */
    public String config() {
        Map<String, String> values = queue.config().asMap();
        return values.entrySet().stream().map(entry -> entry.getKey() + Bridge.SEPARATOR + entry.getValue())
                .collect(Collectors.joining(Bridge.SEPARATOR));
    }

    /** Closes this handle; a second time does nothing. Calls that wait through it are woken. */
    public void close() {
        onClose.accept(this);
        queue.close();
    }
}
