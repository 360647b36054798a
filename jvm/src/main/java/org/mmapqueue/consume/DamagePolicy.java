package org.mmapqueue.consume;

import java.io.IOException;
import org.mmapqueue.DamagedRange;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.log.DamageSkip;
import org.mmapqueue.log.SkippedDamage;

/**
 * Decides what a consumer does at a damaged record: throw, or continue after the damage. Not thread-safe, except {@link
 * #skipped}: the consumer's lock guards it.
 */
final class DamagePolicy {
    private final DamageSkip skip;
    private final Drops drops;
    private final SkippedDamage skipped;

    /** @param skip null to throw */
    DamagePolicy(DamageSkip skip, Drops drops, SkippedDamage skipped) {
        this.skip = skip;
        this.drops = drops;
        this.skipped = skipped;
    }

    /** The damaged ranges that were skipped. */
    SkippedDamage skipped() {
        return skipped;
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

    /** Whether the consumer continues after damage. */
    boolean skips() {
        return skip != null;
    }

    /** Notes that a range of the archive is skipped. */
    void lost(DamagedRange range) {
        skipped.add(range);
    }

    /** Notes that a record that was popped before is damaged. */
    void lost(CorruptException failure, long offset) {
        checkSkips(failure);
        skipped.add(failure, offset, offset + 1);
    }

    // Throws unless damage is skipped. Segments of dropped records may hold later records: that is not damage.
    private void checkSkips(CorruptException failure) {
        if (skip == null || drops.arePending()) {
            throw failure;
        }
    }
}
