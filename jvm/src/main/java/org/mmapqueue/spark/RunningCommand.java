package org.mmapqueue.spark;

import java.util.Optional;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.command.ExplainCommand;
import org.apache.spark.sql.internal.SQLConf;
import org.mmapqueue.spark.common.RunningSession;

/** The command that Spark runs in this thread. It has properties that Spark does not pass to a data source. */
final class RunningCommand {
    private RunningCommand() {}

    /**
     * Whether columns are matched by position, as in INSERT INTO, and not by name.
     *
     * @return false for writes of a DataFrame, INSERT … BY NAME and streams
     */
    static boolean writesByPosition() {
        return plan().map(plan ->
                        plan instanceof V2WriteCommand write ? !write.isByName() : plan instanceof ExplainCommand)
                .orElse(false); // EXPLAIN, which runs nothing, exists in SQL only
    }

    /**
     * Whether the format of a new table is merely Spark's default: {@code toTable} and {@code saveAsTable} pass the
     * default source if the program specifies none.
     *
     * @param provider the format that Spark names
     * @return false for a format that SQL names
     */
    static boolean namesNoFormat(String provider) {
        return provider.equalsIgnoreCase(SQLConf.get().defaultDataSourceName())
                && plan().map(plan -> plan.origin().sqlText().isEmpty()).orElse(true);
    }

    private static Optional<LogicalPlan> plan() {
        String id = RunningSession.context().getLocalProperty(SQLExecution.EXECUTION_ID_KEY());
        QueryExecution running = id == null ? null : SQLExecution.getQueryExecution(Long.parseLong(id));
        return running == null ? Optional.empty() : Optional.of(running.analyzed());
    }
}
