package org.mmapqueue;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Gets an event for each queue that this process opens and closes, in order, one at a time. No lock is held during a
 * call: a listener may open and close queues itself. It is called by a thread that opens or closes a queue, mostly the
 * one of the event; what it throws is logged.
 */
public interface QueueListener {

    /** What may be asked of a queue as long as it is open. Any number of threads. */
    interface Figures {
        /**
         * The queue's state.
         *
         * @return empty once it is closed
         */
        Optional<QueueStats> stats();

        /**
         * How far its consumers are.
         *
         * @return empty once it is closed
         */
        Optional<List<ConsumerStats>> consumerStats();
    }

    /**
     * A queue is open now, or was when this listener was added.
     *
     * @param directory where it lies
     * @param figures its state, whenever it is asked for
     */
    void opened(Path directory, Figures figures);

    /**
     * A queue was closed.
     *
     * @param directory where it lies
     */
    void closed(Path directory);
}
