package org.mmapqueue.support;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Runs code of a test at each warning of a class, as an appender of the log does, until it is closed. */
public final class LogHook implements AutoCloseable {
    private final Logger logger;
    private final Level level;
    private final AtomicInteger lines = new AtomicInteger();
    private final Handler handler;

    /**
     * @param logging the class that logs
     * @param work may throw
     */
    public LogHook(Class<?> logging, Runnable work) {
        logger = Logger.getLogger(logging.getName());
        level = logger.getLevel();
        handler = new Handler() {
            @Override
            public void publish(LogRecord each) {
                lines.incrementAndGet();
                work.run();
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        logger.setLevel(Level.WARNING);
        logger.addHandler(handler);
    }

    /** The hook of a log whose appender throws, for instance because its disk is full. */
    public static LogHook throwing(Class<?> logging) {
        return new LogHook(logging, () -> {
            throw new IllegalStateException("of the test");
        });
    }

    /** The number of lines so far. */
    public int lines() {
        return lines.get();
    }

    @Override
    public void close() {
        logger.removeHandler(handler);
        logger.setLevel(level);
    }
}
