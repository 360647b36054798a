package org.mmapqueue.consume;

import java.util.LinkedList;
import java.util.ListIterator;

/**
 * Visibility deadlines of in-flight records, in pop order. A run covers records that were popped at about the same time
 * with the same number of attempts. Not thread-safe: the consumer's lock guards it.
 */
@SuppressWarnings("JdkObsolete") // runs are split, also in the middle of the list
final class Leases {
    /** Records that are popped within timeout / this share one run. */
    private static final int PARTS = 64;

    private static final class Run {
        final long end;
        final int attempts;
        long from;
        long to;

        Run(long end, int attempts, long from, long to) {
            this.end = end;
            this.attempts = attempts;
            this.from = from;
            this.to = to;
        }
    }

    private final long timeout;
    private final LinkedList<Run> runs = new LinkedList<>();

    /**
     * Starts without leases.
     *
     * @param timeout the duration of a lease, in the unit of the caller's clock; 0 for no leases
     */
    Leases(long timeout) {
        this.timeout = timeout;
    }

    boolean isOff() {
        return timeout == 0;
    }

    boolean isEmpty() {
        return runs.isEmpty();
    }

    void clear() {
        runs.clear();
    }

    /** Starts the lease of a record that was popped for the {@code times}th time. */
    void add(long now, long offset, int times) {
        if (timeout == 0) {
            return;
        }
        long slack = timeout / PARTS;
        Run last = runs.peekLast();
        // A run's deadline is slightly after the deadline of its first record, and not before that of its last one.
        if (last != null
                && offset == last.to + 1
                && times == last.attempts
                && now - (last.end - timeout - slack) <= slack) {
            last.to = offset;
        } else {
            runs.add(new Run(now + timeout + slack, times, offset, offset));
        }
    }

    /**
     * Ends the lease of a record that was popped for the {@code times}th time, if one exists. The search begins with
     * the newest run. An empty run may remain: its {@link #from} is above its {@link #to}.
     */
    void cancel(long offset, int times) {
        ListIterator<Run> newest = runs.listIterator(runs.size());
        while (newest.hasPrevious()) {
            Run run = newest.previous();
            if (run.attempts == times && offset >= run.from && offset <= run.to) {
                if (offset == run.to) {
                    run.to--;
                } else if (offset == run.from) {
                    run.from++;
                } else {
                    // Splits the run into the records before the offset and those after it; both keep the deadline.
                    newest.next();
                    newest.add(new Run(run.end, times, offset + 1, run.to));
                    run.to = offset - 1;
                }
                return;
            }
        }
    }

    /** The deadline of the first run. */
    long end() {
        return runs.getFirst().end;
    }

    long from() {
        return runs.getFirst().from;
    }

    long to() {
        return runs.getFirst().to;
    }

    int attempts() {
        return runs.getFirst().attempts;
    }

    /** Removes the first run. */
    void remove() {
        runs.removeFirst();
    }
}
