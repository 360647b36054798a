package org.mmapqueue;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * What one consumer must say, in plain collections. Records are named by their number in the log of the test. What is
 * due is given without a delay, so time plays no part.
 */
final class ConsumerModel {
    /** There is nothing to pop. */
    static final int NONE = -1;

    private static final int ACKED_BEFORE = -1;

    /** What has become of a record that was popped. */
    enum State {
        OUT,
        RETURNED,
        ACKED,
        DYING
    }

    private static final class Popped {
        private State state;
        private int attempts;

        Popped(State state, int attempts) {
            this.state = state;
            this.attempts = attempts;
        }
    }

    private final int maxUnacked;
    private final int maxAttempts;
    /** From the first that is not acked to the last that was popped. */
    private final TreeMap<Integer, Popped> window = new TreeMap<>();
    /** What a clean close has kept of records that are not popped again yet: attempts, or that it is acked. */
    private final TreeMap<Integer, Integer> remembered = new TreeMap<>();

    private int committed;
    private int next;
    private boolean open = true;

    /** @param maxAttempts 0 for without end */
    ConsumerModel(int number, int maxUnacked, int maxAttempts) {
        this.maxUnacked = maxUnacked;
        this.maxAttempts = maxAttempts == 0 ? Integer.MAX_VALUE : maxAttempts;
        moveTo(number);
    }

    int committed() {
        return committed;
    }

    int next() {
        return next;
    }

    boolean isOpen() {
        return open;
    }

    void opened() {
        open = true;
    }

    int unacked() {
        return (int) window.values().stream()
                .filter(each -> each.state != State.ACKED)
                .count();
    }

    /** Records to be popped, of a log of {@code end} records. */
    int size(int end) {
        long returned = window.values().stream()
                .filter(each -> each.state == State.RETURNED)
                .count();
        long done = remembered.values().stream()
                .filter(times -> times == ACKED_BEFORE)
                .count();
        return (int) (end - next - done + returned);
    }

    void moveTo(int number) {
        committed = number;
        next = number;
        window.clear();
        remembered.clear();
    }

    /** The record that a pop or a peek must find in a log of {@code end} records. */
    int find(int end) {
        for (int number : window.keySet()) {
            if (window.get(number).state == State.RETURNED) {
                return number;
            }
        }
        while (next < end) {
            int times = remembered.getOrDefault(next, 0);
            if (times == ACKED_BEFORE) {
                add(State.ACKED, 0);
            } else if (times >= maxAttempts) {
                add(State.DYING, times);
            } else {
                return next;
            }
        }
        return NONE;
    }

    private void add(State state, int attempts) {
        window.put(next, new Popped(state, attempts));
        remembered.remove(next);
        next++;
    }

    /** Whether max_unacked stands before a record that {@link #find} has found. */
    boolean isRefused(int number) {
        return number == next && next - committed >= maxUnacked;
    }

    /** The attempts that this record must come with. */
    int attempts(int number) {
        return 1 + (number == next ? remembered.getOrDefault(next, 0) : window.get(number).attempts);
    }

    void pop(int number) {
        int attempts = attempts(number);
        if (number == next) {
            add(State.OUT, attempts);
        } else {
            window.put(number, new Popped(State.OUT, attempts));
        }
    }

    boolean wasPopped(int number) {
        return number < next;
    }

    boolean isAcked(int number) {
        return number < committed || window.get(number).state == State.ACKED;
    }

    void ack(int number) {
        window.headMap(number, true).values().forEach(each -> each.state = State.ACKED);
        settle();
    }

    void ackSingle(int number) {
        if (number >= committed) {
            window.get(number).state = State.ACKED;
            settle();
        }
    }

    // Committed is the end of what is acked without a gap, before a close or after it.
    private void settle() {
        while (!window.isEmpty() && window.firstEntry().getValue().state == State.ACKED) {
            window.pollFirstEntry();
            committed++;
        }
        while (window.isEmpty() && remembered.getOrDefault(next, 0) == ACKED_BEFORE) {
            remembered.remove(next++);
            committed++;
        }
    }

    /** True when it has been popped for the last time, and goes to the dead-letter queue now. */
    boolean giveBack(int number) {
        Popped popped = window.get(number);
        if (popped.state != State.OUT) {
            return false;
        }
        popped.state = popped.attempts >= maxAttempts ? State.DYING : State.RETURNED;
        return popped.state == State.DYING;
    }

    void giveBackAll() {
        window.keySet().forEach(this::giveBack);
    }

    /** Acks what goes to the dead-letter queue, and says what that is. */
    List<Integer> bury() {
        List<Integer> dead = new ArrayList<>();
        window.forEach((number, popped) -> {
            if (popped.state == State.DYING) {
                dead.add(number);
            }
        });
        dead.forEach(this::ackSingle);
        return dead;
    }

    /** It has been closed cleanly: all is to be popped again, but for what is acked. */
    void close() {
        window.forEach((number, popped) ->
                remembered.put(number, popped.state == State.ACKED ? ACKED_BEFORE : popped.attempts));
        window.clear();
        next = committed;
        open = false;
    }

    /** Its process was killed: what was in memory is gone. */
    void kill() {
        if (open) {
            moveTo(committed);
            open = false;
        }
    }
}
