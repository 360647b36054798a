package org.mmapqueue.archive;

import java.util.List;
import java.util.function.Predicate;
import org.mmapqueue.archive.run.RunName;

/**
 * Chooses the runs of a bucket to merge into one. Runs of {@link #LARGE} bytes are left alone. The others have tiers,
 * which are powers of {@link #FAN}. {@link #FAN} neighbours of one tier, or neighbours of {@link #LARGE} bytes
 * together, become one run. A run that is smaller than a newer one counts as of the newer one's tier, so tiers never
 * rise towards the end, and each tier holds fewer than {@link #FAN} runs: whatever the rate of a queue, a bucket has
 * few small runs. Neighbours that no run can be added to, because a large run follows or the bucket is complete, become
 * one run at once.
 */
final class CompactionPlan {
    /** Runs of at least this many bytes are not merged further. */
    static final long LARGE = 64 << 20;

    /** Number of runs of one tier that become one run. */
    static final int FAN = 16;

    private CompactionPlan() {}

    /**
     * Returns the runs to merge next.
     *
     * @param cover the bucket's runs that are not nested in another run, in order
     * @param complete whether no run will be added to the bucket
     * @param isFixed whether a run must be left alone, besides the large ones
     * @return consecutive runs, at least two, of less than twice {@link #LARGE} bytes; empty if nothing is to be merged
     */
    static List<RunName> choose(List<RunName> cover, boolean complete, Predicate<RunName> isFixed) {
        int start = 0;
        for (int i = 0; i < cover.size(); i++) {
            RunName run = cover.get(i);
            boolean fixed = run.bytes() >= LARGE || isFixed.test(run);
            boolean gap = i > 0 && cover.get(i - 1).end() != run.first();
            if (fixed || gap) {
                List<RunName> chosen = beginning(cover.subList(start, i));
                if (chosen.size() > 1) {
                    return chosen;
                }
                start = fixed ? i + 1 : i;
            }
        }
        List<RunName> open = cover.subList(Math.min(start, cover.size()), cover.size());
        List<RunName> chosen = complete ? beginning(open) : tier(open);
        return chosen.size() > 1 ? chosen : List.of();
    }

    // The first runs, up to LARGE bytes together; skips a single run that has as many by itself.
    private static List<RunName> beginning(List<RunName> runs) {
        long bytes = 0;
        for (int i = 0; i < runs.size(); i++) {
            bytes += runs.get(i).bytes();
            if (bytes >= LARGE) {
                return runs.subList(0, i + 1);
            }
        }
        return runs;
    }

    // The runs of a full tier, the lowest tier first, which is at the end.
    private static List<RunName> tier(List<RunName> runs) {
        int end = runs.size();
        int tier = 0;
        long bytes = 0;
        for (int i = runs.size() - 1; i >= 0; i--) {
            RunName run = runs.get(i);
            if (tierOf(run) > tier) {
                tier = tierOf(run);
                end = i + 1;
                bytes = 0;
            }
            bytes += run.bytes();
            boolean isFirst = i == 0 || tierOf(runs.get(i - 1)) > tier;
            if (isFirst && end - i > 1 && (end - i >= FAN || bytes >= LARGE)) {
                return beginning(runs.subList(i, end));
            }
        }
        return List.of();
    }

    /** The tier of a run: the logarithm of its bytes to the base {@link #FAN}. */
    static int tierOf(RunName run) {
        return (Long.SIZE - 1 - Long.numberOfLeadingZeros(Math.max(1, run.bytes())))
                / Integer.numberOfTrailingZeros(FAN);
    }
}
