package org.mmapqueue.core;

import java.util.concurrent.atomic.AtomicBoolean;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.consume.DeadLetters;
import org.mmapqueue.errors.ClosedException;

/** A dead-letter queue that this process has open, through a handle of its own. Safe for any number of threads. */
final class DeadLetterQueue implements DeadLetters.Target {
    private final QueueCore core;
    private final AtomicBoolean closed = new AtomicBoolean();

    private DeadLetterQueue(QueueCore core) {
        this.core = core;
    }

    static DeadLetterQueue open(ConfigValues config) {
        return new DeadLetterQueue(OpenQueues.acquire(config));
    }

    @Override
    public void push(byte[] data) {
        if (closed.get()) {
            throw new ClosedException("this handle of the queue is closed");
        }
        core.writer().push(data, 0, data.length);
        core.writer().awaitDurable();
    }

    @Override
    public void close() {
        if (!closed.getAndSet(true)) {
            OpenQueues.release(core);
        }
    }
}
