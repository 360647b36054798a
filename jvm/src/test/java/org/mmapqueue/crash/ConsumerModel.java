package org.mmapqueue.crash;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.mmapqueue.harness.Delivery;
import org.mmapqueue.harness.Violation;

/**
 * What may be true of one consumer, by the journals of all processes. Its committed offset is at least what returned
 * calls have acked, and at most what calls in progress may have added. Not thread-safe.
 */
final class ConsumerModel {
    private final String name;
    private final boolean solo;
    private final boolean savesInFlight;
    private final Delivery delivery;

    private boolean exists;
    private boolean creating;
    private boolean deleting;

    /** All records before it were acked by returned calls; -1 while unknown. */
    private long committed;
    /** Acked after that by returned calls; must not be redelivered. */
    private final TreeSet<Long> acked = new TreeSet<>();
    /** Acked after that, and then the process crashed or the call had not returned; may be redelivered. */
    private final TreeSet<Long> maybeAcked = new TreeSet<>();

    private final Set<Long> requeued = new TreeSet<>();
    /** The record that is popped next for the first time. */
    private long next;

    private int owner;
    private boolean open;
    /** Those of {@link #acked} that a flush or a close has saved. */
    private final Set<Long> saved = new TreeSet<>();
    /** Those that flushes in progress will have saved, by process and thread. */
    private final Map<Long, Set<Long>> flushing = new HashMap<>();
    /** Calls in progress, by process and thread. */
    private final Map<Long, Event> calls = new HashMap<>();

    /**
     * The state before the first process.
     *
     * @param solo whether one thread makes all calls, so that the order of its pops is known
     * @param savesInFlight whether a flush and a close save what is in flight
     */
    ConsumerModel(String name, boolean solo, boolean exists, boolean savesInFlight) {
        this.name = name;
        this.solo = solo;
        this.exists = exists;
        this.savesInFlight = savesInFlight;
        this.delivery = new Delivery(
                name, offset -> maybeAcked.contains(offset) || ackedInProgress().contains(offset), acked::contains);
    }

    void apply(int process, Event event) {
        long thread = (long) process << 8 | event.actor();
        switch (event.phase()) {
            case BEGIN -> {
                calls.put(thread, event);
                begin(event);
            }
            case THREW -> {
                calls.remove(thread);
                creating = false;
            }
            case DONE -> {
                calls.remove(thread);
                done(process, event);
            }
        }
    }

    private void begin(Event event) {
        switch (event.kind()) {
            case OPEN_CONSUMER, CREATE_CONSUMER -> creating = !exists;
            case DELETE_CONSUMER -> deleting = true;
            default -> {}
        }
    }

    private void done(int process, Event event) {
        switch (event.kind()) {
            case OPEN_CONSUMER -> opened(process, event.value(1));
            case CLOSE_CONSUMER -> closed();
            case CREATE_CONSUMER -> created();
            case DELETE_CONSUMER -> deleted();
            case POP -> {
                for (int i = 1; i < event.values().length; i += 2) {
                    popped(event.value(i));
                }
            }
            case ACK -> {
                committed = Math.max(committed, event.value(1) + 1);
                advance();
            }
            case ACK_SINGLE -> {
                for (int i = 1; i < event.values().length; i++) {
                    ackSingle(event.value(i));
                }
            }
            case NACK -> requeued.add(event.value(1));
            case SEEK -> moved(event.value(1), event.value(2));
            default -> throw new IllegalArgumentException(event.toString());
        }
    }

    private void opened(int process, long offset) {
        if (!exists && !deleting) {
            createdAt(offset);
        } else if (open && owner == process) {
            return; // it was open in this process
        } else {
            checkFound(offset, Long.MAX_VALUE);
        }
        owner = process;
        open = true;
        next = offset;
        requeued.clear();
    }

    private void createdAt(long offset) {
        clear();
        exists = true;
        creating = false;
        committed = offset;
        next = offset;
    }

    private void clear() {
        acked.clear();
        maybeAcked.clear();
        requeued.clear();
        forget();
        open = false;
    }

    // The consumer was moved: what was saved is void.
    private void forget() {
        saved.clear();
        flushing.clear();
    }

    // Its offset is unknown until a process opens it.
    private void created() {
        if (!exists) {
            createdAt(-1);
        }
        creating = false;
    }

    private void deleted() {
        exists = false;
        deleting = false;
        clear();
    }

    /** The process has closed its queue. */
    void closedBy(int process) {
        if (open && owner == process) {
            closed();
        }
    }

    private void closed() {
        open = false;
        if (savesInFlight) {
            saved.addAll(acked);
        }
    }

    /** A flush by a thread of a process, which saves the consumers that this process owns. */
    void flush(int process, Event event) {
        long thread = (long) process << 8 | event.actor();
        if (event.phase() == Event.Phase.BEGIN && savesInFlight && open && owner == process) {
            flushing.put(thread, new TreeSet<>(acked));
        } else if (event.phase() != Event.Phase.BEGIN) {
            Set<Long> flushed = flushing.remove(thread);
            if (flushed != null && event.phase() == Event.Phase.DONE) {
                saved.addAll(flushed);
            }
        }
    }

    private void popped(long offset) {
        if (solo) {
            if (offset < next) {
                check(requeued.remove(offset), "has popped offset " + offset + " again, without a nack");
            } else {
                delivery.checkSkipped(Math.max(next, committed), offset);
                next = offset + 1;
            }
            check(!acked.contains(offset), "has popped offset " + offset + " again, which it had acked");
            check(offset >= committed, "has popped offset " + offset + " again, and had acked all before " + committed);
        }
        maybeAcked.remove(offset);
    }

    private void ackSingle(long offset) {
        if (offset >= committed) {
            acked.add(offset);
        }
        advance();
    }

    private void advance() {
        while (acked.contains(committed)) {
            committed++;
        }
        acked.headSet(committed).clear();
        maybeAcked.headSet(committed).clear();
    }

    private void moved(long target, long offset) {
        if (target == Event.COMMITTED) {
            checkCommitted(offset);
            committed = offset; // further than known if acks from before a crash have survived it
            advance();
            for (long each = committed; each < next; each++) {
                if (!acked.contains(each)) {
                    requeued.add(each);
                }
            }
            return;
        }
        check(target == Event.ANYWHERE || offset == target, "was moved to " + target + " and is at " + offset);
        acked.clear();
        maybeAcked.clear();
        requeued.clear();
        forget();
        committed = offset;
        next = offset;
    }

    // ---- after a process has ended

    /** Offsets of single acks in progress. */
    private Set<Long> ackedInProgress() {
        Set<Long> offsets = new TreeSet<>();
        for (Event call : calls.values()) {
            if (call.kind() == Event.Kind.ACK_SINGLE) {
                for (int i = 1; i < call.values().length; i++) {
                    offsets.add(call.value(i));
                }
            }
        }
        return offsets;
    }

    /** The consumer was found with this committed offset. */
    void checkFound(long offset, long end) {
        check(exists || creating || deleting, "exists, but was deleted or never created");
        check(offset >= 0 && offset <= end, "has committed " + offset + ", but the log ends at " + end);
        boolean anywhere = creating && !exists || committed < 0 || deleting;
        for (Event call : calls.values()) {
            // A kill during a seek back: the writer may have reused the slot, and the consumer starts at the log start.
            anywhere |= call.kind() == Event.Kind.SEEK && call.value(1) != Event.COMMITTED;
        }
        if (!anywhere) {
            checkCommitted(offset);
        }
        maybeAcked.addAll(ackedInProgress());
        if (anywhere) {
            forget();
        }
        maybeAcked.addAll(acked);
        acked.retainAll(saved);
        maybeAcked.removeAll(acked);
        exists = true;
        creating = false;
        deleting = false;
        calls.clear();
        flushing.clear();
        open = false;
        committed = offset;
        next = offset;
        advance();
    }

    private void checkCommitted(long offset) {
        check(offset >= committed, "has committed " + offset + ", but all before " + committed + " was acked");
        long most = committed;
        for (Event call : calls.values()) {
            if (call.kind() == Event.Kind.ACK) {
                most = Math.max(most, call.value(1) + 1);
            }
        }
        Set<Long> inProgress = ackedInProgress();
        while (acked.contains(most) || maybeAcked.contains(most) || inProgress.contains(most)) {
            most++;
        }
        check(offset <= most, "has committed " + offset + ", but at most all before " + most + " was acked");
    }

    /** The consumer was not found. */
    void checkAbsent() {
        check(!exists || deleting, "does not exist, and was not deleted");
        exists = false;
        creating = false;
        deleting = false;
        calls.clear();
        clear();
    }

    /** Checks what the consumer has popped from its committed offset to the log end. */
    void checkDrained(List<Long> offsets, long end) {
        delivery.check(offsets, committed, end);
    }

    /** The check itself has opened the consumer, popped these records, and acked all before an offset. */
    void checkedDirectly(List<Long> popped, long before) {
        maybeAcked.removeAll(popped);
        committed = Math.max(committed, before);
        advance();
        closed();
    }

    private void check(boolean condition, String what) {
        Violation.unless(condition, "consumer %s %s; calls in progress: %s", name, what, calls.values());
    }
}
