package org.mmapqueue.spark.work;

import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.errors.UnackedLimitException;
import org.mmapqueue.spark.common.ConsumersOfQueries;
import org.mmapqueue.spark.common.PartitionDirectory;
import org.mmapqueue.spark.common.StoppedQuery;
import org.mmapqueue.spark.source.LocalPartition;
import org.mmapqueue.spark.source.LocalPartitionLocation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A partition, open on the driver, with the consumer that pops its records. Not thread-safe. */
final class WorkPartition implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(WorkPartition.class);
    private static final String DEAD_LETTER_DIR = "dead_letter_dir";
    private static final int MOST_REASON = 500;

    private final PartitionDirectory directory;
    private final WorkOptions options;
    private final Path real;
    private final MmapQueue queue;
    private final LocalPartition records;
    private final Consumer consumer;
    private boolean isLimitReported;

    // A run with trigger availableNow delivers each record that it begins with at most once.
    /** The log end at the start of such a run; Long.MAX_VALUE for other runs. */
    private long runEnd = Long.MAX_VALUE;

    private boolean isRunComplete;
    private final TreeSet<Long> delivered = new TreeSet<>();
    /** Popped records that the run must not deliver; they are released at the end. */
    private final List<Long> held = new ArrayList<>();

    /** Counts of outcomes since the query's start. */
    private final long[] counts = new long[Outcomes.Kind.values().length];

    private long withoutOutcome;

    /** @throws IllegalStateException if another query or process uses the consumer */
    WorkPartition(PartitionDirectory directory, WorkOptions options) {
        this.directory = directory;
        this.options = options;
        real = PartitionDirectory.real(directory.directory());
        String other = ConsumersOfQueries.take(real.toString(), options.consumer(), "process_stream " + options.id());
        if (other != null) {
            throw inUse("the query " + other + " in this process", null);
        }
        MmapQueue opened = null;
        Consumer own = null;
        try {
            opened = MmapQueue.openToRead(real);
            own = opened.consumer(options.consumer(), StartAt.EARLIEST);
        } catch (LockedException e) {
            throw inUse(e.pid() < 0 ? "another process of unknown pid" : "process " + e.pid(), e);
        } finally {
            if (own == null) {
                if (opened != null) {
                    opened.close();
                }
                ConsumersOfQueries.release(real.toString(), options.consumer());
            }
        }
        queue = opened;
        consumer = own;
        records = new LocalPartition(
                new LocalPartitionLocation(directory),
                queue,
                () -> queue.overflows() ? consumer.committedOffset() : Long.MAX_VALUE);
    }

    private IllegalStateException inUse(String holder, Exception cause) {
        return new IllegalStateException(
                "consumer " + options.consumer() + " of the queue in " + directory.path() + " is in use by " + holder
                        + "; each query needs a consumer of its own: see consumer of process_stream",
                cause);
    }

    /** The partition. */
    LocalPartition records() {
        return records;
    }

    /** Limits this run to records that exist now, each once. */
    void runToEnd() {
        runEnd = queue.endOffset();
    }

    /**
     * Pops records, and makes their attempts durable.
     *
     * @param maxRecords the maximum number of records
     * @param maxBytes the maximum number of payload bytes; the first record may be larger
     * @return attempts by offset; empty if no record is due
     */
    TreeMap<Long, Integer> pop(int maxRecords, long maxBytes) {
        TreeMap<Long, Integer> popped = new TreeMap<>();
        long[] bytes = {0};
        int count = 1;
        boolean isComplete = false;
        try {
            while (count > 0 && !isRunComplete && popped.size() < maxRecords && bytes[0] < maxBytes) {
                count = pop(maxRecords - popped.size(), maxBytes - bytes[0], popped, bytes);
            }
            if (!popped.isEmpty()) {
                consumer.saveDeliveries();
            }
            isComplete = true;
            return popped;
        } finally {
            if (!isComplete && !popped.isEmpty()) {
                release(popped.keySet());
            }
        }
    }

    private int pop(int maxRecords, long maxBytes, TreeMap<Long, Integer> popped, long[] bytes) {
        try {
            int count = consumer.popBatch(
                    maxRecords, maxBytes, Duration.ZERO, (offset, timestamp, data, start, length, attempts) -> {
                        if (offset >= runEnd || delivered.contains(offset)) {
                            isRunComplete |= offset >= runEnd;
                            held.add(offset);
                        } else {
                            popped.put(offset, attempts);
                            bytes[0] += length;
                        }
                    });
            isLimitReported &= count == 0;
            return count;
        } catch (UnackedLimitException e) {
            if (!isLimitReported) {
                isLimitReported = true;
                LOG.warn("partition {} of {}: {}", directory.id(), options, e.getMessage());
            }
            return 0;
        } catch (InterruptedException e) {
            throw StoppedQuery.interrupted("popping records", e);
        }
    }

    /**
     * Checks that outcomes can be applied.
     *
     * @throws IllegalArgumentException for a dead letter without a dead-letter queue
     */
    void check(Outcomes outcomes) {
        if (outcomes.hasDeadLetters(directory.id())
                && queue.config().asMap().getOrDefault(DEAD_LETTER_DIR, "").isEmpty()) {
            throw new IllegalArgumentException("outcome 'dead-letter', but " + DEAD_LETTER_DIR + " of the queue in "
                    + directory.path()
                    + " is not set: open it in the driver, mmapqueue.Queue(…, spark=spark, max_attempts=…, "
                    + DEAD_LETTER_DIR + "=…), and pass this queue to process_stream");
        }
    }

    /** Applies outcomes, and makes them durable. Records without one are requeued. */
    void settle(SortedMap<Long, Integer> popped, SortedMap<Long, Outcomes.Outcome> outcomes) {
        List<Long> acked = new ArrayList<>();
        popped.keySet().forEach(offset -> {
            Outcomes.Outcome outcome = outcomes.get(offset);
            if (outcome != null && outcome.kind() == Outcomes.Kind.ACK) {
                acked.add(offset);
            } else if (runEnd != Long.MAX_VALUE) {
                delivered.add(offset);
            }
        });
        consumer.ack(array(acked));
        counts[Outcomes.Kind.ACK.ordinal()] += acked.size();
        long none = 0;
        for (Map.Entry<Long, Integer> each : popped.entrySet()) {
            Outcomes.Outcome outcome = outcomes.get(each.getKey());
            if (outcome == null || outcome.kind() != Outcomes.Kind.ACK) {
                none += outcome == null ? 1 : 0;
                requeue(each.getKey(), each.getValue(), outcome);
            }
        }
        consumer.saveDeliveries();
        if (none > 0) {
            withoutOutcome += none;
            LOG.warn(
                    "{} of {} records of partition {} have no outcome of the handler, and are redelivered: {}",
                    none,
                    popped.size(),
                    directory.id(),
                    options);
        }
    }

    private void requeue(long offset, int attempts, Outcomes.Outcome outcome) {
        try {
            if (outcome != null && outcome.kind() == Outcomes.Kind.DEAD_LETTER) {
                if (outcome.reason() != null) {
                    LOG.warn("record {} of {} is a dead letter: {}", offset, options, shortened(outcome.reason()));
                }
                consumer.deadLetter(offset); // throws if its queue does not take it
                counts[Outcomes.Kind.DEAD_LETTER.ordinal()]++;
            } else {
                counts[Outcomes.Kind.NACK.ordinal()] += outcome == null ? 0 : 1;
                long given = outcome == null ? -1 : outcome.delayMicros();
                consumer.nack(
                        offset, Duration.of(given >= 0 ? given : options.retryMicros(attempts), ChronoUnit.MICROS));
            }
        } catch (OutOfRangeException e) {
            LOG.debug("record {} of {} was acked by another caller", offset, options, e);
        } catch (DroppedException | ClosedException e) {
            throw e;
        } catch (MmapQueueException e) {
            LOG.warn("{}", e.getMessage()); // the dead-letter queue did not take it: it is redelivered after a second
        }
    }

    private static String shortened(String reason) {
        String line = reason.replaceAll("\\p{Cntrl}", " ");
        return line.length() <= MOST_REASON ? line : line.substring(0, MOST_REASON) + "…";
    }

    /**
     * Requeues records whose handler has failed, or was stopped. A consumer that another handle keeps open would not
     * deliver them again.
     */
    void requeue(SortedMap<Long, Integer> unfinished) {
        Outcomes.Outcome now = new Outcomes.Outcome(Outcomes.Kind.NACK, 0, null);
        unfinished.forEach((offset, attempts) -> {
            try {
                requeue(offset, attempts, now);
            } catch (DroppedException e) {
                LOG.warn("partition {} of {}: {}", directory.id(), options, e.getMessage());
                requeue(offset, attempts, now); // again, as DroppedException is thrown once for each loss
            }
        });
    }

    /** Releases records that no handler has got. */
    void release(Collection<Long> offsets) {
        consumer.release(array(offsets));
    }

    private static long[] array(Collection<Long> offsets) {
        return offsets.stream().mapToLong(Long::longValue).toArray();
    }

    /** The number of unacked records, and that of all outcomes since the start, by their names in a query's progress. */
    void addTo(Map<String, Long> figures) {
        figures.merge("lag_records", consumer.lag(), Long::sum);
        figures.merge("acked", counts[Outcomes.Kind.ACK.ordinal()], Long::sum);
        figures.merge("nacked", counts[Outcomes.Kind.NACK.ordinal()], Long::sum);
        figures.merge("dead_lettered", counts[Outcomes.Kind.DEAD_LETTER.ordinal()], Long::sum);
        figures.merge("without_outcome", withoutOutcome, Long::sum);
    }

    /** Closes the consumer, unless another handle of this process has it open. */
    @Override
    public void close() {
        try {
            if (!held.isEmpty()) {
                release(held);
            }
            consumer.leave();
        } finally {
            queue.close();
            ConsumersOfQueries.release(real.toString(), options.consumer());
        }
    }
}
