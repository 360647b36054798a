package org.mmapqueue.support;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/**
 * An appender of the log, while it is open: gets the lines of a logger and of those below it, and nobody else does. It
 * runs in the thread that logs, as appenders of programs do, and may throw.
 */
public final class Appender implements AutoCloseable {
    private final Logger logger;
    private final Level levelBefore;
    private final Handler handler;
    private final AtomicInteger count = new AtomicInteger();

    private Appender(String name, Level least, Consumer<String> lines) {
        logger = Logger.getLogger(name);
        levelBefore = logger.getLevel();
        handler = new Handler() {
            @Override
            public void publish(LogRecord each) {
                count.incrementAndGet();
                lines.accept(each.getMessage());
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        logger.setUseParentHandlers(false);
        logger.setLevel(least);
        logger.addHandler(handler);
    }

    /** Gets the warnings and errors of a class. */
    public static Appender of(Class<?> source, Consumer<String> lines) {
        return new Appender(source.getName(), Level.WARNING, lines);
    }

    /** Throws at the warnings and errors of a class, as an appender may whose disk is full. */
    public static Appender throwing(Class<?> source) {
        return of(source, line -> {
            throw new IllegalStateException("of the test");
        });
    }

    /** Gets what the library logs in production: all but what is for debugging. */
    public static Appender ofAll(Consumer<String> lines) {
        return new Appender("org.mmapqueue", Level.INFO, lines);
    }

    /** The number of lines so far. */
    public int lines() {
        return count.get();
    }

    @Override
    public void close() {
        logger.removeHandler(handler);
        logger.setLevel(levelBefore);
        logger.setUseParentHandlers(true);
    }
}
