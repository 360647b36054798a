package org.mmapqueue.consume;

/**
 * Visibility deadlines of in-flight records, in pop order. A run covers records that were popped at about the same time
 * with the same number of attempts. Not thread-safe: the consumer's lock guards it.
 */
final class Leases {
    /** Records that are popped within timeout / this share one run. */
    private static final int PARTS = 64;

    private static final int FIRST_LENGTH = 16;

    private final long timeout;
    private long[] ends = new long[FIRST_LENGTH];
    private long[] from = new long[FIRST_LENGTH];
    private long[] to = new long[FIRST_LENGTH];
    private int[] attempts = new int[FIRST_LENGTH];
    private int head;
    private int size;

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
        return size == 0;
    }

    void clear() {
        head = 0;
        size = 0;
    }

    /** Starts the lease of a record that was popped for the {@code times}th time. */
    void add(long now, long offset, int times) {
        if (timeout == 0) {
            return;
        }
        long slack = timeout / PARTS;
        int last = at(size - 1);
        // A run's deadline is slightly after the deadline of its first record, and not before that of its last one.
        if (size > 0
                && offset == to[last] + 1
                && times == attempts[last]
                && now - (ends[last] - timeout - slack) <= slack) {
            to[last] = offset;
            return;
        }
        if (size == ends.length) {
            grow();
        }
        int next = at(size++);
        ends[next] = now + timeout + slack;
        from[next] = offset;
        to[next] = offset;
        attempts[next] = times;
    }

    /**
     * Ends the lease of a record that was popped for the {@code times}th time, if one exists. The search begins with
     * the newest run. An empty run may remain: its {@link #from} is above its {@link #to}.
     */
    void cancel(long offset, int times) {
        for (int index = size - 1; index >= 0; index--) {
            int run = at(index);
            if (attempts[run] == times && offset >= from[run] && offset <= to[run]) {
                if (offset == to[run]) {
                    to[run]--;
                } else if (offset == from[run]) {
                    from[run]++;
                } else {
                    split(index, offset);
                }
                return;
            }
        }
    }

    // Splits a run into the records before the offset and those after it; both keep the deadline.
    private void split(int index, long offset) {
        if (size == ends.length) {
            grow();
        }
        for (int above = size++; above > index; above--) {
            copy(at(above - 1), at(above));
        }
        to[at(index)] = offset - 1;
        from[at(index + 1)] = offset + 1;
    }

    private void copy(int source, int target) {
        ends[target] = ends[source];
        from[target] = from[source];
        to[target] = to[source];
        attempts[target] = attempts[source];
    }

    /** The deadline of the first run. */
    long end() {
        return ends[head];
    }

    long from() {
        return from[head];
    }

    long to() {
        return to[head];
    }

    int attempts() {
        return attempts[head];
    }

    /** Removes the first run. */
    void remove() {
        head = at(1);
        size--;
    }

    private int at(int index) {
        return head + index & ends.length - 1;
    }

    private void grow() {
        ends = grown(ends);
        from = grown(from);
        to = grown(to);
        int[] times = new int[size * 2];
        for (int i = 0; i < size; i++) {
            times[i] = attempts[head + i & size - 1];
        }
        attempts = times;
        head = 0;
    }

    private long[] grown(long[] old) {
        long[] more = new long[size * 2];
        for (int i = 0; i < size; i++) {
            more[i] = old[head + i & size - 1];
        }
        return more;
    }
}
