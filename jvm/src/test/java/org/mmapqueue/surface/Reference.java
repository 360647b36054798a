package org.mmapqueue.surface;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What a queue and its archive must hold, in plain collections. A crash or a failed call leaves a choice: the reference
 * then learns from the queue which allowed state it is in.
 */
final class Reference {
    /** The payloads of all records, by offset. */
    final List<byte[]> log = new ArrayList<>();
    /** Records that were damaged, and that a repair has given up. */
    final TreeSet<Integer> lost = new TreeSet<>();
    /** Records that the ring or the archive lacks, and the other one may have: consumers may pass them. */
    final TreeSet<Integer> halved = new TreeSet<>();
    /** The records of a push that failed: the queue has all of them, or none. */
    final List<byte[]> uncertain = new ArrayList<>();
    /** The records before this offset survive a loss of power. */
    int durable;
    /** The archive has the records before this offset, but for {@link #missed}. */
    int shipped;
    /** Records that consumer ship skipped without shipping them: acked by a purge or dropped by a limit. */
    final TreeSet<Integer> missed = new TreeSet<>();
    /** The end of the log after each batch of the idempotent producer, by sequence. */
    final TreeMap<Long, Integer> sequences = new TreeMap<>();
    /** Whether a call to forget that producer has failed. */
    boolean mayForget;

    final TreeMap<String, Reading> consumers = new TreeMap<>();
    /** Consumers whose creation or deletion has failed: the queue has them, or not. */
    final TreeSet<String> unsure = new TreeSet<>();

    int end() {
        return log.size();
    }

    /** A copy of the state between two calls. */
    Reference copy() {
        Reference copy = new Reference();
        copy.log.addAll(log);
        copy.lost.addAll(lost);
        copy.halved.addAll(halved);
        copy.durable = durable;
        copy.shipped = shipped;
        copy.missed.addAll(missed);
        copy.sequences.putAll(sequences);
        consumers.forEach((name, reading) -> copy.consumers.put(name, reading.copy(copy.lost, copy.halved)));
        return copy;
    }

    Reading reading(int start) {
        return new Reading(start, lost, halved);
    }

    /** A record of the ring is given up; consumers read it in the archive, if {@code isArchived}. */
    void lose(int offset, boolean isArchived) {
        (isArchived ? halved : lost).add(offset);
        if (offset >= shipped) {
            missed.add(offset);
        }
    }

    /** All that was written and acked is durable now. */
    void flushed() {
        durable = end();
        consumers.values().forEach(Reading::flushed);
    }

    /** A push was refused, and has changed nothing. */
    void notPushed() {
        uncertain.clear();
        sequences.values().removeIf(last -> last > end());
    }

    /** The log was found to end here after a crash. */
    void endsAt(int end, boolean lostPower) {
        int least = lostPower ? durable : end();
        assertTrue(
                end >= least && end <= end() + uncertain.size(),
                "the log ends at " + end + ", expected " + least + ".." + end() + " and perhaps " + uncertain.size()
                        + " more");
        assertTrue(end <= end() || end == end() + uncertain.size(), "a part of a batch is in the log");
        if (end > end()) {
            log.addAll(uncertain);
        }
        uncertain.clear();
        log.subList(end, end()).clear();
        lost.tailSet(end).clear();
        halved.tailSet(end).clear();
        sequences.values().removeIf(last -> last > end);
        durable = Math.min(durable, end);
    }

    /** What one consumer may and must still pop. */
    static final class Reading {
        private int committed;
        /** Committed offsets that a loss of power may leave. */
        private final TreeSet<Integer> possible = new TreeSet<>();
        /** Acked beyond the committed offset: must not be popped. */
        private final TreeSet<Integer> acked = new TreeSet<>();
        /** Those of them that a flush or a close has saved. */
        private final TreeSet<Integer> saved = new TreeSet<>();
        /** May be popped, and need not: acked before a crash, or of a call that failed. */
        private final TreeSet<Integer> open = new TreeSet<>();

        final TreeSet<Integer> inFlight = new TreeSet<>();
        /** Those of the reference. */
        private final TreeSet<Integer> lost;

        private final TreeSet<Integer> halved;

        private Reading(int start, TreeSet<Integer> lost, TreeSet<Integer> halved) {
            this.lost = lost;
            this.halved = halved;
            moved(start);
        }

        Reading copy() {
            return copy(lost, halved);
        }

        private Reading copy(TreeSet<Integer> lostThen, TreeSet<Integer> halvedThen) {
            Reading copy = new Reading(committed, lostThen, halvedThen);
            copy.possible.addAll(possible);
            copy.acked.addAll(acked);
            copy.saved.addAll(saved);
            copy.open.addAll(open);
            copy.inFlight.addAll(inFlight);
            return copy;
        }

        int committed() {
            return committed;
        }

        void moved(int to) {
            committed = to;
            possible.add(to);
            acked.clear();
            saved.clear();
            open.clear();
            inFlight.clear();
        }

        void popped(int offset) {
            assertTrue(offset >= committed, offset + " was popped, but all before " + committed + " is acked");
            assertTrue(!acked.contains(offset), offset + " was popped, but is acked");
            assertTrue(!lost.contains(offset), offset + " was popped, but is lost");
            assertTrue(inFlight.add(offset), offset + " was popped twice");
        }

        void foundNone(int end) {
            for (int offset = committed; offset < end; offset++) {
                assertTrue(
                        mayPass(offset) || inFlight.contains(offset), offset + " was not popped, and nothing is left");
            }
        }

        // Whether the consumer need not pop a record.
        private boolean mayPass(int offset) {
            return acked.contains(offset) || open.contains(offset) || lost.contains(offset) || halved.contains(offset);
        }

        void ack(int through) {
            inFlight.headSet(through, true).clear();
            committed = Math.max(committed, through + 1);
            advance();
        }

        void ackSingle(int offset) {
            inFlight.remove(offset);
            open.remove(offset);
            acked.add(offset);
            advance();
        }

        private void advance() {
            acked.headSet(committed).clear();
            open.headSet(committed).clear();
            while (acked.remove(committed)) {
                committed++;
            }
            possible.add(committed);
        }

        /** Records were dropped unread; what was in flight may come again. */
        void dropped(int last) {
            committed = Math.max(committed, last + 1);
            uncertain();
            advance();
        }

        /** What was acked one by one, or is in flight, may be popped again, or not. */
        private void uncertain() {
            open.addAll(acked);
            open.addAll(inFlight);
            acked.clear();
            inFlight.clear();
        }

        /** A clean close keeps acks; all that is in flight is redelivered. */
        void closed() {
            inFlight.clear();
        }

        /** A crash: acks one by one since the last flush may be forgotten. */
        void crashed() {
            open.addAll(acked);
            acked.retainAll(saved);
            open.removeAll(acked);
            inFlight.clear();
        }

        /** A call that could have led there has failed. */
        void mayBe(Reading after) {
            open.addAll(after.acked);
            after.possible.forEach(possible::add);
            for (int offset = committed; offset < after.committed; offset++) {
                open.add(offset);
            }
        }

        void flushed() {
            saved.clear();
            saved.addAll(acked);
            possible.clear();
            possible.add(committed);
        }

        /** The queue was found with this committed offset; {@code any}: one that was possible since the last flush. */
        void commitsAt(int found, int end, boolean any) {
            int most = committed;
            while (mayPass(most)) {
                most++;
            }
            boolean allowed = found >= committed && found <= most
                    || any && (possible.contains(found) || found == end && possible.last() > end);
            assertTrue(
                    allowed,
                    "committed at " + found + ", expected " + committed + ".." + most + (any ? " or " + possible : ""));
            if (found < committed) { // the consumer is where it was at a flush, with what was acked then
                acked.clear();
                open.clear();
                open.addAll(saved.tailSet(found));
            }
            committed = found;
            acked.tailSet(end).clear();
            open.tailSet(end).clear();
            advance();
        }
    }
}
