package org.mmapqueue.powerloss;

import org.mmapqueue.harness.Tally;

/**
 * What runs have done: operations by name, cuts of the power by the call before which they were, and predictions by the
 * reference reader.
 */
final class Counts {
    final Tally operations = new Tally();
    final Tally cuts = new Tally();
    final Tally predictions = new Tally();

    @Override
    public String toString() {
        return list("operations", operations) + list("cuts", cuts) + list("predictions", predictions);
    }

    private static String list(String title, Tally tally) {
        StringBuilder text = new StringBuilder(String.format("%d %s%n", tally.sum(), title));
        tally.counts().forEach((name, count) -> text.append(String.format("  %-34s %9d%n", name, count)));
        return text.toString();
    }
}
