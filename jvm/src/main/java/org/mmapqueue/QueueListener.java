package org.mmapqueue;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.mmapqueue.metrics.Sample;

/**
 * Is called for each queue that this process opens and closes, in order, one call at a time. No lock is held during a
 * call: a listener may open and close queues itself. The calling thread is one that opens or closes a queue, mostly the
 * one of the event. Exceptions of a listener are logged.
 */
public interface QueueListener {

    /** The figures of an open queue. Safe for any number of threads. */
    interface Figures {
        /** {@return the queue's state; empty once the queue is closed} */
        Optional<QueueStats> stats();

        /** {@return the progress of the queue's consumers; empty once the queue is closed} */
        Optional<List<ConsumerStats>> consumerStats();

        /** {@return the queue's metrics, as {@link MmapQueue#metrics}; empty once the queue is closed} */
        Optional<List<Sample>> metrics();
    }

    /**
     * Called when a queue was opened, and for each queue that is open when this listener is added.
     *
     * @param directory the queue's directory
     * @param figures the queue's figures; each call returns present values
     */
    void opened(Path directory, Figures figures);

    /**
     * Called when a queue is closed.
     *
     * @param directory the queue's directory
     * @param figures the object that {@link #opened} received
     */
    void closed(Path directory, Figures figures);
}
