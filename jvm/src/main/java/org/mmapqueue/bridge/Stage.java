package org.mmapqueue.bridge;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.Records;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.TooLargeException;

/**
 * A piece of memory that records go through, and the calls that move them from there into the queue and back. Who calls
 * has the stage to himself from the time he fills it until he has emptied it; calls that come at once all the same run
 * one after the other.
 *
 * <p>Calls that change the queue are numbered. A call with the number of the last one that succeeded does nothing: it
 * gives the same answer again, and what the stage held then it still holds. So a caller who was interrupted before he
 * saw an answer asks once more, and neither loses a record nor moves one twice; and a connection that breaks and is
 * made anew underneath repeats no push.
 */
public final class Stage {
    /** What is pushed as one takes at most this part of the heap. */
    private static final int HEAP_SHARE = 4;

    private final QueueHandle handle;
    private final MmapQueue queue;
    private final ByteBuffer memory;
    private final PopSink sink;
    private byte[] payload = new byte[0];
    private int[] lengths = new int[0];
    private int loadedBytes;
    private int loadedCount;
    private int lastCall;
    private long lastAnswer;

    Stage(QueueHandle handle, ByteBuffer memory) {
        this.handle = handle;
        this.queue = handle.queue();
        this.memory = memory.order(ByteOrder.nativeOrder());
        this.sink = new PopSink(this.memory);
    }

    /**
     * The most payload that one call moves.
     *
     * @return bytes
     */
    public int payloadLimit() {
        return StageLayout.payloadLimit(memory.capacity());
    }

    /**
     * The most records that one call moves.
     *
     * @return a number
     */
    public int recordLimit() {
        return StageLayout.recordLimit(memory.capacity());
    }

    /**
     * Pushes the one record in the stage.
     *
     * @param call the number of this call
     * @param length bytes of payload
     * @param waitMillis how long to wait for room
     * @param sync 1 to return only when it is on the disk
     * @return the record's offset, or {@link Status#FULL} or {@link Status#CLOSED}
     * @throws MmapQueueException as {@link MmapQueue#push(byte[])} does, and
     *     when the thread is interrupted
     */
    public synchronized long push(int call, int length, int waitMillis, int sync) {
        if (call == lastCall) {
            return lastAnswer;
        }
        reserve(length);
        memory.get(StageLayout.PAYLOAD, payload, 0, length);
        return answered(call, pushOne(0, length, waitMillis, sync != 0));
    }

    /**
     * Pushes records of the stage in order, as many as there is room for.
     *
     * @param call the number of this call
     * @param bytes bytes of payload of all records in the stage
     * @param count records in the stage
     * @param from the first of them to push
     * @param waitMillis how long to wait for room for one, where there is room for none
     * @return how many were pushed, 0 for none within the time; or {@link Status#CLOSED}
     * @throws MmapQueueException as {@link MmapQueue#push(byte[])} does, and only for the first record of the call, and
     *     when the thread is interrupted
     */
    public synchronized long pushMany(int call, int bytes, int count, int from, int waitMillis) {
        if (call == lastCall) {
            return lastAnswer;
        }
        // The later calls for one filling of the stage find it loaded.
        if (from == 0) {
            loadedCount = 0;
            loadedBytes = 0;
            append(bytes, count);
        }
        int start = 0;
        for (int i = 0; i < from; i++) {
            start += lengths[i];
        }
        return answered(call, new ChunkPusher(queue, payload, lengths).push(start, from, count - from, waitMillis));
    }

    /**
     * Takes a part of something that is pushed as one by {@link #pushLoaded}: a batch, or a record larger than the
     * stage.
     *
     * @param call the number of this call
     * @param begin 1 for the first part: what was loaded before is forgotten
     * @param bytes bytes of payload in the stage
     * @param count lengths of records in the stage; a record may end in a later part than the one that has its length
     * @return 0
     * @throws TooLargeException when it will not go through the heap of this JVM
     */
    public synchronized long load(int call, int begin, int bytes, int count) {
        if (call == lastCall) {
            return lastAnswer;
        }
        if (begin != 0) {
            unload();
        }
        long most = Runtime.getRuntime().maxMemory() / HEAP_SHARE;
        if ((long) loadedBytes + bytes > most) {
            unload();
            throw new TooLargeException("what is pushed as one goes through the heap of the JVM, and can be " + most
                    + " bytes with this one");
        }
        append(bytes, count);
        return answered(call, 0);
    }

    /**
     * Pushes what was loaded, all or nothing. It stays loaded until it is pushed.
     *
     * @param call the number of this call
     * @param waitMillis how long to wait for room
     * @param sync 1 to return only when it is on the disk
     * @return the first record's offset, or {@link Status#FULL} or {@link Status#CLOSED}
     * @throws MmapQueueException as {@link MmapQueue#pushBatch(java.util.List)} does, and
     *     when the thread is interrupted
     */
    public synchronized long pushLoaded(int call, int waitMillis, int sync) {
        if (call == lastCall) {
            return lastAnswer;
        }
        long answer;
        if (loadedCount == 1) {
            answer = pushOne(0, loadedBytes, waitMillis, sync != 0);
        } else {
            answer = pushLoadedBatch(waitMillis);
        }
        if (answer >= 0) {
            unload();
        }
        return answered(call, answer);
    }

    /**
     * Pushes what was loaded, all or nothing, unless its producer has pushed it before. It stays loaded until it is
     * pushed, or known to have been.
     *
     * @param call the number of this call
     * @param waitMillis how long to wait for room
     * @param sync 1 to return only when it is on the disk
     * @param producer who pushes
     * @param sequence the batch's number
     * @return the first record's offset, or {@link Status#DONE}, {@link Status#FULL} or {@link Status#CLOSED}
     * @throws MmapQueueException as {@link MmapQueue#pushOnce(String, long, Records, Duration, boolean)} does, and
     *     when the thread is interrupted
     */
    public synchronized long pushLoadedOnce(int call, int waitMillis, int sync, String producer, long sequence) {
        if (call == lastCall) {
            return lastAnswer;
        }
        long answer = ChunkPusher.statusOf(() -> {
            long offset = queue.pushOnce(
                    producer,
                    sequence,
                    Records.packed(payload, 0, lengths, loadedCount),
                    Duration.ofMillis(waitMillis),
                    sync != 0);
            unload();
            return offset < 0 ? Status.DONE : offset;
        });
        return answered(call, answer);
    }

    private long pushLoadedBatch(int waitMillis) {
        return ChunkPusher.statusOf(
                () -> queue.pushBatch(payload, 0, lengths, loadedCount, Duration.ofMillis(waitMillis)));
    }

    /**
     * Pops records into the stage.
     *
     * @param call the number of this call
     * @param consumer the consumer's number
     * @param maxRecords the most records
     * @param maxBytes the most bytes of payload; one record is given whatever its size
     * @param waitMillis how long to wait for the first
     * @return how many there are in the stage, or {@link Status#EMPTY} or {@link Status#CLOSED}
     * @throws MmapQueueException as {@link org.mmapqueue.Consumer#popBatch} does, and
     *     when the thread is interrupted
     */
    public synchronized long pop(int call, int consumer, int maxRecords, int maxBytes, int waitMillis) {
        if (call == lastCall) {
            return lastAnswer;
        }
        sink.begin();
        try {
            handle.consumer(consumer)
                    .popBatch(
                            Math.min(maxRecords, recordLimit()),
                            Math.min(maxBytes, payloadLimit()),
                            Duration.ofMillis(waitMillis),
                            sink);
        } catch (ClosedException e) {
            return answered(call, Status.CLOSED);
        } catch (InterruptedException e) {
            throw new MmapQueueException("the pop was interrupted in the JVM, before anything was popped", e);
        } catch (MmapQueueException | OutOfMemoryError e) {
            // What the sink has is popped; the next call meets the error again.
            if (sink.isEmpty()) {
                throw e;
            }
        }
        return answered(call, sink.end());
    }

    /**
     * Puts the record that would be popped next into the stage.
     *
     * @param consumer the consumer's number
     * @return 1, or {@link Status#EMPTY} or {@link Status#CLOSED}
     * @throws MmapQueueException as {@link org.mmapqueue.Consumer#peek} does
     */
    public synchronized long peek(int consumer) {
        try {
            var message = handle.consumer(consumer).peek();
            sink.begin();
            if (message != null) {
                sink.onMessage(
                        message.offset(),
                        message.timestampMicros(),
                        message.data(),
                        0,
                        message.data().length,
                        message.attempts());
            }
            return sink.end();
        } catch (ClosedException e) {
            return Status.CLOSED;
        }
    }

    /**
     * Reads records into the stage, and moves no consumer.
     *
     * @param offset the first one's offset
     * @param maxRecords the most records
     * @return how many there are in the stage, at least 1, or {@link Status#CLOSED}
     * @throws MmapQueueException as {@link MmapQueue#getMany} does
     */
    public synchronized long get(long offset, int maxRecords) {
        sink.begin();
        try {
            queue.getMany(offset, Math.min(maxRecords, recordLimit()), payloadLimit(), sink);
            return sink.end();
        } catch (ClosedException e) {
            return Status.CLOSED;
        }
    }

    /**
     * Acks the records whose offsets, 64 bits each, are in the stage, each of them alone.
     *
     * @param consumer the consumer's number
     * @param count how many of them there are
     * @throws MmapQueueException as {@link org.mmapqueue.Consumer#ackSingle(long[])} does; none is acked
     */
    public synchronized void ackMany(int consumer, int count) {
        long[] offsets = new long[count];
        memory.position(StageLayout.PAYLOAD).asLongBuffer().get(offsets);
        memory.position(0);
        handle.consumer(consumer).ackSingle(offsets);
    }

    /**
     * Puts a piece of a record that is larger than the stage into it.
     *
     * @param from the first byte of it
     * @return how many bytes there are in the stage now
     */
    public synchronized int fetch(int from) {
        return sink.fetch(from);
    }

    /**
     * Writes into a stage that can not be mapped.
     *
     * @param at where
     * @param bytes what
     */
    public synchronized void write(int at, byte[] bytes) {
        memory.put(at, bytes);
    }

    /**
     * Reads from a stage that can not be mapped.
     *
     * @param at where
     * @param length how many bytes; a few thousand at most, as py4j is slow with long answers
     * @return the bytes
     */
    public synchronized byte[] read(int at, int length) {
        byte[] bytes = new byte[length];
        memory.get(at, bytes);
        return bytes;
    }

    private long pushOne(int from, int length, int waitMillis, boolean sync) {
        Duration wait = Duration.ofMillis(waitMillis);
        return ChunkPusher.statusOf(() -> {
            if (sync) {
                return queue.pushSync(Arrays.copyOfRange(payload, from, from + length), wait);
            }
            try {
                return queue.push(payload, from, length);
            } catch (FullException e) {
                if (waitMillis == 0) {
                    throw e;
                }
                return queue.push(ByteBuffer.wrap(payload, from, length), wait);
            }
        });
    }

    private long answered(int call, long answer) {
        lastCall = call;
        lastAnswer = answer;
        return answer;
    }

    /** Adds what is in the stage to what is loaded. */
    private void append(int bytes, int count) {
        reserve(loadedBytes + bytes);
        memory.get(StageLayout.PAYLOAD, payload, loadedBytes, bytes);
        if (loadedCount + count > lengths.length) {
            lengths = Arrays.copyOf(lengths, Math.max(loadedCount + count, 2 * lengths.length));
        }
        int column = StageLayout.aligned(StageLayout.PAYLOAD + bytes);
        for (int i = 0; i < count; i++) {
            lengths[loadedCount + i] = memory.getInt(column + i * Integer.BYTES);
        }
        loadedBytes += bytes;
        loadedCount += count;
    }

    private void reserve(int bytes) {
        if (bytes > payload.length) {
            payload = Arrays.copyOf(payload, Math.max(bytes, Math.min(2 * payload.length, memory.capacity())));
        }
    }

    /** What was larger than the stage does not stay in the heap. */
    private void unload() {
        loadedBytes = 0;
        loadedCount = 0;
        if (payload.length > memory.capacity()) {
            payload = new byte[0];
            lengths = new int[0];
        }
    }
}
