package org.mmapqueue.spark.write.sink;

import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.Records;
import org.mmapqueue.spark.common.Options;

/**
 * A task of a query in real-time mode: pushes each row at once, and each row one time. Not thread-safe.
 *
 * <p>The rows of a source partition are batches of one idempotent producer, in the order of their source. The sequence
 * of a row is the offset of its record, and its ordinal among the rows of that record: the queue knows the rows that a
 * repeated task pushes again.
 */
public final class RealTimeTask {
    /** The bits of a sequence that are the ordinal; another number would not fit the sequences that queues have stored. */
    private static final int ORDINAL_BITS = 16;

    private static final long MOST_ORDINAL = (1L << ORDINAL_BITS) - 1;
    private static final long MOST_OFFSET = (1L << 63 - ORDINAL_BITS) - 1;

    /** With a query's id and a partition the name of a producer has at most 100 characters. */
    private static final Pattern SOURCE = Pattern.compile("[A-Za-z0-9._-]{1,46}");

    private final MmapQueue queue;
    private final RealTimeProducers producers;
    private final Id id;
    private final Push push;
    private final Map<Source, Rows> rows = new HashMap<>();

    /**
     * What identifies a task.
     *
     * @param query the query's id
     * @param run the id of this start of the query
     * @param epoch the number of the batch
     * @param stage the number of the stage, which differs between the batches of a run, also if one is repeated. The
     *     stages of another Spark context in this process have the same numbers
     * @param partition the number of the task in its stage
     */
    public record Id(String query, String run, long epoch, int stage, int partition) {
        /** Whether tasks run side by side. */
        boolean isBeside(Id other) {
            return run.equals(other.run) && stage == other.stage && partition != other.partition;
        }

        /** The producer of the query's epochs; those of rows begin with its name. */
        String producer() {
            return SinkQueue.EPOCHS + query;
        }
    }

    private record Source(int partition, String name) {}

    /** The rows of a source partition. */
    private static final class Rows {
        final String producer;
        /** Of the last row; -1 for none. */
        long sequence;

        Rows(String producer, long sequence) {
            this.producer = producer;
            this.sequence = sequence;
        }
    }

    /**
     * Begins a task.
     *
     * @param root the queue's directory
     * @param queue the only partition of the queue
     * @throws IllegalStateException if the queue has lost epochs of the query
     */
    RealTimeTask(Path root, MmapQueue queue, RealTimeProducers producers, Id id, Push push) {
        this.queue = queue;
        this.producers = producers;
        this.id = id;
        this.push = push;
        new MissingEpochs(root, id.query(), id.epoch(), id.producer())
                .check(queue.lastSequence(id.producer()).orElse(-1), push.failOnDataLoss());
    }

    /**
     * Pushes a row unless it was pushed before.
     *
     * @param partition the partition of the source
     * @param source the name of the source; null for none
     * @param offset the offset of the record that the row comes from
     * @param ordinal the number of the row among those of its record
     * @param value the row's bytes
     * @throws IllegalArgumentException if a number or the name is out of range
     * @throws IllegalStateException if the row does not come after the one before it, or another task of the batch has
     *     rows of the same source partition
     * @throws InterruptedException if interrupted while waiting for room
     */
    public void push(int partition, String source, long offset, long ordinal, byte[] value)
            throws InterruptedException {
        check("partition", partition, Integer.MAX_VALUE);
        check("offset", offset, MOST_OFFSET);
        check("ordinal", ordinal, MOST_ORDINAL);
        Rows own = rows.computeIfAbsent(new Source(partition, source), this::begin);
        long sequence = offset << ORDINAL_BITS | ordinal;
        if (sequence <= own.sequence) {
            throw new IllegalStateException("a row of task " + id.partition() + " has partition " + partition
                    + ", offset " + offset + " and ordinal " + ordinal + ", after a row of offset "
                    + (own.sequence >> ORDINAL_BITS) + " and ordinal " + (own.sequence & MOST_ORDINAL) + " of producer "
                    + own.producer + ". Both together must rise, as the queue knows a row by them. Several rows of one"
                    + " record need the column ordinal, for example from posexplode");
        }
        queue.pushOnce(own.producer, sequence, Records.of(List.of(value)), push.timeout(), push.sync());
        own.sequence = sequence;
    }

    private void check(String column, long value, long most) {
        if (value < 0 || value > most) {
            throw new IllegalArgumentException("the column " + column + " is " + value + " in a row of task "
                    + id.partition() + "; allowed: 0.." + most);
        }
    }

    private Rows begin(Source source) {
        String name = source.name();
        if (name != null && !SOURCE.matcher(name).matches()) {
            throw new IllegalArgumentException("the column source is \"" + name + "\" in a row of task "
                    + id.partition() + "; allowed: 1 to 46 letters, digits, '_', '-' or '.'");
        }
        String producer = id.producer() + "-" + source.partition() + (name == null ? "" : "-" + name);
        return new Rows(producer, producers.begin(producer, id));
    }

    /**
     * Ends the task, whose rows are all pushed: makes them durable, as Spark commits the batch then.
     *
     * @throws InterruptedException if interrupted
     */
    public void commit() throws InterruptedException {
        rows.values().forEach(each -> producers.end(each.producer, id, each.sequence));
        if (id.partition() == 0) {
            queue.pushOnce(id.producer(), id.epoch(), List.of(), Duration.ZERO);
        }
        queue.flush();
    }

    /** The only partition of a queue; several would need a rule that holds when partitions are added. */
    static MmapQueue only(Path root, List<MmapQueue> partitions) {
        if (partitions.size() > 1) {
            throw Options.bad(
                    Options.PATH,
                    root.toString(),
                    "a queue of one partition, as the sink of real-time mode; this one has " + partitions.size()
                            + ": write to one of them, such as " + root.resolve("p=0"));
        }
        return partitions.get(0);
    }
}
