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
 * What a consumer does at a damaged record: throws, or continues after the damage. Not thread-safe, except {@link
 * #skipped}: the consumer's lock guards it.
 */
final class DamagePolicy {
    private final DamageSkip skip;
    private final ConsumerCursors cursors;
    private final SkippedDamage skipped;
    /** The positions of the records after the damage, by offset: no walk over the log crosses it. */
    private final TreeMap<Long, Long> resumed = new TreeMap<>();

    /** @param skip null to throw */
    DamagePolicy(DamageSkip skip, ConsumerCursors cursors, SkippedDamage skipped) {
        this.skip = skip;
        this.cursors = cursors;
        this.skipped = skipped;
    }

    /** The ranges that were skipped. */
    SkippedDamage skipped() {
        return skipped;
    }

    /** The consumer has moved. */
    void reset() {
        resumed.clear();
    }

    /** The offset of the last record after damage that is not after {@code offset}; -1 for none. */
    long floorOffset(long offset) {
        Map.Entry<Long, Long> floor = resumed.floorEntry(offset);
        return floor == null ? -1 : floor.getKey();
    }

    /** The position after which that record begins. */
    long floorPosition(long offset) {
        return resumed.floorEntry(offset).getValue();
    }

    /** All records before an offset are acked. */
    void acked(long offset) {
        if (!resumed.isEmpty()) {
            resumed.headMap(offset).clear();
        }
    }

    /**
     * The record at which to continue.
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
        checkSkips(failure); // the search reads segments that may have been dropped since
        skipped.add(failure, number, found.offset());
        resumed.put(found.offset(), found.position());
        return found;
    }

    /**
     * Whether a record that was popped before is whole; then later walks find it.
     *
     * @param from a record before it with a known position
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
            resumed.put(offset, found.position());
            return true;
        } catch (CorruptException e) {
            return false;
        } finally {
            reader.leave();
        }
    }

    /**
     * The position after which a record begins that was popped before, over damage; then later walks find it.
     *
     * @param from a record before it with a known position
     * @throws CorruptException the failure, if damage is not skipped, or the record's position is not known
     */
    long positionOf(CorruptException failure, DamageSkip.Found from, long offset) throws IOException {
        DamageSkip.Found found = walk(failure, from, offset);
        if (found.offset() != offset) {
            throw failure;
        }
        resumed.put(offset, found.position());
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

    /** A record that was popped before is damaged. */
    void lost(CorruptException failure, long offset) {
        checkSkips(failure);
        skipped.add(failure, offset, offset + 1);
    }

    // Segments of dropped records may hold later records: that is no damage.
    private void checkSkips(CorruptException failure) {
        if (skip == null || cursors.dropped() > cursors.committed()) {
            throw failure;
        }
    }
}
