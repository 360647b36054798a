package org.mmapqueue.consume;

import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.log.DamageSkip;
import org.mmapqueue.log.LogReader;
import org.mmapqueue.log.SkippedDamage;
import org.mmapqueue.meta.ConsumerCursors;

/**
 * Decides what a consumer does at a damaged record: throw, or continue after the damage. Not thread-safe, except {@link
 * #skipped}: the consumer's lock guards it.
 */
final class DamagePolicy {
    private final DamageSkip skip;
    private final ConsumerCursors cursors;
    private final SkippedDamage skipped;
    /** The first record after each damaged range, by offset, because no walk over the log crosses the damage. */
    private final TreeMap<Long, DamageSkip.Found> resumed = new TreeMap<>();

    /** @param skip null to throw */
    DamagePolicy(DamageSkip skip, ConsumerCursors cursors, SkippedDamage skipped) {
        this.skip = skip;
        this.cursors = cursors;
        this.skipped = skipped;
    }

    /** The damaged ranges that were skipped. */
    SkippedDamage skipped() {
        return skipped;
    }

    /** Forgets all positions, because the consumer has moved. */
    void reset() {
        resumed.clear();
    }

    /** The last known record after damage that is at or before {@code offset}; null for none. */
    DamageSkip.Found floor(long offset) {
        Map.Entry<Long, DamageSkip.Found> floor = resumed.floorEntry(offset);
        return floor == null ? null : floor.getValue();
    }

    /** Notes that all records before an offset are acked. */
    void acked(long offset) {
        if (!resumed.isEmpty()) {
            resumed.headMap(offset).clear();
        }
    }

    /**
     * Returns the record at which to continue after damage.
     *
     * @param position the position at which reading has failed
     * @param number the offset of the record that begins there
     * @throws CorruptException the failure, if damage is not skipped, or no offset after it is known
     */
    DamageSkip.Found after(CorruptException failure, long position, long number) throws IOException {
        checkSkips(failure);
        DamageSkip.Found found = skip.after(position, number);
        if (found == null) {
            throw failure;
        }
        checkSkips(failure); // again: the search read segments that may have been dropped since
        skipped.add(failure, number, found.offset());
        resumed.put(found.offset(), found);
        return found;
    }

    /**
     * Returns the record at which to begin, if damage hides the offset of the record at the committed position.
     *
     * @param position the committed position
     * @throws CorruptException the failure, if damage is not skipped, or no offset after the position is known
     */
    DamageSkip.Found begin(CorruptException failure, long position) throws IOException {
        checkSkips(failure);
        DamageSkip.Found found = skip.locate(-1, position);
        if (found == null) {
            throw failure;
        }
        long first = skip.leastOffsetAt(position);
        checkSkips(failure); // again, as above
        skipped.add(failure, first, found.offset());
        return found;
    }

    /**
     * Finds a record that was popped before, over damage, so that later walks find it; returns false if it is damaged
     * itself.
     *
     * @param from an earlier record with a known position
     * @param reader moves to the record
     * @throws CorruptException the failure, if damage is not skipped, or the record's position is not known
     */
    boolean isFound(CorruptException failure, DamageSkip.Found from, long offset, LogReader reader) throws IOException {
        DamageSkip.Found found = walk(failure, from, offset);
        if (found.offset() != offset) {
            return false;
        }
        try {
            reader.moveTo(found.position());
            if (!reader.next() || reader.isLost() || !reader.skipChecked(0)) {
                return false;
            }
            resumed.put(offset, found);
            return true;
        } catch (CorruptException e) {
            return false;
        } finally {
            reader.leave();
        }
    }

    /**
     * Returns the position after which a record begins that was popped before, over damage, so that later walks find
     * it.
     *
     * @param from an earlier record with a known position
     * @throws CorruptException the failure, if damage is not skipped, or the record's position is not known
     */
    long positionOf(CorruptException failure, DamageSkip.Found from, long offset) throws IOException {
        DamageSkip.Found found = walk(failure, from, offset);
        if (found.offset() != offset) {
            throw failure;
        }
        resumed.put(offset, found);
        return found.position();
    }

    private DamageSkip.Found walk(CorruptException failure, DamageSkip.Found from, long offset) throws IOException {
        checkSkips(failure);
        DamageSkip.Found found = skip.walk(from, offset);
        if (found == null) {
            throw failure;
        }
        return found;
    }

    /** Notes that a record that was popped before is damaged. */
    void lost(CorruptException failure, long offset) {
        checkSkips(failure);
        skipped.add(failure, offset, offset + 1);
    }

    // Throws unless damage is skipped. Segments of dropped records may hold later records: that is no damage.
    private void checkSkips(CorruptException failure) {
        if (skip == null || cursors.dropped() > cursors.committed()) {
            throw failure;
        }
    }
}
