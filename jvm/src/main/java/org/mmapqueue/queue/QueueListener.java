package org.mmapqueue.queue;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Is told which queues this process opens and closes. Called by the thread that does, under a lock: it must be quick and
 * open or close none itself. What it throws is logged, and hurts nobody else.
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
     * A queue is about to be closed.
     *
     * @param directory where it lies
     */
    void closed(Path directory);
}
