package org.mmapqueue.crash;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * What may be true of one consumer, after all that was said of it. Its committed position is between what calls have
 * returned for and what calls under way may have added. Not thread-safe.
 */
final class ConsumerModel {
    private final String name;
    private final boolean solo;
    private final boolean remembers;

    private boolean known;
    private boolean making;
    private boolean deleting;

    /** Everything before it was acked by calls that have returned. */
    private long committed;
    /** Acked beyond that by calls that have returned; must not come again. */
    private final TreeSet<Long> acked = new TreeSet<>();
    /** Acked beyond that, then came a crash, or the call had not returned: may come again. */
    private final TreeSet<Long> maybe = new TreeSet<>();

    private final Set<Long> givenBack = new TreeSet<>();
    /** The record that is popped next for the first time. */
    private long next;

    private int holder;
    private boolean open;
    /** Whether what is in flight was written down. */
    private boolean clean = true;
    /** The same, before it was begun to take it up. */
    private boolean wasClean = true;
    /** Calls under way, by process and thread. */
    private final Map<Long, Event> under = new HashMap<>();

    /**
     * What is known at first.
     *
     * @param solo whether one thread does all that it does, so that the order of its pops can be told
     * @param remembers whether a clean close writes down what is in flight
     */
    ConsumerModel(String name, boolean solo, boolean isThere, boolean remembers) {
        this.name = name;
        this.solo = solo;
        this.known = isThere;
        this.remembers = remembers;
    }

    void apply(int process, Event event) {
        long thread = (long) process << 8 | event.actor();
        if (event.phase() != Event.Phase.DONE) {
            if (event.phase() == Event.Phase.BEGIN) {
                under.put(thread, event);
                begin(event);
            } else {
                under.remove(thread);
                making = false;
            }
            return;
        }
        under.remove(thread);
        switch (event.kind()) {
            case TAKE -> take(process, event.value(1));
            case RELEASE -> closed();
            case CREATE -> create();
            case DELETE -> delete();
            case POP -> {
                for (int i = 1; i < event.values().length; i += 2) {
                    popped(event.value(i));
                }
            }
            case ACK -> ack(event.value(1));
            case ACK_SINGLE -> {
                for (int i = 1; i < event.values().length; i++) {
                    ackSingle(event.value(i));
                }
            }
            case NACK -> givenBack.add(event.value(1));
            case SEEK -> seek(event.value(1), event.value(2));
            default -> throw new IllegalArgumentException(event.toString());
        }
    }

    private void begin(Event event) {
        switch (event.kind()) {
            case TAKE -> {
                making = !known;
                wasClean = clean;
                clean &= open; // what was written down is taken away
            }
            case CREATE -> making = !known;
            case DELETE -> deleting = true;
            default -> {}
        }
    }

    private void take(int process, long at) {
        if (!known && !deleting) {
            made(at);
        } else if (open && holder == process) {
            return; // it was not given up; it stands where it stood
        } else {
            clean = wasClean;
            settle(at, Long.MAX_VALUE);
        }
        holder = process;
        open = true;
        clean = false;
        next = at;
        givenBack.clear();
    }

    private void made(long at) {
        forget();
        known = true;
        making = false;
        clean = true;
        committed = at;
        next = at;
    }

    private void forget() {
        acked.clear();
        maybe.clear();
        givenBack.clear();
        open = false;
    }

    /** Where it is made is known when somebody takes it up. */
    private void create() {
        if (!known) {
            made(-1);
        }
        making = false;
    }

    private void delete() {
        known = false;
        deleting = false;
        clean = true;
        forget();
    }

    /** The process has closed its queue. */
    void closedBy(int process) {
        if (open && holder == process) {
            closed();
        }
    }

    private void closed() {
        open = false;
        clean = remembers;
    }

    /** The queue was recovered, or may have to be: what was written down counts for nothing then. */
    void recovered() {
        clean = false;
        wasClean = false;
    }

    private void popped(long offset) {
        if (solo) {
            if (offset < next) {
                check(givenBack.remove(offset), "has popped offset " + offset + " again, without its being given back");
            } else {
                checkSkips(Math.max(next, committed), offset);
                next = offset + 1;
            }
            check(!acked.contains(offset), "has popped offset " + offset + " again, which it had acked");
            check(offset >= committed, "has popped offset " + offset + " again, and had acked all before " + committed);
        }
        maybe.remove(offset);
    }

    /** What lies between two pops may only be what was acked. */
    private void checkSkips(long from, long to) {
        for (long each = from; each < to; each++) {
            check(
                    acked.contains(each) || maybe.contains(each) || begun().contains(each),
                    "went from " + from + " to " + to + ", past offset " + each + ", which it had not acked");
        }
    }

    private void ack(long offset) {
        committed = Math.max(committed, offset + 1);
        advance();
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
        maybe.headSet(committed).clear();
    }

    private void seek(long place, long at) {
        if (place == Event.COMMITTED) {
            checkPlace(at);
            committed = at; // further than known when acks from before a crash have survived it
            advance();
            for (long each = committed; each < next; each++) {
                if (!acked.contains(each)) {
                    givenBack.add(each);
                }
            }
            return;
        }
        check(place == Event.ANYWHERE || at == place, "was moved to " + place + " and stands at " + at);
        acked.clear();
        maybe.clear();
        givenBack.clear();
        committed = at;
        next = at;
    }

    // ---- the end of a process

    /** Offsets of single acks that have begun. */
    private Set<Long> begun() {
        Set<Long> offsets = new TreeSet<>();
        for (Event event : under.values()) {
            if (event.kind() == Event.Kind.ACK_SINGLE) {
                for (int i = 1; i < event.values().length; i++) {
                    offsets.add(event.value(i));
                }
            }
        }
        return offsets;
    }

    /** It is found at this committed position, after a process has ended somehow. */
    void settle(long at, long end) {
        check(known || making || deleting, "is there, and nobody has made it, or it was deleted");
        check(at >= 0 && at <= end, "stands at " + at + "; the log ends at " + end);
        boolean anywhere = making && !known || committed < 0 || deleting;
        for (Event event : under.values()) {
            // Killed on its way back, it may have lost the place to the writer, and goes on with the oldest record.
            anywhere |= event.kind() == Event.Kind.SEEK && event.value(1) != Event.COMMITTED;
        }
        if (!anywhere) {
            checkPlace(at);
        }
        maybe.addAll(begun());
        if (!clean || anywhere) {
            maybe.addAll(acked);
            acked.clear();
        }
        known = true;
        making = false;
        deleting = false;
        under.clear();
        open = false;
        committed = at;
        next = at;
        advance();
    }

    private void checkPlace(long at) {
        check(at >= committed, "stands at " + at + ", but all before " + committed + " was acked");
        long most = committed;
        for (Event event : under.values()) {
            if (event.kind() == Event.Kind.ACK) {
                most = Math.max(most, event.value(1) + 1);
            }
        }
        Set<Long> begun = begun();
        while (acked.contains(most) || maybe.contains(most) || begun.contains(most)) {
            most++;
        }
        check(at <= most, "stands at " + at + ", but only what is before " + most + " may have been acked");
    }

    /** It is not there. */
    void settleAbsent() {
        check(!known || deleting, "is not there, and nobody has deleted it");
        known = false;
        making = false;
        deleting = false;
        under.clear();
        clean = true;
        forget();
    }

    /** What it pops from its committed position on, to the end: all, but what was acked out of order. */
    void checkDrained(List<Long> offsets, long end) {
        long expected = committed;
        for (long offset : offsets) {
            check(offset >= expected, "has popped offset " + offset + " after " + (expected - 1));
            checkSkips(expected, offset);
            check(!acked.contains(offset), "has popped offset " + offset + " again, which it had acked");
            expected = offset + 1;
        }
        checkSkips(expected, end);
    }

    /** The process that checks has taken it up, and acked up to before this offset; what it found missing stays so. */
    void checkedInPlace(List<Long> popped, long upTo) {
        maybe.removeAll(popped);
        committed = Math.max(committed, upTo);
        advance();
        closed();
    }

    private void check(boolean condition, String what) {
        if (!condition) {
            throw new CrashError(
                    "consumer " + name + " " + what + "; said and not done: " + new ArrayList<>(under.values()));
        }
    }
}
