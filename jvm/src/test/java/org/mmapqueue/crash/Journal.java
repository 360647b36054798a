package org.mmapqueue.crash;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;

/** Writes the events of one process to a stream. Thread-safe. */
final class Journal {
    private final OutputStream out;

    /** The stream must not be buffered. */
    Journal(OutputStream out) {
        this.out = out;
    }

    private synchronized void write(Event event) {
        if (event.values().length > Event.MAX_VALUES) {
            throw new IllegalArgumentException(event.values().length + " values, at most " + Event.MAX_VALUES);
        }
        try {
            out.write(event.bytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void begin(Event.Kind kind, int actor, long... values) {
        write(new Event(kind, Event.Phase.BEGIN, actor, values));
    }

    void done(Event.Kind kind, int actor, long... values) {
        write(new Event(kind, Event.Phase.DONE, actor, values));
    }

    void threw(Event.Kind kind, int actor, long... values) {
        write(new Event(kind, Event.Phase.THREW, actor, values));
    }
}
