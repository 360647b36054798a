package org.mmapqueue.spark;

import java.util.Optional;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.command.ExplainCommand;
import org.apache.spark.sql.internal.SQLConf;

/** The command that Spark runs in this thread: a source is not told of all that matters of it. */
final class RunningCommand {
    private RunningCommand() {}

    /**
     * Whether rows are written by the position of their columns, as SQL inserts them, and not by their names.
     *
     * @return false for a frame's writes, for INSERT … BY NAME and for streams
     */
    static boolean writesByPosition() {
        return plan().map(plan ->
                        plan instanceof V2WriteCommand write ? !write.isByName() : plan instanceof ExplainCommand)
                .orElse(false); // only SQL can be explained without being run
    }

    /**
     * Whether a new table's format is only what Spark fills in: {@code toTable} and {@code saveAsTable} name its default
     * source when nothing was said.
     *
     * @param provider the format that Spark names
     * @return false for a format that SQL names
     */
    static boolean namesNoFormat(String provider) {
        return provider.equalsIgnoreCase(SQLConf.get().defaultDataSourceName())
                && plan().map(plan -> plan.origin().sqlText().isEmpty()).orElse(true);
    }

    private static Optional<LogicalPlan> plan() {
        String id = SparkContext.getOrCreate().getLocalProperty(SQLExecution.EXECUTION_ID_KEY());
        QueryExecution running = id == null ? null : SQLExecution.getQueryExecution(Long.parseLong(id));
        return running == null ? Optional.empty() : Optional.of(running.analyzed());
    }
}
