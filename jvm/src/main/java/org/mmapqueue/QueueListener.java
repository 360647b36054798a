package org.mmapqueue;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.mmapqueue.metrics.Sample;

/**
 * Gets an event for each queue that this process opens and closes, in order, one at a time. No lock is held during a
 * call: a listener may open and close queues itself. It is called by a thread that opens or closes a queue, mostly the
 * one of the event; what it throws is logged.
 */
public interface QueueListener {

    /** The figures of an open queue. Any number of threads. */
    interface Figures {
        /**
         * Returns the queue's state.
         *
         * @return empty once it is closed
         */
        Optional<QueueStats> stats();

        /**
         * Returns how far the queue's consumers are.
         *
         * @return empty once it is closed
         */
        Optional<List<ConsumerStats>> consumerStats();

        /**
         * Returns the queue's metrics.
         *
         * @return as {@link MmapQueue#metrics}; empty once it is closed
         */
        Optional<List<Sample>> metrics();
    }

    /**
     * A queue is open now, or was when this listener was added.
     *
     * @param directory the queue's directory
     * @param figures the queue's figures, at each call as of now
     */
    void opened(Path directory, Figures figures);

    /**
     * A queue was closed.
     *
     * @param directory the queue's directory
     * @param figures the object that it was opened with
     */
    void closed(Path directory, Figures figures);
}
