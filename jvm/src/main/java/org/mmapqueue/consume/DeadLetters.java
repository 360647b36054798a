package org.mmapqueue.consume;

import java.io.Closeable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Function;
import org.mmapqueue.Message;
import org.mmapqueue.config.ConfigKey;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.GuardedLog;
import org.mmapqueue.meta.MetaPage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Moves records with no attempts left to the dead-letter queue, which is opened when first needed and then stays open.
 * Safe for any number of threads.
 */
public final class DeadLetters implements Closeable {
    private static final Logger LOG = LoggerFactory.getLogger(DeadLetters.class);

    /** An open dead-letter queue. */
    public interface Target {
        /** Appends a record without waiting for space; returns when it is durable. */
        void push(byte[] data);

        void close();
    }

    private final Settings settings;
    private final Function<ConfigValues, Target> opener;
    private Target queue;
    private boolean closed;

    /** @param opener opens the dead-letter queue, without a lock of the caller held */
    public DeadLetters(Settings settings, Function<ConfigValues, Target> opener) {
        this.settings = settings;
        this.opener = opener;
    }

    /**
     * Moves a consumer's dead letters: pushes each record durably, then acks it. A crash in between leaves a record in
     * both queues, never in none.
     *
     * @throws MmapQueueException if the dead-letter queue does not take a record; it is redelivered after a second
     */
    public void moveDeadLetters(ConsumerCore consumer) {
        for (Message dead = consumer.nextDeadLetter(); dead != null; dead = consumer.nextDeadLetter()) {
            boolean taken = false;
            try {
                open().push(dead.data());
                taken = true;
            } catch (MmapQueueException e) {
                throw new MmapQueueException(
                        "record " + dead.offset() + " of consumer " + consumer.name()
                                + " could not go to the dead-letter queue "
                                + settings.delivery().deadLetterDir() + ": "
                                + e.getMessage(),
                        e);
            } finally {
                if (!taken) {
                    consumer.retryDeadLetter(dead.offset());
                }
            }
            consumer.deadLettered(dead.offset());
            consumer.meters().deadLettered().add(1, dead.data().length);
            tell(consumer, dead);
        }
    }

    private void tell(ConsumerCore consumer, Message dead) {
        GuardedLog.log(() -> LOG.warn(
                "consumer {} has popped record {} {} times and never acked it: it went to {}",
                consumer.name(),
                dead.offset(),
                dead.attempts() - 1,
                settings.delivery().deadLetterDir()));
    }

    private Target open() {
        synchronized (this) {
            if (queue != null) {
                return queue;
            }
        }
        Path directory = settings.delivery().deadLetterDir();
        ConfigValues config = ConfigValues.of(directory);
        if (!Files.exists(directory.resolve(MetaPage.FILE_NAME))) {
            config = config.with(ConfigKey.SEGMENT_SIZE, settings.geometry().segmentSize())
                    .with(ConfigKey.MAX_EVENT_SIZE, settings.maxEventSize())
                    .with(ConfigKey.QUEUE_CAPACITY_SEGMENTS, settings.geometry().capacity())
                    .with(ConfigKey.FILE_MODE, settings.fileMode());
        }
        // Without the monitor: closing this queue takes it, and must not wait for the opening.
        Target opened = opener.apply(config);
        Target known;
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
        Target open;
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
