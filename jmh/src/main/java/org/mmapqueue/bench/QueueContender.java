package org.mmapqueue.bench;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

import org.mmapqueue.errors.FullException;
import org.mmapqueue.queue.Consumer;
import org.mmapqueue.queue.Message;
import org.mmapqueue.queue.MessageHandler;
import org.mmapqueue.queue.MmapQueue;
import org.mmapqueue.queue.QueueConfig;

/**
 * The queue itself, with its defaults but for the sizes: timestamps stored, the flusher on with its period of a second
 * and, if nothing else is said, its ceiling of 10 000 records. Readers share the default consumer.
 */
final class QueueContender implements Contender {
    private static final long BATCH_BYTES = 1 << 20;
    private final MmapQueue queue;

    QueueContender(Path directory, Shape shape) {
        queue = MmapQueue.open(QueueConfig.builder(directory)
                .segmentSize(shape.segmentBytes())
                .queueCapacitySegments(shape.capacity())
                .maxInMemSegments(shape.mapped())
                .flushCeilingNum(shape.ceiling())
                .build());
    }

    @Override
    public Writer writer() {
        return new QueueWriter(queue);
    }

    @Override
    public Reader reader() {
        return new QueueReader(queue.consumer());
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
        private long bytes;

        QueueReader(Consumer consumer) {
            this.consumer = consumer;
        }

        @Override
        public void onMessage(long offset, long timestampMicros, byte[] buffer, int start, int length,
                int attempts) {
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
                consumer.ack(last);
            }
        }
    }
}
