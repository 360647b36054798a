package org.mmapqueue.bench.guard;

import org.apache.commons.math3.distribution.TDistribution;
import org.apache.commons.math3.stat.descriptive.SummaryStatistics;

/**
 * How much faster one build is than the other, from pairs of runs that stood next to each other. The ratios of the
 * pairs are looked at by their logarithms, so that twice as fast and half as fast weigh the same; the interval is
 * Student's, at 95 %.
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

    /** Speed of head by speed of base: the geometric mean over the pairs. */
    double ratio() {
        return Math.exp(logarithms.getMean());
    }

    double low() {
        return Math.exp(logarithms.getMean() - margin());
    }

    double high() {
        return Math.exp(logarithms.getMean() + margin());
    }

    /** Whether head is slower than base by more than {@code share}: all of the interval says so. */
    boolean isSlower(double share) {
        return high() < 1 - share;
    }

    /** Whether the run is too noisy to tell: the interval holds a loss of {@code share}. */
    boolean isOpen(double share) {
        return low() < 1 - share && high() >= 1 - share;
    }

    private double margin() {
        double t = new TDistribution(pairs() - 1).inverseCumulativeProbability(TAIL);
        return t * logarithms.getStandardDeviation() / Math.sqrt(pairs());
    }
}
