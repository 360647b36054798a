package org.mmapqueue.support;

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

    private Appender(String name, Level least, Consumer<String> lines) {
        logger = Logger.getLogger(name);
        levelBefore = logger.getLevel();
        handler = new Handler() {
            @Override
            public void publish(LogRecord each) {
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

    /** Gets what the library logs in production: all but what is for debugging. */
    public static Appender ofAll(Consumer<String> lines) {
        return new Appender("org.mmapqueue", Level.INFO, lines);
    }

    @Override
    public void close() {
        logger.removeHandler(handler);
        logger.setLevel(levelBefore);
        logger.setUseParentHandlers(true);
    }
}
