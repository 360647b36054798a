package org.mmapqueue.bench;

import java.util.Arrays;
import java.util.Collection;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;

/** The iterations of one cell over all rounds. */
final class Scores {
    private double[] recordsPerSecond = {};
    private double[] bytesPerRecord = {};

    void add(Collection<RunResult> runs) {
        for (RunResult run : runs) {
            for (BenchmarkResult fork : run.getBenchmarkResults()) {
                for (IterationResult iteration : fork.getIterationResults()) {
                    double records = score(iteration, "records");
                    recordsPerSecond = with(recordsPerSecond, records);
                    bytesPerRecord = with(bytesPerRecord, score(iteration, "allocated") / records);
                }
            }
        }
    }

    boolean isEmpty() {
        return recordsPerSecond.length == 0;
    }

    double recordsPerSecond() {
        return median(recordsPerSecond);
    }

    double least() {
        return Arrays.stream(recordsPerSecond).min().orElse(Double.NaN);
    }

    double most() {
        return Arrays.stream(recordsPerSecond).max().orElse(Double.NaN);
    }

    double bytesPerRecord() {
        return median(bytesPerRecord);
    }

    private static double score(IterationResult iteration, String counter) {
        Result<?> result = iteration.getSecondaryResults().get(counter);
        return result.getScore();
    }

    private static double[] with(double[] values, double value) {
        double[] longer = Arrays.copyOf(values, values.length + 1);
        longer[values.length] = value;
        return longer;
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        int half = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    }
}
