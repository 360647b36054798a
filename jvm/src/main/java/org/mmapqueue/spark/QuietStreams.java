package org.mmapqueue.spark;

import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.slf4j.LoggerFactory;

/**
 * Raises the level of Spark's loggers of streaming queries to warn: at level info an idle query logs two lines at each
 * trigger. Spark makes an instance before the first query of a session, as the listener that {@code configure(builder,
 * quiet=True)} of the Python module sets in {@code spark.sql.streaming.streamingQueryListeners}.
 */
public final class QuietStreams extends StreamingQueryListener {
    private static final long serialVersionUID = 1L;

    private static final String LOGGERS = "org.apache.spark.sql.execution.streaming";

    /**
     * Called by Spark, by reflection.
     *
     * @throws IllegalStateException if Spark does not log with Log4j 2
     */
    public QuietStreams() {
        if (!LoggerFactory.getLogger(LOGGERS).isWarnEnabled()) {
            return; // less is logged already
        }
        try { // Spark has Log4j, and this library needs none
            Class<?> level = Class.forName("org.apache.logging.log4j.Level");
            Class.forName("org.apache.logging.log4j.core.config.Configurator")
                    .getMethod("setLevel", String.class, level)
                    .invoke(null, LOGGERS, level.getField("WARN").get(null));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(
                    "the level of " + LOGGERS + " cannot be set, as configure(quiet=True) asks:"
                            + " Spark does not log with Log4j 2: " + e,
                    e);
        }
        if (LoggerFactory.getLogger(LOGGERS).isInfoEnabled()) {
            throw new IllegalStateException("the level of " + LOGGERS + " cannot be set, as configure(quiet=True) asks:"
                    + " Log4j 2 is not the backend of slf4j");
        }
    }

    @Override
    public void onQueryStarted(QueryStartedEvent event) {
        // the constructor has done all
    }

    @Override
    public void onQueryProgress(QueryProgressEvent event) {
        // as above
    }

    @Override
    public void onQueryTerminated(QueryTerminatedEvent event) {
        // as above
    }
}
