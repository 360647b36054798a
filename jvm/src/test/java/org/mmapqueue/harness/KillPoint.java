package org.mmapqueue.harness;

import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;

/**
 * Chooses the calls at which a run is interrupted: the process halts, or the power fails. Counted are calls that change
 * something on the disk. For one thread.
 */
public final class KillPoint {
    private final BooleanSupplier chosen;
    private int calls;
    private boolean reached;

    private KillPoint(BooleanSupplier chosen) {
        this.chosen = chosen;
    }

    /** The n-th call alone, counted from 0; a negative number is never reached. */
    public static KillPoint at(int number) {
        int[] left = {number};
        return new KillPoint(() -> left[0]-- == 0);
    }

    /** Each call with a probability, in percent. */
    public static KillPoint random(SplittableRandom random, int percent) {
        return new KillPoint(() -> random.nextInt(100) < percent);
    }

    /** Counts a call; returns whether the run is interrupted before it. */
    public boolean isHere() {
        calls++;
        boolean here = chosen.getAsBoolean();
        reached |= here;
        return here;
    }

    /** Whether the run has been interrupted. */
    public boolean wasReached() {
        return reached;
    }

    public int calls() {
        return calls;
    }
}
