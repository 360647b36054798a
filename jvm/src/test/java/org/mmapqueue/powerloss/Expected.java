package org.mmapqueue.powerloss;

import java.util.Collection;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.mmapqueue.harness.ExpectedLog;

/** The state that a cut of the power must leave, and the state that it may leave. */
final class Expected {
    /** A consumer. */
    static final class ConsumerState {
        /** The committed offsets that the disk may have: each one since the last flush. */
        final Set<Long> committed = new TreeSet<>();
        /** Records after the committed one that may be acked one by one. */
        final Set<Long> acked = new HashSet<>();
        /** Those of them that this process has acked, since the consumer moved. */
        final Set<Long> current = new HashSet<>();
        /** Those of them that must be acked: the last flush or close has saved them. */
        final Set<Long> saved = new HashSet<>();
        /** Records in flight. */
        final Set<Long> inFlight = new TreeSet<>();
        /** Whether the consumer must exist; else it may exist. */
        boolean mustExist;

        ConsumerState(Collection<Long> committed, boolean mustExist) {
            this.committed.addAll(committed);
            this.mustExist = mustExist;
        }

        ConsumerState copy() {
            ConsumerState copy = new ConsumerState(committed, mustExist);
            copy.acked.addAll(acked);
            copy.current.addAll(current);
            copy.saved.addAll(saved);
            copy.inFlight.addAll(inFlight);
            return copy;
        }

        long maxCommitted() {
            return committed.stream().mapToLong(Long::longValue).max().orElse(0);
        }
    }

    final ExpectedLog log;
    final Map<String, ConsumerState> consumers = new TreeMap<>();
    /** Without consumers the log is retained from this offset on, or from an earlier one. */
    long retainedFrom;
    /** The offset after the last record that must exist. */
    long durable;

    Expected() {
        this(new ExpectedLog());
    }

    private Expected(ExpectedLog log) {
        this.log = log;
    }

    Expected copy() {
        Expected copy = new Expected(log.copy());
        consumers.forEach((name, consumer) -> copy.consumers.put(name, consumer.copy()));
        copy.retainedFrom = retainedFrom;
        copy.durable = durable;
        return copy;
    }

    /**
     * A flush, or a call that flushes, has returned.
     *
     * @param committed the committed offset of each consumer
     * @param mayDrop whether consumers may have been dropped: then the disk may have a later offset than the consumer
     *     reports
     */
    void flushed(Map<String, Long> committed, boolean mayDrop) {
        durable = log.end();
        committed.forEach((name, offset) -> {
            consumers.get(name).saved.addAll(consumers.get(name).current);
            Set<Long> possible = consumers.get(name).committed;
            if (!mayDrop) {
                possible.clear();
            }
            possible.add(offset);
        });
    }

    /** The offset from which records must be retained once no consumer exists. */
    long retainedWithoutConsumers() {
        return consumers.values().stream()
                .mapToLong(ConsumerState::maxCommitted)
                .reduce(retainedFrom, Math::max);
    }

    /** The committed offsets that each consumer may have, for an error. */
    String committedOffsets() {
        StringBuilder text = new StringBuilder();
        consumers.forEach((name, consumer) ->
                text.append(' ').append(name).append(consumer.committed).append(consumer.mustExist ? "" : "?"));
        return text.toString();
    }

    /** The log was found to end here. */
    void endsAt(long end) {
        log.truncate(end);
        durable = end;
    }
}
