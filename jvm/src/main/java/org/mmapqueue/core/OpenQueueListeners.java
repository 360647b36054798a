package org.mmapqueue.core;

import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.mmapqueue.QueueListener;
import org.mmapqueue.io.GuardedLog;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls the listeners of open queues, in the order of the events and without a lock. Events are noted under the lock of
 * the table of open queues; one thread at a time delivers them, so a listener may open and close queues itself.
 */
final class OpenQueueListeners {
    private static final Logger LOG = LoggerFactory.getLogger(OpenQueueListeners.class);

    private record Event(QueueListener listener, Runnable call) {}

    private final List<QueueListener> listeners = new ArrayList<>();
    private final Queue<Event> events = new ArrayDeque<>();
    private boolean delivering;

    synchronized void add(QueueListener listener) {
        listeners.add(listener);
    }

    synchronized void remove(QueueListener listener) {
        listeners.remove(listener);
    }

    /** Notes that a queue is open. */
    synchronized void opened(Path directory, QueueListener.Figures figures) {
        listeners.forEach(each -> opened(each, directory, figures));
    }

    /** Notes for one listener that a queue is open. */
    synchronized void opened(QueueListener listener, Path directory, QueueListener.Figures figures) {
        events.add(new Event(listener, () -> listener.opened(directory, figures)));
    }

    /** Notes that a queue is being closed. */
    synchronized void closed(Path directory, QueueListener.Figures figures) {
        listeners.forEach(each -> events.add(new Event(each, () -> each.closed(directory, figures))));
    }

    /** Delivers the noted events; returns at once if another call is delivering. */
    void tell() {
        for (Event event = next(true); event != null; event = next(false)) {
            try {
                event.call().run();
            } catch (RuntimeException | Error e) {
                GuardedLog.log(() -> LOG.warn("a listener failed", e));
            }
        }
    }

    private synchronized Event next(boolean begins) {
        if (begins && delivering) {
            return null;
        }
        Event event = events.poll();
        while (event != null && !listeners.contains(event.listener())) {
            event = events.poll(); // the listener was removed since
        }
        delivering = event != null;
        return event;
    }
}
