package org.mmapqueue.crash;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.LongFunction;

/**
 * What one directory must hold, and may hold, after all that the processes said that worked on it. Offsets are counted
 * from the first record that the directory ever had, also in version 1. Not thread-safe.
 */
final class Model {
    private static final long UNKNOWN = -1;

    private final List<ConsumerModel> consumers = new ArrayList<>();
    /** The key of each record, by offset. */
    private long[] keys = new long[1024];
    /** The record behind the last one that is surely there. */
    private long end;
    /** Of each process and thread the push that has not returned. */
    private final Map<Long, Event> pushing = new HashMap<>();

    private final OnceModel once = new OnceModel();
    /** In version 1 the record that is number 0 since the last open. */
    private long base;

    private final int version;
    private long returned;
    /** Whether the last process that wrote has closed the queue; and before the open that has begun last. */
    private boolean closed = true;

    private boolean wasClosed = true;

    Model(Plan plan) {
        this.version = plan.version();
        Arrays.fill(keys, UNKNOWN);
        for (int i = 0; i < Plan.NAMES.size(); i++) {
            consumers.add(
                    new ConsumerModel(Plan.NAMES.get(i), plan.isSolo(i), i == 0 && version == 1, remembers(plan, i)));
        }
    }

    // What a process that only reads writes down may be of no use any more when the writer recovers at the same time.
    private static boolean remembers(Plan plan, int consumer) {
        return plan.version() == 2 && !(plan.reads() && consumer == Plan.READER);
    }

    ConsumerModel consumer(int index) {
        return consumers.get(index);
    }

    /** The record behind the last one that is known to be there. */
    long end() {
        return end;
    }

    /** Records whose push has returned. */
    long returned() {
        return returned;
    }

    void apply(int process, boolean writes, Event event) {
        long thread = (long) process << 8 | event.actor();
        switch (event.kind()) {
            case OPEN -> {
                if (writes) {
                    open(event);
                }
            }
            case PUSH -> push(thread, event);
            case PUSH_ONCE -> pushOnce(thread, event);
            case FORGET -> once.forget(event);
            case CLOSE -> {
                if (event.phase() == Event.Phase.DONE) {
                    closed |= writes;
                    consumers.forEach(each -> each.closedBy(process));
                }
            }
            case GET -> {
                if (event.phase() == Event.Phase.DONE) {
                    learn(event.value(0), event.value(1));
                }
            }
            case FAULT -> throw new CrashError("process " + process + " has met what must not happen");
            case READY, FLUSH, GC -> {}
            default -> {
                Event absolute = event.from(base);
                if (event.kind() == Event.Kind.POP && event.phase() == Event.Phase.DONE) {
                    for (int i = 1; i < event.values().length; i += 2) {
                        learn(absolute.value(i), event.value(i + 1));
                    }
                }
                consumer(event.consumer()).apply(process, absolute);
            }
        }
    }

    private void open(Event event) {
        switch (event.phase()) {
            case BEGIN -> {
                wasClosed = closed;
                closed = false;
            }
            case REFUSED -> closed = wasClosed;
            case DONE -> {
                if (!wasClosed) {
                    consumers.forEach(ConsumerModel::recovered);
                }
                opened(event.value(0), event.value(1));
            }
        }
    }

    /** All processes have ended; the next open may have to recover. */
    void ended() {
        if (!closed) {
            consumers.forEach(ConsumerModel::recovered);
        }
    }

    /** The process that checks has opened and closed the directory itself. */
    void checkedInPlace() {
        closed = true;
    }

    // The log was whole when it was opened, and nothing has been pushed since.
    private void opened(long endOffset, long firstKey) {
        if (version == 1) {
            base = baseOf(firstKey, 0);
        }
        if (base + endOffset != end) {
            throw new CrashError("the log ended at " + end + ", and is opened with the end " + (base + endOffset));
        }
    }

    /** Version 1 stores no numbers: the number of the first record that is popped tells the others'. */
    long baseOf(long firstKey, int place) {
        if (firstKey == UNKNOWN) {
            return end;
        }
        for (long offset = end - 1; offset >= 0; offset--) {
            if (keyAt(offset) == firstKey) {
                return offset - place;
            }
        }
        return UNKNOWN;
    }

    private void push(long thread, Event event) {
        if (event.phase() == Event.Phase.BEGIN) {
            pushing.put(thread, event);
            return;
        }
        Event begun = pushing.remove(thread);
        if (event.phase() == Event.Phase.DONE) {
            returned += begun.value(1);
            for (long i = 0; i < begun.value(1); i++) {
                learn(event.value(0) + base + i, begun.value(0) + i);
            }
        }
    }

    private void pushOnce(long thread, Event event) {
        Event begun = event.phase() == Event.Phase.BEGIN ? event : pushing.get(thread);
        once.apply(begun, event);
        if (event.phase() == Event.Phase.DONE && event.value(0) < 0) {
            pushing.remove(thread); // it was there, with another key
        } else {
            push(thread, event);
        }
    }

    /**
     * Compares what is known of the producers with what must be there; after {@link #checkLog}, which has found the
     * records.
     *
     * @param from the first record of that
     */
    void checkProducers(long from, LongFunction<OptionalLong> known) {
        once.check(known, key -> {
            for (long offset = 0; offset < end; offset++) {
                if (keyAt(offset) == key) {
                    return OnceModel.Found.THERE;
                }
            }
            for (long offset = 0; offset < from; offset++) {
                if (keyAt(offset) == UNKNOWN) {
                    return OnceModel.Found.UNKNOWN; // a consumer was moved over it, and its space used again
                }
            }
            return OnceModel.Found.NOT_THERE;
        });
    }

    /** The producers that have pushed something once, and the last sequence of each. */
    Map<Long, Long> sequences() {
        return once.sequences();
    }

    long keyAt(long offset) {
        return offset < keys.length ? keys[(int) offset] : UNKNOWN;
    }

    /** There is a record; it must be the one that was there before. */
    void learn(long offset, long key) {
        if (offset >= keys.length) {
            int before = keys.length;
            keys = Arrays.copyOf(keys, (int) Math.max(offset + 1, 2L * before));
            Arrays.fill(keys, before, keys.length, UNKNOWN);
        }
        long known = keys[(int) offset];
        if (known != UNKNOWN && known != key) {
            throw new CrashError("offset " + offset + " is that of two records: " + Numbered.name(known) + " and "
                    + Numbered.name(key));
        }
        keys[(int) offset] = key;
        end = Math.max(end, offset + 1);
    }

    // ---- after a process has ended

    /** Compares a stretch of the log, to its end, with what must be there; from now on it must be there as it is. */
    void checkLog(long from, List<Numbered> records) {
        long stop = from + records.size();
        if (stop < end) {
            throw new CrashError("the log ends at " + stop + ", but offset " + (end - 1) + " was there, "
                    + Numbered.name(keyAt(end - 1)));
        }
        Map<Long, Long> last = new HashMap<>();
        for (int i = 0; i < records.size(); i++) {
            Numbered record = records.get(i);
            long key = record.key();
            if (keyAt(from + i) == UNKNOWN && !isBeingPushed(key)) {
                throw new CrashError("offset " + (from + i) + " holds " + Numbered.name(key)
                        + ", whose push had not begun, or had returned with another offset");
            }
            learn(from + i, key);
            Long before = last.put(Numbered.line(key), key);
            if (before != null && before + 1 != key) {
                throw new CrashError(
                        "offset " + (from + i) + " holds " + Numbered.name(key) + ", after " + Numbered.name(before));
            }
            checkBatch(from, i, records);
        }
        end = Math.max(end, stop);
        pushing.clear();
    }

    private boolean isBeingPushed(long key) {
        return pushing.values().stream().anyMatch(each -> key >= each.value(0) && key < each.value(0) + each.value(1));
    }

    // All of a batch, in one piece; the stretch may begin in the middle of one.
    private static void checkBatch(long from, int index, List<Numbered> records) {
        Numbered record = records.get(index);
        boolean begins = index == 0 || record.place() == 0;
        boolean follows =
                index > 0 && record.place() > 0 && records.get(index - 1).key() == record.key() - 1;
        boolean ends = record.place() + 1 == record.batch();
        boolean continues = index + 1 < records.size() && records.get(index + 1).key() == record.key() + 1;
        if (!begins && !follows || !ends && !continues) {
            throw new CrashError("a batch is there in part: offset " + (from + index) + " holds "
                    + Numbered.name(record.key()) + ", " + (record.place() + 1) + " of " + record.batch());
        }
    }
}
