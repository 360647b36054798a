package org.mmapqueue.io;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logging where the work goes on, whatever an appender of the log throws: appenders are the program's code. */
public final class GuardedLog {
    private static final Logger LOG = LoggerFactory.getLogger(GuardedLog.class);

    private GuardedLog() {}

    /** Runs a line of logging; drops its exception. Without a lock: the appender may push. */
    public static void log(Runnable line) {
        try {
            line.run();
        } catch (RuntimeException e) {
            LOG.debug("a line of the log could not be written", e);
        }
    }
}
