package org.mmapqueue.io;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Logging where the work goes on, whatever an appender of the log throws: appenders are the program's code. An instance
 * has the lines that were noted under a lock, and logs them without it: an appender may push. Safe for any number of
 * threads.
 */
public final class GuardedLog {
    private final Queue<Runnable> noted = new ConcurrentLinkedQueue<>();
    /** Whether there are noted lines: a look costs less than one into the queue. */
    private volatile boolean hasNoted;

    /** A log without noted lines. */
    public GuardedLog() {}

    /** Runs a line of logging; drops its exception. Without a lock: the appender may push. */
    public static void log(Runnable line) {
        try {
            line.run();
        } catch (RuntimeException e) {
            // There is no log to report it in: an appender that throws may throw at each line.
        }
    }

    /** Notes a line of logging for {@link #tell}; also under a lock. */
    public void note(Runnable line) {
        noted.add(line);
        hasNoted = true;
    }

    /** Whether {@link #tell} has something to log. */
    public boolean hasToTell() {
        return hasNoted;
    }

    /** Logs the noted lines, as {@link #log} does. */
    public void tell() {
        if (!hasNoted) {
            return;
        }
        hasNoted = false;
        for (Runnable line = noted.poll(); line != null; line = noted.poll()) {
            log(line);
        }
    }
}
