package org.mmapqueue.queue;

import java.io.Closeable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.meta.MetaPage;

/**
 * The queue that takes what was handed out max_attempts times in vain. It is opened when it is needed first, and then
 * stays open. Any number of threads.
 */
final class DeadLetters implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(DeadLetters.class);

    private final Settings settings;
    private MmapQueue queue;
    private boolean closed;

    DeadLetters(Settings settings) {
        this.settings = settings;
    }

    /**
     * Takes what a consumer has popped for the last time, and acks it there. In this order, and each on the disk before
     * the other begins: a crash in between leaves a record in both queues, never in none.
     *
     * @throws MmapQueueException when the dead-letter queue refuses one: the consumer pops it again after a second
     */
    void bury(ConsumerCore consumer) {
        for (Message dead = consumer.nextDying(); dead != null; dead = consumer.nextDying()) {
            boolean taken = false;
            try {
                take(dead.data());
                taken = true;
            } catch (MmapQueueException e) {
                throw new MmapQueueException("record " + dead.offset() + " of consumer " + consumer.name()
                        + " could not go to the dead-letter queue " + settings.delivery().deadLetterDir() + ": "
                        + e.getMessage(), e);
            } finally {
                if (!taken) {
                    consumer.survives(dead.offset());
                }
            }
            consumer.ackSingle(dead.offset());
            LOG.warn("consumer {} has popped record {} {} times and never acked it: it went to {}", consumer.name(),
                    dead.offset(), dead.attempts() - 1, settings.delivery().deadLetterDir());
        }
    }

    private void take(byte[] data) {
        try {
            open().pushSync(data, Duration.ZERO);
        } catch (InterruptedException e) {
            // Nothing was stored; whoever interrupts is to see it.
            Thread.currentThread().interrupt();
            throw new ClosedException("interrupted while a record was moved to " + settings.delivery().deadLetterDir());
        }
    }

    private MmapQueue open() {
        synchronized (this) {
            if (queue != null) {
                return queue;
            }
        }
        Path directory = settings.delivery().deadLetterDir();
        QueueConfig.Builder config = QueueConfig.builder(directory);
        if (!Files.exists(directory.resolve(MetaPage.FILE_NAME))) {
            config.segmentSize(settings.geometry().segmentSize()).maxEventSize(settings.maxEventSize())
                    .queueCapacitySegments(settings.geometry().capacity()).fileMode(settings.fileMode());
        }
        // Without the monitor: whoever closes the queue that this one belongs to holds up every opening meanwhile.
        MmapQueue opened = MmapQueue.open(config.build());
        MmapQueue known;
        synchronized (this) {
            if (queue == null && !closed) {
                queue = opened;
            }
            known = queue;
        }
        if (known != opened) {
            opened.close();
        }
        if (known == null) {
            throw new ClosedException("the queue is closed");
        }
        return known;
    }

    @Override
    public void close() {
        MmapQueue open;
        synchronized (this) {
            closed = true;
            open = queue;
            queue = null;
        }
        if (open != null) {
            open.close();
        }
    }
}
