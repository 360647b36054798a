package org.mmapqueue.bridge;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.function.LongSupplier;
import java.util.stream.LongStream;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.Records;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.errors.TooLargeException;

/**
 * Memory that Python and this JVM share, and the calls that push records from it and pop records into it. Calls are
 * serialized, but the content belongs to one caller: from filling the buffer until the call has returned, or from a
 * call until the result is read.
 *
 * <p>Calls that change the queue are numbered. A repeat of the last successful number has no effect: it returns the
 * same result, and leaves the buffer unchanged. So a caller that was interrupted before it got the result repeats the
 * call, and no record is lost or moved twice. py4j does not repeat a push over a new connection.
 */
public final class SharedBuffer {
    private final QueueHandle handle;
    private final MmapQueue queue;
    private final ByteBuffer memory;
    private final RecordWriter writer;
    private final LoadedRecords loaded;
    private int lastCall;
    private long lastAnswer;

    SharedBuffer(QueueHandle handle, ByteBuffer memory) {
        this.handle = handle;
        this.queue = handle.queue();
        this.memory = memory.order(ByteOrder.nativeOrder());
        this.writer = new RecordWriter(this.memory);
        this.loaded = new LoadedRecords(queue, this.memory);
    }

    /** {@return the maximum number of bytes of payload in one call} */
    public int payloadLimit() {
        return SharedBufferLayout.payloadLimit(memory.capacity());
    }

    /** {@return the maximum number of records in one call} */
    public int recordLimit() {
        return SharedBufferLayout.recordLimit(memory.capacity());
    }

    /**
     * Pushes the single record in the buffer.
     *
     * @param call the number of this call
     * @param length bytes of payload
     * @param waitMillis how long to wait for room, in ms
     * @param sync 1 to return only when the record is durable
     * @return the record's offset, or {@link Status#FULL} or {@link Status#CLOSED}
     * @throws MmapQueueException as {@link MmapQueue#push(byte[])} does, and when the
     *     thread is interrupted
     */
    public synchronized long push(int call, int length, int waitMillis, int sync) {
        return once(call, () -> {
            loaded.setOne(length);
            return loaded.push(waitMillis, sync != 0);
        });
    }

    /**
     * Pushes records of the buffer in order, as many as the ring has room for.
     *
     * @param call the number of this call
     * @param bytes bytes of payload of all records in the buffer
     * @param count the number of records in the buffer
     * @param from index of the first record to push; 0 for the first call after the buffer was filled
     * @param waitMillis how long to wait for room for the first record, in ms
     * @return the number of pushed records, 0 when no room became available in time; or {@link Status#CLOSED}
     * @throws MmapQueueException as {@link MmapQueue#push(byte[])} does, and only for the first record of the call, and
     *     when the thread is interrupted
     */
    public synchronized long pushMany(int call, int bytes, int count, int from, int waitMillis) {
        return once(call, () -> {
            int[] packed = new int[count];
            LoadedRecords.column(memory, bytes).get(packed);
            ByteBuffer records = memory.slice(SharedBufferLayout.PAYLOAD, bytes);
            return new ChunkPusher(queue, records, packed).push(from, waitMillis);
        });
    }

    /**
     * Pushes the next records of the buffer as one atomic batch: all that are left, or the largest half, quarter, … of
     * them that the ring has room for. The header gets the number of pushed records.
     *
     * @param call the number of this call
     * @param bytes bytes of payload of all records in the buffer
     * @param count the number of records in the buffer
     * @param from index of the first record to push; 0 for the first call after the buffer was filled
     * @param waitMillis how long to wait for room for the first record, in ms
     * @param sync 1 to return only when the batch is durable
     * @return the first record's offset, or {@link Status#FULL} or {@link Status#CLOSED}
     * @throws MmapQueueException as {@link MmapQueue#pushBatch(java.util.List)} does, and when the thread is interrupted
     */
    public synchronized long pushBatch(int call, int bytes, int count, int from, int waitMillis, int sync) {
        return once(call, () -> {
            if (from == 0) {
                loaded.clear();
                loaded.add(bytes, count);
            }
            return loaded.pushFrom(from, waitMillis, sync != 0);
        });
    }

    /**
     * Loads a part of a batch, or of a record larger than the buffer, for {@link #pushLoaded}.
     *
     * @param call the number of this call
     * @param begin 1 for the first part: discards what was loaded before
     * @param bytes bytes of payload in the buffer
     * @param count lengths of records in the buffer; a record may end in a later part than its length
     * @return 0
     * @throws TooLargeException when all parts together exceed a quarter of this JVM's heap
     */
    public synchronized long load(int call, int begin, int bytes, int count) {
        return once(call, () -> {
            if (begin != 0) {
                loaded.clear();
            }
            loaded.checkHeap(bytes);
            loaded.add(bytes, count);
            return 0;
        });
    }

    /**
     * Pushes the loaded records, all or none. They stay loaded until they are pushed.
     *
     * @param call the number of this call
     * @param waitMillis how long to wait for room, in ms
     * @param sync 1 to return only when the records are durable
     * @return the first record's offset, or {@link Status#FULL} or {@link Status#CLOSED}
     * @throws MmapQueueException as {@link MmapQueue#pushBatch(java.util.List)} does, and when
     *     the thread is interrupted
     */
    public synchronized long pushLoaded(int call, int waitMillis, int sync) {
        return once(call, () -> clearIfPushed(loaded.push(waitMillis, sync != 0)));
    }

    /**
     * Pushes the loaded records as an idempotent producer, all or none. They stay loaded until they are pushed, or found
     * to be in the queue.
     *
     * @param call the number of this call
     * @param waitMillis how long to wait for room, in ms
     * @param sync 1 to return only when the records are durable
     * @param producer the producer's name
     * @param sequence the batch's sequence number
     * @return the first record's offset, or {@link Status#DONE}, {@link Status#FULL} or {@link Status#CLOSED}
     * @throws MmapQueueException as {@link MmapQueue#pushOnce(String, long, Records, Duration, boolean)} does, and
     *     when the thread is interrupted
     */
    public synchronized long pushLoadedOnce(int call, int waitMillis, int sync, String producer, long sequence) {
        return once(call, () -> clearIfPushed(loaded.pushOnce(producer, sequence, waitMillis, sync != 0)));
    }

    private long clearIfPushed(long answer) {
        if (answer >= 0 || answer == Status.DONE) {
            loaded.clear();
        }
        return answer;
    }

    /**
     * Pops records into the buffer.
     *
     * @param call the number of this call
     * @param consumer the consumer's number
     * @param maxRecords the maximum number of records
     * @param maxBytes the maximum number of bytes of payload; the first record is popped whatever its size
     * @param waitMillis how long to wait for the first record, in ms
     * @return the number of records, or {@link Status#EMPTY} or {@link Status#CLOSED}
     * @throws MmapQueueException as {@link Consumer#popBatch} does, and when the
     *     thread is interrupted
     */
    public synchronized long pop(int call, int consumer, int maxRecords, int maxBytes, int waitMillis) {
        return once(call, () -> pop(consumer, maxRecords, maxBytes, waitMillis));
    }

    private long pop(int consumer, int maxRecords, int maxBytes, int waitMillis) {
        writer.begin();
        try {
            handle.consumer(consumer)
                    .popBatch(
                            Math.min(maxRecords, recordLimit()),
                            Math.min(maxBytes, payloadLimit()),
                            Duration.ofMillis(waitMillis),
                            writer);
        } catch (ClosedException e) {
            return Status.CLOSED;
        } catch (InterruptedException e) {
            throw new MmapQueueException("the pop was interrupted in the JVM, before anything was popped", e);
        } catch (MmapQueueException | OutOfMemoryError e) {
            // The records in the buffer are popped, so they are returned. The next call throws the error again.
            if (writer.isEmpty()) {
                throw e;
            }
        }
        return writer.end();
    }

    /**
     * Acks consecutive records, then pops as {@link #pop}. Acks none if one of them is not in flight any more, because
     * the consumer was moved.
     *
     * @param call the number of this call
     * @param consumer the consumer's number
     * @param first the offset of the first record to ack; below 0 for all records up to the last one
     * @param last the offset of the last record to ack
     * @param maxRecords the maximum number of records
     * @param maxBytes the maximum number of bytes of payload; the first record is popped whatever its size
     * @param waitMillis how long to wait for the first record, in ms
     * @return as {@link #pop}
     * @throws MmapQueueException as {@link #pop}
     */
    public synchronized long ackAndPop(
            int call, int consumer, long first, long last, int maxRecords, int maxBytes, int waitMillis) {
        return once(call, () -> {
            try {
                ack(handle.consumer(consumer), first, last);
            } catch (ClosedException e) {
                return Status.CLOSED;
            } catch (OutOfRangeException e) {
                // The records are redelivered.
            }
            return pop(consumer, maxRecords, maxBytes, waitMillis);
        });
    }

    private static void ack(Consumer consumer, long first, long last) {
        if (first < 0) {
            consumer.ackUpTo(last);
        } else if (first == last) {
            consumer.ack(last);
        } else {
            consumer.ack(LongStream.rangeClosed(first, last).toArray());
        }
    }

    /**
     * Copies the record that would be popped next into the buffer.
     *
     * @param consumer the consumer's number
     * @return 1, or {@link Status#EMPTY} or {@link Status#CLOSED}
     * @throws MmapQueueException as {@link Consumer#peek} does
     */
    public synchronized long peek(int consumer) {
        try {
            var message = handle.consumer(consumer).peek();
            writer.begin();
            if (message != null) {
                writer.onMessage(
                        message.offset(),
                        message.timestampMicros(),
                        message.data(),
                        0,
                        message.data().length,
                        message.attempts());
            }
            return writer.end();
        } catch (ClosedException e) {
            return Status.CLOSED;
        }
    }

    /**
     * Reads records into the buffer, and moves no consumer.
     *
     * @param offset the first record's offset
     * @param maxRecords the maximum number of records
     * @return the number of records, at least 1; or {@link Status#CLOSED}
     * @throws MmapQueueException as {@link MmapQueue#getMany} does
     */
    public synchronized long get(long offset, int maxRecords) {
        writer.begin();
        try {
            queue.getMany(offset, Math.min(maxRecords, recordLimit()), payloadLimit(), writer);
            return writer.end();
        } catch (ClosedException e) {
            return Status.CLOSED;
        }
    }

    /**
     * Acks single records. Their offsets are in the buffer, 64 bits each.
     *
     * @param consumer the consumer's number
     * @param count the number of offsets
     * @throws IllegalArgumentException if the buffer has no room for that many; none is acked
     * @throws MmapQueueException as {@link Consumer#ack(long[])} does; none is acked
     */
    public synchronized void ackMany(int consumer, int count) {
        int most = (memory.capacity() - SharedBufferLayout.PAYLOAD) / Long.BYTES;
        if (count < 0 || count > most) {
            throw new IllegalArgumentException("count = " + count + "; expected 0 to " + most);
        }
        long[] offsets = new long[count];
        memory.slice(SharedBufferLayout.PAYLOAD, count * Long.BYTES)
                .order(memory.order())
                .asLongBuffer()
                .get(offsets);
        handle.consumer(consumer).ack(offsets);
    }

    /**
     * Copies a part of a popped record that is larger than the buffer into the buffer.
     *
     * @param from the part's position in the payload
     * @return the part's length in bytes
     */
    public synchronized int fetch(int from) {
        return writer.fetch(from);
    }

    /**
     * Writes into a buffer that the caller has not mapped.
     *
     * @param at position in the buffer
     * @param bytes the bytes
     */
    public synchronized void write(int at, byte[] bytes) {
        memory.put(at, bytes);
    }

    /**
     * Reads from a buffer that the caller has not mapped.
     *
     * @param at position in the buffer
     * @param length the number of bytes; py4j is slow with more than a few thousand
     * @return the bytes
     */
    public synchronized byte[] read(int at, int length) {
        byte[] bytes = new byte[length];
        memory.get(at, bytes);
        return bytes;
    }

    private long once(int call, LongSupplier work) {
        if (call != lastCall) {
            lastAnswer = work.getAsLong();
            lastCall = call;
        }
        return lastAnswer;
    }
}
