package org.mmapqueue.spark.work;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.common.RecordSchema;
import org.mmapqueue.spark.common.RunningSession;
import org.mmapqueue.spark.common.StoppedQuery;
import org.mmapqueue.spark.read.plan.DeliveredRecords;
import org.mmapqueue.spark.read.plan.InputPlanner;
import org.mmapqueue.spark.read.task.QueueReaderFactory;
import org.mmapqueue.spark.source.OpenPartitions;

/**
 * A consumer of work as the source of a streaming query (decision 231). A micro-batch is what the consumer has popped; the
 * query's handler gives each of its records an outcome, which this class applies before Spark commits the micro-batch. The
 * consumer knows which records are left, so a micro-batch that a restart repeats from the checkpoint is empty: its records
 * without an outcome are in one of the next.
 *
 * <p>Thread-safe: all methods lock the stream. The handler's own jobs run without that lock.
 */
public final class WorkStream implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
    /** The running streams, by the id that their handlers know. */
    private static final Map<String, WorkStream> RUNNING = new ConcurrentHashMap<>();

    private final WorkOptions options;
    private final SparkContext context;
    private final SortedMap<Integer, WorkPartition> partitions = new TreeMap<>();
    private boolean isStopped;
    private boolean runsToEnd;
    /** Where the next micro-batch begins to pop, so that no partition starves. */
    private int firstToPop;

    /** The records of the running micro-batch; null between two. */
    private Delivery delivery;

    private static final class Delivery {
        private final long number;
        private final SortedMap<Integer, TreeMap<Long, Integer>> popped = new TreeMap<>();
        private boolean begun;

        Delivery(long number) {
            this.number = number;
        }
    }

    WorkStream(WorkOptions options) {
        this.options = options;
        this.context = RunningSession.context();
    }

    // ---- called from Python

    /**
     * Begins the handler's work.
     *
     * @param id the query
     * @return false if the micro-batch has no records: a restart repeats it, and its records come in a later one
     */
    public static boolean begin(String id) {
        WorkStream stream = RUNNING.get(id); // null for a repeated micro-batch at a start, which opens nothing
        return stream != null && stream.begin();
    }

    /**
     * Applies the outcomes of a micro-batch.
     *
     * @param id the query
     * @param outcomes partition, offset, outcome, delay in seconds, reason
     * @throws IllegalArgumentException if an outcome is invalid; none is applied then
     */
    public static void settle(String id, Dataset<Row> outcomes) {
        WorkStream stream = running(id);
        List<Row> rows = outcomes.collectAsList(); // without the lock: it runs the handler's functions
        stream.settle(rows, null);
    }

    /**
     * Applies one outcome to all records of a micro-batch.
     *
     * @param id the query
     * @param outcome ack, nack or dead-letter
     */
    public static void settleAll(String id, String outcome) {
        running(id).settle(null, outcome);
    }

    private static WorkStream running(String id) {
        WorkStream stream = RUNNING.get(id);
        if (stream == null) {
            throw new IllegalStateException("query " + id + " of process_stream does not run");
        }
        return stream;
    }

    private synchronized boolean begin() {
        if (delivery == null) {
            return false;
        }
        delivery.begun = true;
        return true;
    }

    private synchronized void settle(List<Row> rows, String forAll) {
        if (isStopped || delivery == null) {
            throw new IllegalStateException(options + ": the outcomes belong to no running micro-batch");
        }
        Outcomes outcomes = rows == null
                ? Outcomes.ofAll(delivery.popped, forAll)
                : Outcomes.of(rows, delivery.popped, partitions.size());
        delivery.popped.keySet().forEach(id -> partitions.get(id).check(outcomes));
        delivery.popped.forEach((id, popped) ->
                partitions.get(id).settle(popped, outcomes.byPartition().getOrDefault(id, new TreeMap<>())));
        delivery = null;
    }

    // ---- called by Spark

    @Override
    public Offset initialOffset() {
        return new WorkOffset(0);
    }

    @Override
    public Offset deserializeOffset(String json) {
        return new WorkOffset(Long.parseLong(json));
    }

    @Override
    public ReadLimit getDefaultReadLimit() {
        return ReadLimit.maxRows(options.maxRecords());
    }

    // Opens nothing: if this call fails, Spark does not stop the source.
    @Override
    public synchronized void prepareForTriggerAvailableNow() {
        runsToEnd = true;
    }

    @Override
    public Offset latestOffset() {
        throw new UnsupportedOperationException("latestOffset(start, limit) gives the end of a batch");
    }

    /** Pops the next micro-batch. */
    @Override
    public synchronized Offset latestOffset(Offset start, ReadLimit limit) {
        open();
        long before = WorkOffset.number(start);
        if (delivery == null) {
            delivery = popped(before + 1);
        } else if (delivery.number != before + 1) {
            throw new IllegalStateException(options + ": the micro-batch has ended without outcomes; only"
                    + " mmapqueue.process_stream may use this source");
        }
        return new WorkOffset(delivery == null ? before : delivery.number);
    }

    private Delivery popped(long number) {
        Delivery next = new Delivery(number);
        boolean isComplete = false;
        try {
            pop(next.popped);
            isComplete = true;
            return next.popped.isEmpty() ? null : next;
        } finally {
            if (!isComplete) { // no handler gets what the partitions before the failed one have popped
                next.popped.forEach((id, own) -> partitions.get(id).release(own.keySet()));
            }
        }
    }

    private void pop(SortedMap<Integer, TreeMap<Long, Integer>> popped) {
        int records = 0;
        List<Integer> ids = List.copyOf(partitions.keySet());
        firstToPop = (firstToPop + 1) % ids.size();
        for (int i = 0; i < ids.size() && records < options.maxRecords(); i++) {
            int id = ids.get((firstToPop + i) % ids.size());
            int share = Math.max(1, (options.maxRecords() - records) / (ids.size() - i));
            TreeMap<Long, Integer> own = partitions.get(id).pop(share, Math.max(1, options.maxBytes() / ids.size()));
            if (!own.isEmpty()) {
                popped.put(id, own);
                records += own.size();
            }
        }
    }

    @SuppressWarnings("ReferenceEquality") // a stream is itself
    private void open() {
        if (isStopped) {
            throw new IllegalStateException(options + " has been stopped");
        }
        RunningSession.check(context);
        WorkStream other = RUNNING.putIfAbsent(options.id(), this);
        if (other != null && other != this) {
            throw new IllegalStateException(
                    options + " runs already: each query needs a call of process_stream of its own");
        }
        if (partitions.isEmpty() || !runsToEnd) {
            for (PartitionDirectory each : PartitionDirectory.find(options.path())) {
                if (!partitions.containsKey(each.id())) {
                    WorkPartition opened = new WorkPartition(each, options);
                    partitions.put(each.id(), opened);
                    if (runsToEnd) {
                        opened.runToEnd();
                    }
                }
            }
        }
    }

    @Override
    public synchronized InputPartition[] planInputPartitions(Offset start, Offset end) {
        if (delivery == null || delivery.number != WorkOffset.number(end)) {
            return new InputPartition[0];
        }
        OpenPartitions open = new OpenPartitions(
                partitions.values().stream().map(WorkPartition::records).toList(), () -> {});
        InputPlanner planner = new InputPlanner(options.reading(), context.defaultParallelism());
        return StoppedQuery.during(() -> planner.planPacked(open, delivered().ranges(), true))
                .toArray(new InputPartition[0]);
    }

    @Override
    public synchronized PartitionReaderFactory createReaderFactory() {
        return new QueueReaderFactory(RecordSchema.DELIVERED, delivered());
    }

    private DeliveredRecords delivered() {
        return new DeliveredRecords(delivery == null ? Map.of() : delivery.popped);
    }

    /** Does nothing: the outcomes were applied before. */
    @Override
    public void commit(Offset end) {}

    /** Of the open partitions: none before the first trigger, and after the stop. */
    @Override
    public synchronized Map<String, String> metrics(Optional<Offset> latestConsumedOffset) {
        Map<String, Long> figures = new TreeMap<>();
        partitions.values().forEach(each -> each.addTo(figures));
        Map<String, String> texts = new TreeMap<>();
        figures.forEach((name, figure) -> texts.put(name, Long.toString(figure)));
        return texts;
    }

    @Override
    public String toString() {
        return options.toString();
    }

    /** Gives back the records without an outcome, and leaves the consumer. What no handler has got counts no attempt. */
    @Override
    public synchronized void stop() {
        if (isStopped) {
            return;
        }
        isStopped = true;
        RUNNING.remove(options.id(), this);
        List<RuntimeException> failures = new ArrayList<>();
        for (Map.Entry<Integer, WorkPartition> each : partitions.entrySet()) {
            try {
                TreeMap<Long, Integer> unfinished = delivery == null ? null : delivery.popped.get(each.getKey());
                if (unfinished != null && delivery.begun) {
                    each.getValue().requeue(unfinished);
                } else if (unfinished != null) {
                    each.getValue().release(unfinished.keySet());
                }
            } catch (RuntimeException e) {
                failures.add(e);
            }
            try {
                each.getValue().close();
            } catch (RuntimeException e) {
                failures.add(e);
            }
        }
        partitions.clear();
        if (!failures.isEmpty()) {
            RuntimeException first = failures.remove(0);
            failures.forEach(first::addSuppressed);
            throw first;
        }
    }
}
