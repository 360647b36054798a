package org.mmapqueue.bridge;

import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.Consumer;
import org.mmapqueue.errors.ClosedException;

/** The consumers of a handle, by number, for py4j. Thread-safe. */
final class ConsumerNumbers {
    // Entries are set to null, never removed: no number is reused.
    private final List<Consumer> consumers = new ArrayList<>();

    synchronized int add(Consumer consumer) {
        consumers.add(consumer);
        return consumers.size() - 1;
    }

    synchronized Consumer get(int number) {
        Consumer found = consumers.get(number);
        if (found == null) {
            throw new ClosedException("the consumer was closed");
        }
        return found;
    }

    /** Closes a consumer. Idempotent. */
    void close(int number) {
        Consumer found;
        synchronized (this) {
            found = consumers.set(number, null);
        }
        if (found != null) {
            found.close();
        }
    }
}
