package org.mmapqueue.spark.read.stream;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.types.StructType;
import org.mmapqueue.StartAt;
import org.mmapqueue.metrics.Metric;
import org.mmapqueue.spark.common.KnownOptions;
import org.mmapqueue.spark.common.OptionUse;
import org.mmapqueue.spark.common.Options;
import org.mmapqueue.spark.common.PartitionOffsets;
import org.mmapqueue.spark.common.RunningSession;
import org.mmapqueue.spark.common.StoppedQuery;
import org.mmapqueue.spark.read.plan.Backlog;
import org.mmapqueue.spark.read.plan.DataLoss;
import org.mmapqueue.spark.read.plan.Gaps;
import org.mmapqueue.spark.read.plan.InputPlanner;
import org.mmapqueue.spark.read.plan.OffsetSpec;
import org.mmapqueue.spark.read.plan.OverDamage;
import org.mmapqueue.spark.read.plan.PackedInputPartition;
import org.mmapqueue.spark.read.plan.QueueInputPartition;
import org.mmapqueue.spark.read.plan.RangesText;
import org.mmapqueue.spark.read.plan.ReadOptions;
import org.mmapqueue.spark.read.plan.ReadRange;
import org.mmapqueue.spark.read.stream.StreamLimits.Range;
import org.mmapqueue.spark.read.task.BatchRows;
import org.mmapqueue.spark.read.task.LossCount;
import org.mmapqueue.spark.read.task.QueueReaderFactory;
import org.mmapqueue.spark.source.ArchiveLocation;
import org.mmapqueue.spark.source.Location;
import org.mmapqueue.spark.source.ReadablePartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A queue as the source of a streaming query. A micro-batch is one range of offsets for each partition; the range alone
 * determines the rows. A consumer retains every record that the checkpoint may replay, and advances when Spark commits
 * a batch, or when the query is idle and the checkpoint has the commit of its last batch.
 *
 * <p>Thread-safe: all methods lock the stream.
 */
public class QueueMicroBatchStream implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
    private static final Logger LOG = LoggerFactory.getLogger(QueueMicroBatchStream.class);
    private static final String REAL_TIME_MODE = "org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode";
    private static final String REAL_TIME_STREAM = "org.mmapqueue.spark.read.stream.QueueRealTimeStream";

    private final Location location;
    private final ReadOptions options;
    private final StructType columns;
    private final SparkContext context;
    private final CheckpointFile checkpoint;
    private final StreamLimits limits;
    private final LossCount losses;
    /**
     * Null until the first call that needs the queue: Spark does not stop a source if the query fails before its start.
     * Null after the stop.
     */
    private StreamQueue queue;
    /** Whether the query has ended; final. */
    private boolean isStopped;
    /** Whether the trigger is availableNow: the run ends with the records that exist when it opens the queue. */
    private boolean runsToEnd;
    /** The end of such a run; null until the queue is open, and for other triggers. */
    private PartitionOffsets lastEnds;
    /** Whether this run has planned a batch or asked for the latest offset. */
    private boolean begun;

    private final IdleAck idleAck = new IdleAck(System::nanoTime);
    private boolean anyBatch;
    private long lastBatchNanos;
    /** The positions in partitions that do not exist any more, so that no task of real-time mode reads them. */
    private final SortedMap<Integer, Long> absent = new TreeMap<>();
    /** The ranges of the micro-batch that was planned last, for people. */
    private volatile String planned = "not planned yet";

    /**
     * Makes a source; the first call opens the queue.
     *
     * @param location the queue
     * @param options the options of the query
     * @param columns columns of the rows
     * @param checkpointLocation the source's own directory in the query's checkpoint
     */
    QueueMicroBatchStream(Location location, ReadOptions options, StructType columns, String checkpointLocation) {
        this.location = location;
        this.options = options;
        this.columns = columns;
        this.context = RunningSession.context();
        this.checkpoint = new CheckpointFile(checkpointLocation, context.hadoopConfiguration());
        this.limits = new StreamLimits(
                options.minOffsetsPerTrigger(),
                options.maxTriggerDelayMs(),
                options.maxOffsetsPerTrigger(),
                options.maxBytesPerTrigger());
        this.losses = new LossCount(context);
    }

    /**
     * Makes a source for the running version of Spark, with real-time mode if Spark supports it.
     *
     * @param location the queue
     * @param options the options of the query
     * @param columns columns of the rows
     * @param checkpointLocation the source's own directory in the query's checkpoint
     */
    public static QueueMicroBatchStream of(
            Location location, ReadOptions options, StructType columns, String checkpointLocation) {
        ClassLoader loader = QueueMicroBatchStream.class.getClassLoader();
        try {
            Class.forName(REAL_TIME_MODE, false, loader);
        } catch (ClassNotFoundException e) {
            return new QueueMicroBatchStream(location, options, columns, checkpointLocation);
        }
        try {
            return Class.forName(REAL_TIME_STREAM, true, loader)
                    .asSubclass(QueueMicroBatchStream.class)
                    .getDeclaredConstructor(Location.class, ReadOptions.class, StructType.class, String.class)
                    .newInstance(location, options, columns, checkpointLocation);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new IllegalStateException("no " + REAL_TIME_STREAM + ": " + e.getCause(), e);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("no " + REAL_TIME_STREAM + " in the jar: " + e, e);
        }
    }

    /** The consumer's name. */
    private String consumer() {
        return options.consumerOr(checkpoint.consumerName());
    }

    private void checkNotStopped() {
        if (isStopped) {
            throw new IllegalStateException(this + " has been stopped");
        }
    }

    /** The only place that opens the queue. */
    private StreamQueue queue() {
        checkNotStopped();
        RunningSession.check(context);
        if (queue == null) {
            warnOfCheckpoint();
            StreamQueue opened = new StreamQueue(location, checkpoint, source(), options.failOnDataLoss());
            boolean done = false;
            try {
                opened.open();
                lastEnds = runsToEnd ? opened.ends() : null;
                done = true;
            } finally {
                if (!done) {
                    end(opened);
                }
            }
            queue = opened;
        }
        return queue;
    }

    private QuerySource source() {
        return location instanceof ArchiveLocation archive
                ? new ArchiveQuerySource(archive, consumer(), checkpoint)
                : new LocalQuerySource(
                        location.directory("a stream"), consumer(), checkpoint.toString(), options.skipsDamage());
    }

    // Warns if each start uses a new checkpoint: each then leaves a consumer that retains records for no query.
    private void warnOfCheckpoint() {
        if (options.consumer() == null && checkpoint.isGenerated()) {
            LOG.warn(
                    "the query on {} has neither checkpointLocation nor a name: each start makes a new"
                            + " checkpoint," + " this time {}, and a new consumer, this time {}, which retains the"
                            + " records that the query has not read until the consumer is deleted. Set one of"
                            + " the two",
                    location,
                    checkpoint,
                    consumer());
        }
    }

    final StructType columns() {
        return columns;
    }

    final boolean failOnDataLoss() {
        return options.failOnDataLoss();
    }

    final LossCount losses() {
        return losses;
    }

    /** Raises an error for an archive, and for options of the query that have no effect in real-time mode. */
    final void refuseForRealTime() {
        location.directory("real-time mode");
        KnownOptions.refuseOthers(options.given(), Set.of(OptionUse.REAL_TIME_READ));
    }

    // ---- offsets

    @Override
    public final synchronized Offset initialOffset() {
        StreamQueue opened = queue(); // outside the try: errors of the open are not about the starting offset
        try {
            return new StreamOffset(StoppedQuery.during(() -> opened.begin(this::startOf)));
        } catch (IllegalArgumentException e) {
            boolean byTime = options.startingTimestamp().isPresent();
            throw Options.bad(
                    byTime ? ReadOptions.STARTING_TIMESTAMP : ReadOptions.STARTING_OFFSETS,
                    byTime
                            ? options.startingTimestamp().getAsLong() + " µs since 1970"
                            : options.startingOffsets().text(),
                    "a position in the log; " + e.getMessage());
        }
    }

    private StartAt startOf(int partition) {
        if (options.startingTimestamp().isPresent()) {
            return StartAt.timestamp(
                    Instant.EPOCH.plus(options.startingTimestamp().getAsLong(), ChronoUnit.MICROS));
        }
        OffsetSpec spec = options.startingOffsets();
        return switch (spec.kind()) {
            case EARLIEST -> StartAt.EARLIEST;
            case LATEST -> StartAt.LATEST;
            case COMMITTED -> StartAt.COMMITTED;
            case NUMBER -> {
                if (queue().partitions().size() > 1) {
                    throw new IllegalArgumentException(
                            "the queue has " + queue().partitions().size() + " partitions; give an offset for each");
                }
                yield startAt(partition, spec.number());
            }
            case EACH -> startOf(partition, spec.each());
        };
    }

    private StartAt startOf(int partition, PartitionOffsets each) {
        if (!each.map().keySet().equals(queue().partitions().keySet())) {
            throw new IllegalArgumentException(
                    "offsets are given for partitions " + each.map().keySet() + ", but the queue has "
                            + queue().partitions().keySet());
        }
        long offset = each.of(partition, OffsetSpec.EARLIEST);
        if (offset == OffsetSpec.EARLIEST) {
            return StartAt.EARLIEST;
        }
        return offset == OffsetSpec.LATEST ? StartAt.LATEST : startAt(partition, offset);
    }

    // The nearest valid start: records at an offset outside the log are lost, or not pushed yet.
    private StartAt startAt(int partition, long offset) {
        StreamPartition found = queue().partitions().get(partition);
        long first = OverDamage.firstOffset(found.records(), options.skipsDamage());
        long end = found.records().endOffset();
        if (options.failOnDataLoss() || first <= offset && offset <= end) {
            return StartAt.offset(offset);
        }
        DataLoss.found(
                false,
                partition,
                found.records().path(),
                Math.min(offset, end),
                Math.max(offset, first),
                "the log holds " + first + ".." + (end - 1));
        return offset < first ? StartAt.EARLIEST : StartAt.LATEST;
    }

    @Override
    public final Offset deserializeOffset(String json) {
        return new StreamOffset(PartitionOffsets.parse(json));
    }

    @Override
    public final ReadLimit getDefaultReadLimit() {
        return limits.asReadLimit();
    }

    // Opens nothing: if this call of another source of the query fails, Spark stops none of them.
    @Override
    public final synchronized void prepareForTriggerAvailableNow() {
        checkNotStopped();
        runsToEnd = true;
        lastEnds = queue == null ? null : queue.ends();
    }

    @Override
    public final Offset latestOffset() {
        throw new UnsupportedOperationException("latestOffset(start, limit) gives the end of a batch");
    }

    @Override
    public final synchronized Offset latestOffset(Offset start, ReadLimit limit) {
        PartitionOffsets from = StreamOffset.offsets(start);
        PartitionOffsets end = StoppedQuery.during(() -> latest(from, limit));
        if (lastEnds == null) {
            idleAck.at(end);
            if (end.equals(from)) {
                ackIdle(from);
            }
        }
        return new StreamOffset(end);
    }

    private PartitionOffsets latest(PartitionOffsets from, ReadLimit limit) {
        queue().refresh();
        PartitionOffsets most = lastEnds;
        if (most == null) {
            queue().lookForPartitions();
            most = queue().ends();
        }
        releaseOnce(from);
        SortedMap<Integer, Range> available = queue().available(from, most);
        Optional<StreamLimits> asked = limits.under(limit);
        long sinceLast = anyBatch ? TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - lastBatchNanos) : Long.MAX_VALUE;
        if (lastEnds == null && asked.isPresent() && asked.get().waits(available, sinceLast, queue())) {
            return from;
        }
        anyBatch = true;
        lastBatchNanos = System.nanoTime();
        SortedMap<Integer, Long> ends = new TreeMap<>();
        asked.map(each -> each.take(available, queue()))
                .orElse(available)
                .forEach((id, range) -> ends.put(id, range.to()));
        return new PartitionOffsets(ends);
    }

    // Spark commits a batch when it logs the next one, which an idle query never does. So the source reads from the
    // checkpoint that the last batch is complete, in a thread of its own: file systems can be slow.
    private void ackIdle(PartitionOffsets position) {
        if (idleAck.isDue() && queue().retains(position)) {
            idleAck.begin();
            Thread thread = new Thread(() -> lookForCommit(position), "mmapqueue-idle-ack");
            thread.setDaemon(true);
            thread.start();
        }
    }

    private void lookForCommit(PartitionOffsets position) {
        boolean isCommitted = false;
        try {
            isCommitted = checkpoint.batches().committed().equals(Optional.of(position));
        } catch (IOException | RuntimeException e) {
            LOG.debug("the commits in the checkpoint {} cannot be read; the query looks again", checkpoint, e);
        } finally {
            looked(position, isCommitted);
        }
    }

    private synchronized void looked(PartitionOffsets position, boolean isCommitted) {
        idleAck.end();
        if (!isCommitted || isStopped || !idleAck.isAt(position)) {
            return;
        }
        try {
            queue.release(position);
            if (queue.isStored()) {
                idleAck.done();
            }
        } catch (RuntimeException e) {
            LOG.debug("{} cannot be acked up to {}; the next batch acks again", this, position.json(), e);
        }
    }

    // Spark commits a batch when it logs the next one, so the last batch of a run stays uncommitted, and its records
    // could block new ones in a full ring. If Spark plans no logged batch at the start of a run, all logged batches are
    // complete, and their records are released.
    private void releaseOnce(PartitionOffsets from) {
        if (!begun) {
            begun = true;
            queue().release(from);
        }
    }

    /** Null, which means unknown, after the stop. */
    @Override
    public final synchronized Offset reportLatestOffset() {
        return isStopped ? null : new StreamOffset(queue().ends());
    }

    // ---- batches

    @Override
    public final synchronized InputPartition[] planInputPartitions(Offset start, Offset end) {
        return StoppedQuery.during(() -> plan(start, end));
    }

    private InputPartition[] plan(Offset start, Offset end) {
        begun = true;
        PartitionOffsets from = StreamOffset.offsets(start);
        List<ReadRange> ranges = new ArrayList<>();
        StreamOffset.offsets(end).map().forEach((id, to) -> {
            Range range = queue().readable(id, from.of(id, queue().start(id)), to);
            if (range.size() > 0) {
                ranges.addAll(withoutGaps(new ReadRange(id, range.from(), range.to())));
            }
        });
        planned = RangesText.of(ranges);
        if (ranges.isEmpty()) {
            return new InputPartition[0];
        }
        InputPartition[] inputs = new InputPlanner(options, context.defaultParallelism())
                .planPacked(queue().records(), ranges, options.skipsDamage() || BatchRows.needRecords(columns))
                .toArray(new InputPartition[0]);
        // Not every version of Spark takes metrics of a micro-batch from the driver, so a task reports the lag.
        Backlog lag = new StreamLag(queue(), StreamOffset.offsets(end)).total();
        inputs[0] = PackedInputPartition.reporting(inputs[0], lag);
        return inputs;
    }

    private List<ReadRange> withoutGaps(ReadRange range) {
        int id = range.partition();
        List<ReadRange> parts = Gaps.without(queue().partitions().get(id).records(), range, options.failOnDataLoss());
        long at = range.from();
        for (ReadRange each : parts) {
            queue().count(id, at, each.from());
            at = each.to();
        }
        queue().count(id, at, range.to());
        return parts;
    }

    /**
     * The micro-batch that was planned last, as a plan shows it. Waits for no other call.
     *
     * @return queue, consumer, and offsets by partition
     */
    public final String describe() {
        return "mmapqueue " + location + " (consumer " + consumer() + ", Offsets: " + planned + ")";
    }

    /**
     * Plans tasks that read each partition from an offset until Spark ends them. A batch that moves the query to another
     * queue in the place of the former one reads nothing of it, as in {@link #planInputPartitions}.
     */
    final synchronized QueueInputPartition[] planFrom(Offset start) {
        return StoppedQuery.during(() -> planWithoutEnd(start));
    }

    private QueueInputPartition[] planWithoutEnd(Offset start) {
        PartitionOffsets from = StreamOffset.offsets(start);
        queue().refresh();
        queue().lookForPartitions();
        releaseOnce(from);
        SortedMap<Integer, Range> available = queue().available(from, queue().ends());
        absent.clear();
        available.forEach((id, range) -> {
            if (!queue().partitions().containsKey(id)) {
                absent.put(id, range.from());
            }
        });
        List<ReadRange> ranges = available.entrySet().stream()
                .filter(each -> !absent.containsKey(each.getKey()))
                .map(each -> withoutEnd(each.getKey(), each.getValue().from()))
                .toList();
        planned = RangesText.of(ranges);
        return ranges.stream()
                .map(each -> {
                    ReadablePartition partition =
                            queue().partitions().get(each.partition()).records();
                    long first = each.from();
                    return new QueueInputPartition(
                            partition.location(first, Long.MAX_VALUE),
                            partition.queueId(),
                            partition.hosts(first, partition.endOffset()),
                            first,
                            each.to(),
                            options.skipsDamage(),
                            partition.mayHaveLost(first, Long.MAX_VALUE));
                })
                .toArray(QueueInputPartition[]::new);
    }

    private ReadRange withoutEnd(int id, long from) {
        return new ReadRange(id, from, queue().isReplaced(id) ? from : Long.MAX_VALUE);
    }

    /** The position of the query after a batch of {@link #planFrom}, by the positions of its tasks. */
    final synchronized PartitionOffsets after(SortedMap<Integer, Long> tasks) {
        SortedMap<Integer, Long> all = new TreeMap<>(absent);
        all.putAll(tasks);
        return new PartitionOffsets(all);
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return new QueueReaderFactory(columns, options.failOnDataLoss(), losses);
    }

    /**
     * Acks the records of a batch. Does nothing after the stop, as another query may use the consumer: with asynchronous
     * progress tracking, Spark commits a batch after that. The next start acks the records, as the checkpoint has the
     * batch.
     */
    @Override
    public final synchronized void commit(Offset end) {
        if (!isStopped) {
            boolean unused = StoppedQuery.during(() -> {
                queue().release(StreamOffset.offsets(end));
                return true;
            });
        }
    }

    // ---- metrics

    // For a batch without records that is repeated after a restart, Spark calls this before another call has opened the
    // queue.
    @Override
    public final synchronized Map<String, String> metrics(Optional<Offset> latestConsumedOffset) {
        if (isStopped || latestConsumedOffset.isEmpty()) {
            return Collections.emptyMap();
        }
        Map<String, String> figures =
                new StreamLag(queue(), StreamOffset.offsets(latestConsumedOffset.get())).figures();
        figures.put(Metric.DROPPED_RECORDS.shortName(), Long.toString(queue().lostRecords() + losses.dropped()));
        figures.put(Metric.DAMAGED_RECORDS.shortName(), Long.toString(losses.damaged()));
        figures.putAll(StreamLag.holders(queue()));
        return figures;
    }

    @Override
    public final String toString() {
        return "mmapqueue " + location + " (consumer " + consumer() + ")";
    }

    // ---- the end

    @Override
    public final synchronized void stop() {
        isStopped = true;
        if (queue != null) {
            StreamQueue ended = queue;
            queue = null;
            end(ended);
        }
    }

    private void end(StreamQueue ended) {
        try {
            // A query that cannot be restarted would retain its records permanently. But if a query fails at its start
            // because its checkpoint is away, the next start needs the consumer.
            if (options.consumer() == null && (checkpoint.isTemporary() || !ended.hasBegun() && ended.isNew())) {
                ended.forget();
            }
        } finally {
            ended.close();
        }
    }
}
