package org.mmapqueue.bench.guard;

import org.apache.commons.math3.distribution.TDistribution;
import org.apache.commons.math3.stat.descriptive.SummaryStatistics;

/**
 * The speed of head relative to base, from pairs of consecutive runs: the geometric mean of the ratios, and Student's 95 %
 * interval of their logarithms.
 */
final class Comparison {
    private static final double TAIL = 0.975;
    private final SummaryStatistics logarithms = new SummaryStatistics();

    void add(double base, double head) {
        logarithms.addValue(Math.log(head / base));
    }

    long pairs() {
        return logarithms.getN();
    }

    /** Speed of head divided by speed of base: the geometric mean over the pairs. */
    double ratio() {
        return Math.exp(logarithms.getMean());
    }

    double low() {
        return Math.exp(logarithms.getMean() - margin());
    }

    double high() {
        return Math.exp(logarithms.getMean() + margin());
    }

    /** Whether head is slower than base by more than {@code share}, with the whole interval. */
    boolean isSlower(double share) {
        return high() < 1 - share;
    }

    /** Whether the interval contains a loss of {@code share}: more pairs are needed. */
    boolean isOpen(double share) {
        return low() < 1 - share && high() >= 1 - share;
    }

    private double margin() {
        double t = new TDistribution(pairs() - 1).inverseCumulativeProbability(TAIL);
        return t * logarithms.getStandardDeviation() / Math.sqrt(pairs());
    }
}
