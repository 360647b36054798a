package org.mmapqueue.soak;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/**
 * One figure, sampled over a run. It grows if the median of the last third exceeds that of the first third by more than
 * an allowance: a leak of more than that in two thirds of the run is found, peaks do not count.
 */
final class Growth {
    /** The least number of samples in a third. */
    static final int MIN_SAMPLES = 3;

    private final String what;
    private final double unit;
    private final long allowance;
    private final long limit;
    private final List<Long> samples = new ArrayList<>();

    /**
     * Has no samples yet.
     *
     * @param unit the divisor of printed values
     * @param allowance how much the figure may grow
     * @param limit the highest allowed sample
     */
    Growth(String what, long unit, long allowance, long limit) {
        this.what = what;
        this.unit = unit;
        this.allowance = allowance;
        this.limit = limit;
    }

    void add(long sample) {
        samples.add(sample);
    }

    private long median(int from, int to) {
        List<Long> sorted = new ArrayList<>(samples.subList(from, to));
        Collections.sort(sorted);
        return sorted.get(sorted.size() / 2);
    }

    private long firstThird() {
        return median(0, samples.size() / 3);
    }

    private long lastThird() {
        return median(samples.size() - samples.size() / 3, samples.size());
    }

    /** The fault, or "no growth". */
    String verdict() {
        if (samples.size() < 3 * MIN_SAMPLES) {
            return "only " + samples.size() + " samples";
        }
        if (Collections.max(samples) > limit) {
            return "above its limit, " + shown(limit);
        }
        return lastThird() - firstThird() > allowance ? "grows" : "no growth";
    }

    boolean isGood() {
        return verdict().equals("no growth");
    }

    private String shown(double value) {
        return String.format(Locale.ROOT, unit == 1 ? "%.0f" : "%.2f", value / unit);
    }

    static String head() {
        return String.format(
                "| %-40s | %8s | %8s | %8s | %8s | %8s | %8s | %-10s |%n|%s|%s%s|",
                "figure",
                "first",
                "last",
                "max",
                "limit",
                "1st third",
                "3rd third",
                "verdict",
                "-".repeat(42),
                "---------:|".repeat(6),
                "-".repeat(12));
    }

    @Override
    public String toString() {
        boolean enough = samples.size() >= 3 * MIN_SAMPLES;
        return String.format(
                "| %-40s | %8s | %8s | %8s | %8s | %8s  | %8s  | %-10s |",
                what,
                samples.isEmpty() ? "" : shown(samples.get(0)),
                samples.isEmpty() ? "" : shown(samples.get(samples.size() - 1)),
                samples.isEmpty() ? "" : shown(Collections.max(samples)),
                limit == Long.MAX_VALUE ? "" : shown(limit),
                enough ? shown(firstThird()) : "",
                enough ? shown(lastThird()) : "",
                verdict());
    }
}
