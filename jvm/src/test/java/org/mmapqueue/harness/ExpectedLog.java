package org.mmapqueue.harness;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What the log of one directory must hold, and may hold. Offsets are counted from the first record that the directory
 * ever had. A record is known by the offset that its push returned, or at which it was read; the records of pushes in
 * progress may exist after the known end. Not thread-safe.
 */
public final class ExpectedLog {
    /** The key at an offset of which nothing is known. */
    public static final long UNKNOWN = -1;

    /** The records of a push that has begun and has not returned. */
    private record Push(long firstKey, long count) {
        boolean has(long key) {
            return key >= firstKey && key < firstKey + count;
        }
    }

    private final Map<Long, Push> pushes = new HashMap<>();
    private long[] keys = {};
    private long end;

    public ExpectedLog copy() {
        ExpectedLog copy = new ExpectedLog();
        copy.pushes.putAll(pushes);
        copy.keys = keys.clone();
        copy.end = end;
        return copy;
    }

    /** The offset after the last record that is known. */
    public long end() {
        return end;
    }

    /** The key of the record at an offset, or {@link #UNKNOWN}. */
    public long keyAt(long offset) {
        return offset < keys.length ? keys[(int) offset] : UNKNOWN;
    }

    /** The offset of a record, or -1. */
    public long offsetOf(long key) {
        for (long offset = end - 1; offset >= 0; offset--) {
            if (keyAt(offset) == key) {
                return offset;
            }
        }
        return -1;
    }

    /**
     * A push begins.
     *
     * @param thread which thread; it has one push at a time
     */
    public void begin(long thread, long firstKey, long count) {
        pushes.put(thread, new Push(firstKey, count));
    }

    /** The push of a thread has stored nothing. */
    public void rejected(long thread) {
        pushes.remove(thread);
    }

    /** The push of a thread has returned the offset of its first record; the result is the number of its records. */
    public long returned(long thread, long offset) {
        Push push = pushes.remove(thread);
        for (long i = 0; i < push.count; i++) {
            learn(offset + i, push.firstKey + i);
        }
        return push.count;
    }

    /**
     * A record exists at an offset.
     *
     * @throws Violation if another record is known to be there
     */
    public void learn(long offset, long key) {
        if (offset >= keys.length) {
            int before = keys.length;
            keys = Arrays.copyOf(keys, (int) Math.max(1024, Math.max(offset + 1, 2L * before)));
            Arrays.fill(keys, before, keys.length, UNKNOWN);
        }
        long known = keys[(int) offset];
        if (known != UNKNOWN && known != key) {
            throw new Violation(
                    "offset " + offset + " holds " + TestRecord.name(key) + ", but held " + TestRecord.name(known));
        }
        keys[(int) offset] = key;
        end = Math.max(end, offset + 1);
    }

    /** The log ends here: the records after it were lost, as they may be, and their offsets are used again. */
    public void truncate(long newEnd) {
        if (newEnd < end) {
            Arrays.fill(keys, (int) newEnd, (int) end, UNKNOWN);
        }
        end = newEnd;
    }

    /** The pushes in progress have ended with their process; what a check has not found of them must not appear. */
    public void abandonPushes() {
        pushes.clear();
    }

    /** The log end if all pushes in progress have succeeded. */
    public long maxEnd() {
        return end + pushes.values().stream().mapToLong(Push::count).sum();
    }

    /**
     * Checks what a recovery has found: no record before {@code least} is lost; each record is known, or belongs to a
     * push in progress; the records of one producer are in order; batches are whole. Then the log is known as it was
     * found.
     *
     * @param from the offset of the first record
     * @param records all records from there to the log end
     * @param least the offset after the last record that must exist
     * @param mayEndInBatch whether the last batch may be cut
     */
    public void check(long from, List<TestRecord> records, long least, boolean mayEndInBatch) {
        long stop = from + records.size();
        if (stop < least) {
            throw new Violation("the log ends at offset " + stop + ", but offset " + (least - 1) + " existed, "
                    + TestRecord.name(keyAt(least - 1)));
        }
        Map<Long, Long> last = new HashMap<>();
        for (int i = 0; i < records.size(); i++) {
            long offset = from + i;
            long key = records.get(i).key();
            if (keyAt(offset) == UNKNOWN && pushes.values().stream().noneMatch(push -> push.has(key))) {
                throw new Violation("offset " + offset + " holds " + TestRecord.name(key)
                        + ", but its push had not begun, or had returned another offset");
            }
            learn(offset, key);
            Long before = last.put(TestRecord.series(key), key);
            if (before != null && before + 1 != key) {
                throw new Violation(
                        "offset " + offset + " holds " + TestRecord.name(key) + ", after " + TestRecord.name(before));
            }
            checkBatch(from, i, records, mayEndInBatch);
        }
        end = Math.max(end, stop);
    }

    // The first record may be in the middle of its batch: the records before it are no longer retained.
    private static void checkBatch(long from, int at, List<TestRecord> records, boolean mayEnd) {
        TestRecord record = records.get(at);
        boolean isLast = at + 1 == records.size();
        boolean begins = at == 0 || record.index() == 0;
        boolean follows = at > 0 && record.index() > 0 && records.get(at - 1).key() == record.key() - 1;
        boolean ends = record.index() + 1 == record.batch() || isLast && mayEnd;
        boolean continues = !isLast && records.get(at + 1).key() == record.key() + 1;
        if (!begins && !follows || !ends && !continues) {
            throw new Violation("only a part of a batch exists: offset " + (from + at) + " holds "
                    + TestRecord.name(record.key()) + ", " + (record.index() + 1) + " of " + record.batch());
        }
    }
}
