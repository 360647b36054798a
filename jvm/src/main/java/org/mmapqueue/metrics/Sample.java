package org.mmapqueue.metrics;

/**
 * A value of a metric.
 *
 * @param metric the metric
 * @param suffix suffix of the name, for a histogram's parts: {@code _bucket}, {@code _sum}, {@code _count}; else empty
 * @param label {@code consumer}, {@code le} for the upper bound of a histogram's bucket in seconds, or empty
 * @param labelValue the label's value; empty without a label
 * @param value the value
 */
public record Sample(Metric metric, String suffix, String label, String labelValue, double value) {
    /**
     * Returns a value of a queue.
     *
     * @param metric the metric
     * @param value the value
     * @return the sample
     */
    public static Sample of(Metric metric, double value) {
        return new Sample(metric, "", "", "", value);
    }

    /**
     * Returns a value of a consumer.
     *
     * @param metric the metric
     * @param consumer the consumer's name
     * @param value the value
     * @return the sample
     */
    public static Sample of(Metric metric, String consumer, double value) {
        return new Sample(metric, "", "consumer", consumer, value);
    }

    /** {@return the value: a Long where the metric counts in whole numbers, else a Double} */
    public Number number() {
        return isWhole(metric, suffix) ? (Number) (long) value : (Number) value;
    }

    /**
     * Whether a metric, or a part of a histogram, counts in whole numbers.
     *
     * @param metric the metric
     * @param suffix as above
     * @return false for seconds and ratios
     */
    public static boolean isWhole(Metric metric, String suffix) {
        return suffix.equals("_bucket")
                || suffix.equals("_count")
                || metric.unit() != Metric.Unit.SECONDS && metric.unit() != Metric.Unit.RATIO;
    }
}
