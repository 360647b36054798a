package org.mmapqueue.spark;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.ForeachWriter;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.StructType;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.spark.common.Hosts;
import org.mmapqueue.spark.common.KnownOptions;
import org.mmapqueue.spark.common.OptionUse;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.StoppedQuery;
import org.mmapqueue.spark.write.sink.RealTimeTask;
import org.mmapqueue.spark.write.sink.SinkQueues;
import org.mmapqueue.spark.write.sink.WriteOptions;

/**
 * Writes the rows of a query in real-time mode to a queue, each one exactly once. Spark allows real-time mode for few
 * sinks; {@code foreach} with a writer is one of them.
 *
 * <pre>{@code
 * Dataset<Row> rows = spark.readStream().format("mmapqueue").load("/data/events")
 *         .selectExpr("upper(CAST(value AS STRING)) AS value", "partition", "offset");
 * rows.writeStream()
 *         .foreach(RealTimeSink.of("/data/upper", rows.schema(), Map.of()))
 *         .trigger(Trigger.RealTime("5 minutes"))
 *         .outputMode("update")
 *         .option("checkpointLocation", "/data/upper.checkpoint")
 *         .start();
 * }</pre>
 *
 * <p>The columns partition and offset are those of the record that a row comes from. The queue stores them with the row,
 * as the sequence of an idempotent producer of the query: a row that a repeated task writes again is dropped. So the
 * rows of a partition must come in the order of their offsets, as they do without a shuffle. Rows without this order end
 * the query.
 *
 * <p>Tasks push in their own process, which must be the only one that has the queue open for writing. Used by one thread
 * of a task at a time.
 */
public final class RealTimeSink extends ForeachWriter<Row> {
    private static final long serialVersionUID = 1;
    private static final String QUERY = "sql.streaming.queryId";
    /** The jobs of a start of a query are one group, with the id of the run as its name. */
    private static final String RUN = "spark.jobGroup.id";

    private final HashMap<String, String> options;
    private final RealTimeColumns columns;

    private transient WriteOptions parsed;
    private transient SinkQueues.Lease lease;
    private transient RealTimeTask task;

    private interface Step {
        void run() throws IOException, InterruptedException;
    }

    private RealTimeSink(Map<String, String> options, RealTimeColumns columns) {
        this.options = new HashMap<>(options);
        this.columns = columns;
    }

    /**
     * Makes a writer for a query.
     *
     * @param path the queue's directory, as the tasks see it; created if missing
     * @param schema of the rows: value (string or binary), partition (int) and offset (bigint); optionally ordinal (int or
     *     bigint, 0 to 65535), the number of the row among those of one record; source (string, up to 46 letters,
     *     digits, '_', '-' or '.'), which distinguishes queues with the same partitions. A column timestamp is ignored
     * @param options of docs/reference/spark.md: sync, pushTimeout, failOnDataLoss, and keys of the queue's configuration
     * @return the writer
     * @throws IllegalArgumentException if a column or an option is invalid
     */
    public static RealTimeSink of(String path, StructType schema, Map<String, String> options) {
        Map<String, String> all = new HashMap<>(options);
        all.put(Options.PATH, path);
        KnownOptions.refuseOthers(new Options(all), Set.of(OptionUse.REAL_TIME_WRITE));
        parse(all);
        return new RealTimeSink(all, RealTimeColumns.of(schema));
    }

    private static WriteOptions parse(Map<String, String> options) {
        Options parsed = new Options(options);
        return WriteOptions.of(parsed.path(), parsed);
    }

    /**
     * Opens the queue.
     *
     * @param partition the number of the task
     * @param epoch the number of the batch
     * @return true: the task writes all its rows
     * @throws IllegalStateException if another process has the queue open for writing, or the queue has lost batches of
     *     the query
     */
    @Override
    public boolean open(long partition, long epoch) {
        TaskContext context = TaskContext.get();
        String query = context == null ? null : context.getLocalProperty(QUERY);
        if (query == null) {
            throw new IllegalStateException("the sink of real-time mode writes the rows of streaming queries alone");
        }
        parsed = parse(options);
        String run = String.valueOf(context.getLocalProperty(RUN));
        RealTimeTask.Id id = new RealTimeTask.Id(query, run, epoch, context.stageId(), Math.toIntExact(partition));
        attempt(() -> {
            lease = SinkQueues.acquire(parsed.path(), query, parsed.config(), parsed.push(), SinkQueues.LINGER);
            try {
                task = lease.queue().beginTask(id, parsed.push());
            } finally {
                if (task == null) { // Spark does not call close then
                    lease.close();
                }
            }
        });
        return true;
    }

    /**
     * Pushes a row; waits for room in the queue.
     *
     * @param row the row
     * @throws IllegalArgumentException if a column is null or out of range
     * @throws IllegalStateException if the row does not come after the one before it
     * @throws org.mmapqueue.errors.FullException if there is no room within pushTimeout
     */
    @Override
    public void process(Row row) {
        int ordinal = columns.ordinal();
        int source = columns.source();
        attempt(() -> task.push(
                row.getInt(present(row, columns.partition())),
                source < 0 ? null : row.getString(present(row, source)),
                row.getLong(present(row, columns.offset())),
                ordinal < 0 ? 0 : ((Number) row.get(present(row, ordinal))).longValue(),
                columns.isString()
                        ? row.getString(present(row, columns.value())).getBytes(UTF_8)
                        : (byte[]) row.get(present(row, columns.value()))));
    }

    private static int present(Row row, int column) {
        if (row.isNullAt(column)) {
            throw new IllegalArgumentException(
                    "the column " + row.schema().fieldNames()[column] + " is null in a row; allowed: any other value");
        }
        return column;
    }

    /**
     * Makes the rows durable, unless the task has failed. The queue stays open for some seconds, for the next batch.
     *
     * @param error why the task has failed; null if it has ended
     */
    @Override
    public void close(Throwable error) {
        try {
            if (error == null) {
                attempt(task::commit);
            }
        } finally {
            lease.close();
        }
    }

    private void attempt(Step step) {
        try {
            step.run();
        } catch (LockedException e) {
            throw new IllegalStateException(
                    "a task of real-time mode on host " + Hosts.own() + " pushes to " + parsed.path()
                            + ", so no other process may have it open for writing. Run the query with local[n] or one"
                            + " executor, and other writers in that process: "
                            + e.getMessage(),
                    e);
        } catch (IOException e) {
            throw new UncheckedIOException("writing " + parsed.path() + " failed: " + e.getMessage(), e);
        } catch (InterruptedException e) {
            throw StoppedQuery.interrupted(parsed.path() + " was written", e);
        }
    }
}
