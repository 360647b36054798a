package org.mmapqueue.crash;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;

/** Says what is done, and when it is done. Any number of threads. */
final class Journal {
    private final OutputStream out;

    /** A journal on a stream that is not buffered. */
    Journal(OutputStream out) {
        this.out = out;
    }

    private synchronized void say(Event event) {
        if (event.values().length > Event.MOST_VALUES) {
            throw new IllegalArgumentException(event.values().length + " values, at most " + Event.MOST_VALUES);
        }
        try {
            out.write(event.bytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void begin(Event.Kind kind, int actor, long... values) {
        say(new Event(kind, Event.Phase.BEGIN, actor, values));
    }

    void done(Event.Kind kind, int actor, long... values) {
        say(new Event(kind, Event.Phase.DONE, actor, values));
    }

    void refused(Event.Kind kind, int actor, long... values) {
        say(new Event(kind, Event.Phase.REFUSED, actor, values));
    }
}
