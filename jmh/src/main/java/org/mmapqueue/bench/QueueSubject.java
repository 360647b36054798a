package org.mmapqueue.bench;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MessageHandler;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.FullException;

/**
 * The queue: with its defaults, except for the parameters of {@link Shape}, or with no key set. The flusher's period is
 * one second. Readers share the default consumer.
 */
final class QueueSubject implements Subject {
    // Above any batch of the suite, so that the number of records is the limit.
    private static final long BATCH_BYTES = 1L << 30;
    private static final int LEAST_EVENT_SIZE = 20 << 10;
    private static final int MAX_UNACKED = 1_000_000;
    private final MmapQueue queue;

    QueueSubject(QueueConfig config) {
        queue = MmapQueue.open(config);
    }

    static QueueConfig config(Path directory, Shape shape) {
        QueueConfig.Builder builder = QueueConfig.builder(directory)
                .segmentSize(shape.segmentBytes())
                .queueCapacitySegments(shape.capacity())
                .maxInMemSegments(shape.mapped())
                .maxEventSize(Math.max(LEAST_EVENT_SIZE, shape.payload()))
                .maxUnacked(MAX_UNACKED)
                .timestamps(shape.timestamps());
        if (shape.ceiling() == Shape.NO_FLUSHER) {
            return builder.flushPeriod(Duration.ofMillis(Integer.MAX_VALUE))
                    .flushCeilingNum(Integer.MAX_VALUE)
                    .build();
        }
        return builder.flushCeilingNum(shape.ceiling()).build();
    }

    @Override
    public Writer writer() {
        return new QueueWriter(queue);
    }

    @Override
    public Reader reader() {
        return new QueueReader(queue.consumer());
    }

    long endOffset() {
        return queue.endOffset();
    }

    /** Gets the record at an offset as an object; returns its length. */
    int get(long offset) {
        return queue.get(offset).data().length;
    }

    /** Passes the record at an offset to the handler. */
    void get(long offset, MessageHandler handler) {
        queue.getMany(offset, 1, Long.MAX_VALUE, handler);
    }

    @Override
    public void close() {
        queue.close();
    }

    private record QueueWriter(MmapQueue queue) implements Writer {
        @Override
        public boolean push(byte[] record) {
            try {
                queue.push(record);
                return true;
            } catch (FullException e) {
                return false;
            }
        }

        @Override
        public boolean pushSync(byte[] record) {
            try {
                queue.pushSync(record, Duration.ZERO);
                return true;
            } catch (FullException e) {
                return false;
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public boolean pushBatch(List<byte[]> records) {
            try {
                queue.pushBatch(records);
                return true;
            } catch (FullException e) {
                return false;
            }
        }
    }

    private static final class QueueReader implements Reader, MessageHandler {
        private final Consumer consumer;
        private long last = -1;

        @SuppressWarnings("UnusedVariable") // a store that the JIT compiler cannot remove
        private long bytes;

        QueueReader(Consumer consumer) {
            this.consumer = consumer;
        }

        @Override
        public void onMessage(long offset, long timestampMicros, byte[] buffer, int start, int length, int attempts) {
            last = offset;
            bytes += length;
        }

        @Override
        public boolean pop() {
            return consumer.poll(this);
        }

        @Override
        public boolean popMessage() {
            Message message = consumer.poll();
            if (message == null) {
                return false;
            }
            last = message.offset();
            bytes += message.data().length;
            return true;
        }

        @Override
        public int popBatch(int max) {
            try {
                return consumer.popBatch(max, BATCH_BYTES, Duration.ZERO, this);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public void ack() {
            if (last >= 0) {
                consumer.ackUpTo(last);
            }
        }
    }
}
