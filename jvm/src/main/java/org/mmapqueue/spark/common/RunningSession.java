package org.mmapqueue.spark.common;

import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import scala.Option;

/**
 * The session that the driver plans for. No session or context is created: {@code SparkContext.getOrCreate} in the
 * thread of a query whose session was just stopped would create a context that prevents each later session of the
 * process. Thread-safe.
 */
public final class RunningSession {
    private RunningSession() {}

    /**
     * The context of this thread's session; that of the default session if the thread's has been stopped, as a thread
     * may have inherited it from an earlier one.
     *
     * @return a context that was running at the time of the call
     * @throws IllegalStateException if the session has been stopped, or there is none
     */
    public static SparkContext context() {
        SparkContext stopped = null;
        for (Option<SparkSession> each : List.of(SparkSession.getActiveSession(), SparkSession.getDefaultSession())) {
            if (each.isDefined()) {
                SparkContext context = each.get().sparkContext();
                if (!context.isStopped()) {
                    return context;
                }
                stopped = context;
            }
        }
        throw stopped == null ? new IllegalStateException("no Spark session runs in this process") : stopped(stopped);
    }

    /**
     * Checks that a query's session still runs. Spark does not end the queries of a session that is stopped, and an idle
     * one would keep its consumer in use.
     *
     * @param context the session's context
     * @throws IllegalStateException if the session has been stopped
     */
    public static void check(SparkContext context) {
        if (context.isStopped()) {
            throw stopped(context);
        }
    }

    private static IllegalStateException stopped(SparkContext context) {
        return new IllegalStateException("the Spark session has been stopped: application " + context.applicationId());
    }
}
