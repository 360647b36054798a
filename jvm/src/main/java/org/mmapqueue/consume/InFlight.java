package org.mmapqueue.consume;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.mmapqueue.config.Settings;
import org.mmapqueue.meta.InFlightDescriptor;

/**
 * The in-flight records of a consumer: one row for each record from the first unacked one on, with position, state,
 * attempts and due time. Rows are in a ring of arrays, by their number in {@link AckedRanges}; lost records and long runs
 * of acked ones have none. The array of due times exists once a lease or a delay does. Rows that a snapshot has restored
 * wait after the reading position, without a position, until the reader reaches them. Not thread-safe, except {@link
 * #hasDead}: the consumer's lock guards it.
 *
 * <pre>
 *   first            next                next + ahead
 *     | popped rows    | restored rows     |
 * </pre>
 */
final class InFlight {
    /** Popped, and neither acked nor requeued. Its due time is the visibility deadline, 0 for none. */
    static final int IN_FLIGHT = 0;
    /** To be redelivered at its due time, 0 for at once. */
    static final int REQUEUED = 1;
    /** Acked, while a record before it is not. */
    static final int ACKED = 2;
    /** To be moved to the dead-letter queue. */
    static final int DEAD = 3;

    /** Returned by {@link #times} for an acked record. */
    static final int TIMES_ACKED = InFlightDescriptor.ACKED;

    private static final long NEVER = Long.MAX_VALUE;
    private static final int STATE_SHIFT = InFlightDescriptor.ATTEMPT_BITS;

    /** {@link #packed}: in flight, one attempt. */
    private static final short FIRST_DELIVERY = IN_FLIGHT << STATE_SHIFT | 1;

    private static final int FIRST_LENGTH = 64;
    /** The minimum number of acked records of a snapshot that are a range: rows are found faster. */
    private static final int LEAST_RANGE = 64;

    private final int most;
    private final int maxAttempts;
    private final long visibilityMillis;
    private final LongSupplier clock;

    private long[] positions = new long[FIRST_LENGTH];
    /** State and attempts. */
    private short[] records = new short[FIRST_LENGTH];
    /** Due times in ms of the clock; null if no record has one. */
    private long[] due;
    /** Index in its heap, plus 1; 0 for a record in no heap; null while all heaps are empty. */
    private int[] slots;

    private final AckedRanges ranges = new AckedRanges();
    /** The next record's offset less the number of its row; the low bits. */
    private int shift;

    private final Heap leases = new Heap();
    private final Heap requeued = new Heap();
    private final Heap dead = new Heap();

    private long first;
    private long next;
    /** Number of restored records that are not popped. */
    private long ahead;
    /** The position after the last restored record. */
    private long endPosition;
    /** Number of acked records, popped and restored. */
    private long acked;

    private long ackedAhead;
    /** Number of rows, popped and restored, with more than one attempt. */
    private int repeated;

    private volatile boolean hasDead;
    /** Whether a row has changed in a way that a snapshot has to tell. */
    private boolean changed;
    /** {@link #next} when a snapshot was made last. */
    private long savedNext = -1;

    /**
     * A table without records.
     *
     * @param clock a monotonic clock in ms, from 0
     */
    InFlight(Settings.Delivery delivery, LongSupplier clock) {
        this.most = delivery.maxUnacked();
        this.maxAttempts = delivery.maxAttempts() == 0 ? Integer.MAX_VALUE : delivery.maxAttempts();
        this.visibilityMillis = delivery.visibilityMillis();
        this.clock = clock;
    }

    /** A monotonic clock in ms, from 0. */
    static LongSupplier clock() {
        long origin = System.nanoTime();
        return () -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - origin);
    }

    private long now() {
        return clock.getAsLong();
    }

    /** Removes all rows; {@code offset} is the next record to pop. */
    void reset(long offset) {
        leases.clear();
        requeued.clear();
        dead.clear();
        hasDead = false;
        ranges.clear();
        shift = 0;
        first = offset;
        next = offset;
        ahead = 0;
        acked = 0;
        ackedAhead = 0;
        repeated = 0;
    }

    /** The offset of the first record that is not acked. */
    long first() {
        return first;
    }

    /** The offset of the next record that is popped for the first time. */
    long next() {
        return next;
    }

    /** The offset after the last restored record; {@link #next} if none is left. */
    long end() {
        return next + ahead;
    }

    /** The position after the last restored record, if one is left. */
    long endPosition() {
        return endPosition;
    }

    /** Sets the position after the last restored record. */
    void endAt(long position) {
        endPosition = position;
    }

    /** The capacity in records. */
    int most() {
        return most;
    }

    /** Whether no new record can be popped before the first one is acked. */
    boolean isFull() {
        return next - first >= most && span() >= most;
    }

    /** Number of popped records from the first unacked one on; lost ones were not popped. */
    long span() {
        return ranges.row(next) - ranges.row(first);
    }

    /** Number of records that were popped, and neither acked nor requeued. */
    int unacked() {
        return (int) (next - first - (acked - ackedAhead) - requeued.size);
    }

    /** Number of requeued records. */
    int requeued() {
        return requeued.size;
    }

    /** Number of acked records after the first one that is not acked, popped and restored. */
    long acked() {
        return acked;
    }

    /** Number of restored records that are acked. */
    long ackedAhead() {
        return ackedAhead;
    }

    /** Whether the record was popped, and is not before the first unacked one. */
    boolean contains(long offset) {
        return offset >= first && offset < next;
    }

    /** The offset after the records without rows from an offset on; the offset itself if its record has a row. */
    long rowFrom(long offset) {
        return offset < first ? first : ranges.endOf(offset);
    }

    /** The state of a popped or restored record; {@link #ACKED} if it has no row. */
    int state(long offset) {
        return rowFrom(offset) > offset ? ACKED : (records[at(offset)] & 0xFFFF) >>> STATE_SHIFT;
    }

    /** Number of deliveries of a record with a row. */
    int attempts(long offset) {
        return records[at(offset)] & InFlightDescriptor.MOST_ATTEMPTS;
    }

    /** The position of a popped record with a row. */
    long position(long offset) {
        return positions[at(offset)];
    }

    private long due(long offset) {
        return due == null ? 0 : due[at(offset)];
    }

    /**
     * Restores the records after the last one, from a snapshot.
     *
     * @param times their attempts, or {@link #TIMES_ACKED}
     * @param delayMillis the rest of their delay
     */
    void restore(int times, long delayMillis, long count) {
        boolean isAcked = times == TIMES_ACKED;
        if (isAcked && count >= LEAST_RANGE) {
            ranges.add(end(), end() + count);
            ahead += count;
        } else {
            for (long i = 0; i < count; i++) {
                restoreRow(times, delayMillis);
            }
        }
        acked += isAcked ? count : 0;
        ackedAhead += isAcked ? count : 0;
        repeated += times > 1 ? (int) count : 0;
    }

    private void restoreRow(int times, long delayMillis) {
        makeRoom(end());
        long dueAt = delayMillis == 0 ? 0 : now() + delayMillis;
        prepare(ACKED, dueAt); // no heap has the row before it is popped
        int row = at(end());
        ahead++;
        records[row] = packed(times == TIMES_ACKED ? ACKED : IN_FLIGHT, Math.max(0, times));
        if (due != null) {
            due[row] = dueAt;
        }
    }

    /** Whether a row has changed, since {@link #noteSaved}, in a way that a snapshot has to tell. */
    boolean isChanged() {
        return changed || next != savedNext && tellsMore(); // a pop changes no other row, and is not noted one by one
    }

    /** Notes whether a snapshot has all changes. */
    void noteSaved(boolean isSaved) {
        changed = !isSaved;
        savedNext = next;
    }

    /**
     * Whether the committed position alone says too little about the records: one is acked out of order, was requeued, or
     * has been delivered more than once.
     */
    boolean tellsMore() {
        return (acked | requeued.size | dead.size | repeated) != 0;
    }

    /** The rest of a record's delay, in ms; 0 for none. */
    long delay(long offset) {
        int state = state(offset);
        boolean isDelayed = state == REQUEUED || offset >= next && state != ACKED;
        return isDelayed && due(offset) != 0 ? Math.max(0, due(offset) - now()) : 0;
    }

    /** The attempts of a record with a row before its next delivery, or {@link #TIMES_ACKED}. */
    int times(long offset) {
        return state(offset) == ACKED ? TIMES_ACKED : attempts(offset);
    }

    /**
     * Passes the restored rows of the next record: what becomes of it without a delivery.
     *
     * @return its state, or {@link #IN_FLIGHT} for a record to deliver
     */
    int nextState() {
        if (ahead == 0) {
            return IN_FLIGHT;
        }
        if (state(next) == ACKED) {
            return ACKED;
        }
        if (attempts(next) >= maxAttempts) {
            return DEAD;
        }
        long until = due(next);
        return until != 0 && until > now() ? REQUEUED : IN_FLIGHT;
    }

    /** The attempts of the next record's delivery. */
    int nextAttempts() {
        return ahead == 0 ? 1 : nextAttempts(next);
    }

    /** The attempts of the next delivery of a record with a row. */
    int nextAttempts(long offset) {
        return Math.min(InFlightDescriptor.MOST_ATTEMPTS, attempts(offset) + 1);
    }

    /**
     * Number of new records that can be popped by {@link #popped} alone, without a look at other records and without
     * memory: 0 while one is requeued, restored or leased.
     */
    int plainRoom() {
        if (ahead != 0 || visibilityMillis != 0 || requeued.size != 0) {
            return 0;
        }
        return (int) Math.max(0, Math.min(most, records.length) - (next - first));
    }

    /** Adds the next record as popped; returns its attempts. */
    int popped(long position) {
        if (ahead == 0 && visibilityMillis == 0) { // almost every record of a fast consumer
            addRow(position, FIRST_DELIVERY);
            return 1;
        }
        int attempts = nextAttempts();
        add(position, IN_FLIGHT, attempts, leaseEnd());
        return attempts;
    }

    private long leaseEnd() {
        return visibilityMillis == 0 ? 0 : now() + visibilityMillis;
    }

    /** Adds the next record without a delivery, in a state other than {@link #IN_FLIGHT}. */
    void passed(long position, int state) {
        if (rowFrom(next) > next) {
            skipTo(next + 1);
            return;
        }
        boolean isRestored = ahead > 0;
        add(position, state, isRestored ? attempts(next) : 0, isRestored && state == REQUEUED ? due(next) : 0);
    }

    /**
     * Passes the next records, which were lost: they count as acked.
     *
     * @param end the offset after the last one
     * @param position the position after which the first one began
     */
    void passLost(long end, long position) {
        while (next < end) {
            long row = rowFrom(next);
            if (row > next) {
                skipTo(Math.min(row, end));
            } else if (ahead > 0) {
                passed(position, ACKED);
            } else {
                ranges.add(next, end);
                acked += end - next;
                skipTo(end);
            }
        }
        advance(first);
    }

    // Passes records of a range.
    private void skipTo(long end) {
        if (ahead > 0) {
            changed = true;
            ahead -= end - next;
            ackedAhead -= end - next;
        }
        next = end;
        shift = (int) (next - ranges.row(next));
    }

    private void add(long position, int state, int attempts, long dueAt) {
        prepare(state, dueAt); // first: if memory runs out, nothing has moved
        if (ahead > 0) {
            changed = true;
            ackedAhead -= state(next) == ACKED ? 1 : 0;
            leave(next);
            ahead--;
        }
        addRow(position, packed(state, attempts));
        enter(next - 1, dueAt);
    }

    // Adds the row of the next record, which no heap has, without a due time.
    private void addRow(long position, short record) {
        long offset = next;
        if (offset - first >= records.length) {
            makeRoom(offset);
        }
        int row = (int) offset - shift & records.length - 1; // as at(offset), but faster
        positions[row] = position;
        records[row] = record;
        if (due != null) {
            due[row] = 0;
        }
        next = offset + 1;
    }

    /** The offset of the requeued record that is due; -1 for none. */
    long due() {
        if (requeued.size == 0) {
            return -1;
        }
        long offset = requeued.first();
        long at = due(offset);
        return at == 0 || at <= now() ? offset : -1;
    }

    /** Marks the requeued record that is due as in flight again; returns its attempts. */
    int redelivered(long offset) {
        int attempts = nextAttempts(offset);
        set(offset, IN_FLIGHT, attempts, leaseEnd());
        return attempts;
    }

    /** Whether a lease has ended. */
    boolean hasExpired() {
        return leases.size > 0 && due(leases.first()) <= now();
    }

    /** Requeues records with an expired lease. */
    void expire() {
        while (hasExpired()) {
            requeue(leases.first(), 0);
        }
    }

    /** Time in ms until the next redelivery at the earliest; Long.MAX_VALUE if none is expected. */
    long quietMillis() {
        long at = Math.min(
                requeued.size == 0 ? NEVER : due(requeued.first()), leases.size == 0 ? NEVER : due(leases.first()));
        return at == NEVER ? NEVER : Math.max(0, at - now());
    }

    /** Requeues a record; returns whether its attempts are used up, so that it goes to the dead-letter queue. */
    boolean requeue(long offset, long delayMillis) {
        if (state(offset) != IN_FLIGHT) {
            return false; // requeued or acked already
        }
        if (attempts(offset) >= maxAttempts) {
            set(offset, DEAD, attempts(offset), 0);
            return true;
        }
        set(offset, REQUEUED, attempts(offset), delayMillis == 0 ? 0 : now() + delayMillis);
        return false;
    }

    /** Marks a record that is not acked for the dead-letter queue, whatever its attempts. */
    void giveUp(long offset) {
        if (state(offset) != DEAD) {
            set(offset, DEAD, attempts(offset), 0);
        }
    }

    /** Requeues all in-flight records; returns whether some go to the dead-letter queue. */
    boolean requeueAll() {
        boolean deadLetter = false;
        for (long offset = rowFrom(first); offset < next; offset = rowFrom(offset + 1)) {
            deadLetter |= requeue(offset, 0);
        }
        return deadLetter;
    }

    /** Requeues an in-flight record without counting the attempt. */
    void release(long offset) {
        if (state(offset) == IN_FLIGHT) {
            set(offset, REQUEUED, attempts(offset) - 1, 0);
        }
    }

    /** As {@link #release(long)}, unless the record was acked or redelivered since this delivery. */
    void release(long offset, int attempts) {
        if (contains(offset) && attempts(offset) == attempts) {
            release(offset);
        }
    }

    /** Acks one record that was popped; {@link #advance} then removes rows. */
    void ack(long offset) {
        if (contains(offset) && state(offset) != ACKED) {
            set(offset, ACKED, attempts(offset), 0);
        }
    }

    /** Whether a record waits for the dead-letter queue. Any thread. */
    boolean hasDead() {
        return hasDead;
    }

    /** Takes the first record that waits for the dead-letter queue; -1 for none. It stays {@link #DEAD}. */
    long takeDead() {
        if (dead.size == 0) {
            hasDead = false;
            return -1;
        }
        long offset = dead.first();
        dead.remove(offset);
        return offset;
    }

    /** Whether a record waits for the dead-letter queue, or is on its way there. */
    boolean isDead(long offset) {
        return contains(offset) && state(offset) == DEAD;
    }

    /** Requeues a record that the dead-letter queue did not take; returns false if it was acked since. */
    boolean retryDead(long offset, long delayMillis) {
        boolean isDead = isDead(offset);
        if (isDead) {
            set(offset, REQUEUED, attempts(offset), now() + delayMillis);
        }
        return isDead;
    }

    /** Removes all rows before {@code offset}, and the acked ones from there; returns the new first record. */
    long advance(long offset) {
        if (acked == ackedAhead && (leases.size | requeued.size | dead.size | repeated) == 0) {
            first = Math.max(first, offset);
            return first;
        }
        while (first < offset || first < next && state(first) == ACKED) {
            long row = Math.min(ranges.endOf(first), next);
            if (row > first) {
                acked -= row - first;
                first = row;
                ranges.removeUpTo(first);
            } else {
                leave(first);
                first++;
            }
        }
        return first;
    }

    // Changes a popped row.
    private void set(long offset, int state, int attempts, long dueAt) {
        changed = true;
        prepare(state, dueAt);
        leave(offset);
        records[at(offset)] = packed(state, attempts);
        enter(offset, dueAt);
    }

    private Heap heap(int state) {
        return switch (state) {
            case IN_FLIGHT -> leases;
            case REQUEUED -> requeued;
            default -> dead;
        };
    }

    // Allocates what a row in this state needs: if memory runs out, nothing has changed.
    private void prepare(int state, long dueAt) {
        if (dueAt != 0 && due == null) {
            due = new long[records.length];
        }
        if (state != ACKED && (dueAt != 0 || state != IN_FLIGHT)) {
            if (slots == null) {
                slots = new int[records.length];
            }
            heap(state).makeRoom();
        }
    }

    // Stores the due time of a popped row, and adds the row to the counts, and to its heap.
    private void enter(long offset, long dueAt) {
        if (due != null) {
            due[at(offset)] = dueAt;
        }
        int state = state(offset);
        if (state == ACKED) {
            acked++;
        } else if (state != IN_FLIGHT || dueAt != 0) {
            heap(state).add(offset);
            if (state == DEAD) {
                hasDead = true;
            }
        }
        repeated += attempts(offset) > 1 ? 1 : 0;
    }

    // Removes a row from the counts, and from its heap.
    private void leave(long offset) {
        int state = state(offset);
        if (state == ACKED) {
            acked--;
        } else if (slots != null && slots[at(offset)] != 0) {
            heap(state).remove(offset);
        }
        repeated -= attempts(offset) > 1 ? 1 : 0;
    }

    private static short packed(int state, int attempts) {
        return (short) (state << STATE_SHIFT | attempts);
    }

    private int at(long offset) {
        return (int) ranges.row(offset) & records.length - 1;
    }

    private void makeRoom(long offset) {
        if (ranges.row(offset) - ranges.row(first) == records.length) {
            grow();
        }
    }

    private void grow() {
        int length = records.length;
        int from = at(first);
        long[] morePositions = new long[2 * length];
        long[] moreDue = due == null ? null : new long[2 * length];
        int[] moreSlots = slots == null ? null : new int[2 * length];
        short[] moreRecords = new short[2 * length];
        int to = (int) ranges.row(first) & 2 * length - 1;
        int start = 0;
        while (start < length) {
            int oldRow = from + start & length - 1;
            int newRow = to + start & 2 * length - 1;
            int count = Math.min(length - start, Math.min(length - oldRow, 2 * length - newRow));
            System.arraycopy(positions, oldRow, morePositions, newRow, count);
            System.arraycopy(records, oldRow, moreRecords, newRow, count);
            if (due != null) {
                System.arraycopy(due, oldRow, moreDue, newRow, count);
            }
            if (slots != null) {
                System.arraycopy(slots, oldRow, moreSlots, newRow, count);
            }
            start += count;
        }
        positions = morePositions;
        records = moreRecords;
        due = moreDue;
        slots = moreSlots;
    }

    /** A binary heap of rows by due time, then by offset. It has the low words of their numbers. */
    private final class Heap {
        private int[] words = {};
        private int size;

        void clear() {
            for (int i = 0; i < size; i++) {
                slots[words[i] & records.length - 1] = 0;
            }
            size = 0;
        }

        void makeRoom() {
            if (size == words.length) {
                words = Arrays.copyOf(words, Math.max(16, 2 * size));
            }
        }

        long first() {
            long least = ranges.row(InFlight.this.first);
            return ranges.offset(least + (words[0] - (int) least));
        }

        void add(long offset) {
            rise(size++, (int) ranges.row(offset));
        }

        void remove(long offset) {
            int row = at(offset);
            int index = slots[row] - 1;
            slots[row] = 0;
            int last = words[--size];
            if (index < size) {
                rise(index, last);
                sink(slots[last & records.length - 1] - 1, last);
            }
        }

        private void rise(int from, int word) {
            int index = from;
            while (index > 0) {
                int parent = index - 1 >>> 1;
                if (!precedes(word, words[parent])) {
                    break;
                }
                put(index, words[parent]);
                index = parent;
            }
            put(index, word);
        }

        private void sink(int from, int word) {
            int index = from;
            while (2 * index + 1 < size) {
                int child = 2 * index + 1;
                if (child + 1 < size && precedes(words[child + 1], words[child])) {
                    child++;
                }
                if (!precedes(words[child], word)) {
                    break;
                }
                put(index, words[child]);
                index = child;
            }
            put(index, word);
        }

        private void put(int index, int word) {
            words[index] = word;
            slots[word & records.length - 1] = index + 1;
        }

        private boolean precedes(int word, int other) {
            if (due != null) {
                long mine = due[word & records.length - 1];
                long others = due[other & records.length - 1];
                if (mine != others) {
                    return mine < others;
                }
            }
            return word - other < 0;
        }
    }
}
