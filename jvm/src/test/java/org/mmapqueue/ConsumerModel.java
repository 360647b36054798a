package org.mmapqueue;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * The expected state of one consumer, in plain collections. A record is named by its number in the log of the test.
 * Nacks have no delay, so time plays no part.
 */
final class ConsumerModel {
    /** No record can be popped. */
    static final int NONE = -1;

    private static final int SAVED_ACK = -1;

    /** State of a record that was popped. */
    enum State {
        IN_FLIGHT,
        REQUEUED,
        ACKED,
        EXHAUSTED
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
    /** Popped records, from the first one that is not acked on. */
    private final TreeMap<Integer, Popped> window = new TreeMap<>();
    /** Saved by a clean close for records not yet redelivered: the attempts, or {@link #SAVED_ACK}. */
    private final TreeMap<Integer, Integer> saved = new TreeMap<>();

    private int committed;
    private int next;
    private boolean open = true;

    /** @param maxAttempts 0 for no limit */
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
                .filter(each -> each.state == State.IN_FLIGHT || each.state == State.EXHAUSTED)
                .count();
    }

    /** Number of records of a log of {@code end} records that are not acked. */
    int lag(int end) {
        long done = window.values().stream()
                        .filter(each -> each.state == State.ACKED)
                        .count()
                + saved.values().stream().filter(times -> times == SAVED_ACK).count();
        return (int) (end - committed - done);
    }

    /** The records that are acked, in ascending order. */
    List<Integer> acked() {
        List<Integer> all = new ArrayList<>();
        for (int number = 0; number < committed; number++) {
            all.add(number);
        }
        window.forEach((number, popped) -> {
            if (popped.state == State.ACKED) {
                all.add(number);
            }
        });
        saved.forEach((number, times) -> {
            if (times == SAVED_ACK) {
                all.add(number);
            }
        });
        return all;
    }

    /** Number of records that can be popped from a log of {@code end} records. */
    int size(int end) {
        long returned = window.values().stream()
                .filter(each -> each.state == State.REQUEUED)
                .count();
        long done = saved.values().stream().filter(times -> times == SAVED_ACK).count();
        return (int) (end - next - done + returned);
    }

    void moveTo(int number) {
        committed = number;
        next = number;
        window.clear();
        saved.clear();
    }

    /** The record that a pop or a peek of a log of {@code end} records must return, or {@link #NONE}. */
    int find(int end) {
        for (int number : window.keySet()) {
            if (window.get(number).state == State.REQUEUED) {
                return number;
            }
        }
        while (next < end) {
            int times = saved.getOrDefault(next, 0);
            if (times == SAVED_ACK) {
                add(State.ACKED, 0);
            } else if (times >= maxAttempts) {
                add(State.EXHAUSTED, times);
            } else {
                return next;
            }
        }
        return NONE;
    }

    private void add(State state, int attempts) {
        window.put(next, new Popped(state, attempts));
        saved.remove(next);
        next++;
    }

    /** Whether max_unacked forbids a pop of the record that {@link #find} returned. */
    boolean exceedsLimit(int number) {
        return number == next && next - committed >= maxUnacked;
    }

    /** The attempts of the next delivery of this record. */
    int attempts(int number) {
        return 1 + (number == next ? saved.getOrDefault(next, 0) : window.get(number).attempts);
    }

    void pop(int number) {
        int attempts = attempts(number);
        if (number == next) {
            add(State.IN_FLIGHT, attempts);
        } else {
            window.put(number, new Popped(State.IN_FLIGHT, attempts));
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
        commit();
    }

    void ackSingle(int number) {
        if (number >= committed) {
            window.get(number).state = State.ACKED;
            commit();
        }
    }

    // Moves committed to the end of the acks without a gap, including acks saved by a close.
    private void commit() {
        while (!window.isEmpty() && window.firstEntry().getValue().state == State.ACKED) {
            window.pollFirstEntry();
            committed++;
        }
        while (window.isEmpty() && saved.getOrDefault(next, 0) == SAVED_ACK) {
            saved.remove(next++);
            committed++;
        }
    }

    /** Requeues a record in flight; true when it has no attempts left, so that it is dead-lettered. */
    boolean nack(int number) {
        Popped popped = window.get(number);
        if (popped.state != State.IN_FLIGHT) {
            return false;
        }
        popped.state = popped.attempts >= maxAttempts ? State.EXHAUSTED : State.REQUEUED;
        return popped.state == State.EXHAUSTED;
    }

    void nackAll() {
        window.keySet().forEach(this::nack);
    }

    /** Acks and returns the records that are dead-lettered. */
    List<Integer> deadLetter() {
        List<Integer> dead = new ArrayList<>();
        window.forEach((number, popped) -> {
            if (popped.state == State.EXHAUSTED) {
                dead.add(number);
            }
        });
        dead.forEach(this::ackSingle);
        return dead;
    }

    /** A clean close: every record that is not acked is redelivered. */
    void close() {
        window.forEach(
                (number, popped) -> saved.put(number, popped.state == State.ACKED ? SAVED_ACK : popped.attempts));
        window.clear();
        next = committed;
        open = false;
    }

    /** A kill of the process after a flush, which saves acks and attempts if the committed offset alone does not say them. */
    void killAfterFlush() {
        boolean tellsMore = !saved.isEmpty()
                || window.values().stream().anyMatch(each -> each.state != State.IN_FLIGHT || each.attempts > 1);
        if (tellsMore) {
            close();
        } else {
            kill();
        }
    }

    /** A kill of the process: the state in memory is lost. */
    void kill() {
        if (open) {
            moveTo(committed);
            open = false;
        }
    }
}
