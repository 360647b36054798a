package org.mmapqueue.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.mmapqueue.archive.run.RunMerger;
import org.mmapqueue.archive.run.RunName;

/** For runs of any sizes, few small ones are left, and each byte is rewritten a few times. */
class CompactionPlanTest {
    private static final int RUNS = 3000;

    /** Tiers below {@link CompactionPlan#LARGE}. */
    private static final int TIERS = 7;

    private record Outcome(List<RunName> runs, long shipped, long rewritten) {
        double amplification() {
            return (double) rewritten / shipped;
        }

        long large() {
            return runs.stream()
                    .filter(run -> run.bytes() >= CompactionPlan.LARGE)
                    .count();
        }
    }

    private interface Sizes {
        long next(int run);
    }

    private static Outcome ship(Sizes sizes) {
        List<RunName> runs = new ArrayList<>();
        long shipped = 0;
        long rewritten = 0;
        for (int i = 0; i < RUNS; i++) {
            long bytes = sizes.next(i);
            runs.add(new RunName(i, i + 1, 1, 0, 0, bytes, 0));
            shipped += bytes;
            while (true) {
                List<RunName> chosen = CompactionPlan.choose(runs, false, run -> false);
                if (chosen.isEmpty()) {
                    break;
                }
                rewritten += replace(runs, chosen);
            }
            long large = runs.stream()
                    .filter(run -> run.bytes() >= CompactionPlan.LARGE)
                    .count();
            assertTrue(runs.size() <= TIERS * (CompactionPlan.FAN - 1) + 2 * large, runs.size() + " runs");
        }
        return new Outcome(runs, shipped, rewritten);
    }

    private static long replace(List<RunName> runs, List<RunName> chosen) {
        assertTrue(chosen.size() > 1);
        RunName all = RunMerger.name(chosen);
        assertTrue(all.bytes() < 2 * CompactionPlan.LARGE);
        int at = runs.indexOf(chosen.get(0));
        assertEquals(chosen, runs.subList(at, at + chosen.size()));
        runs.subList(at, at + chosen.size()).clear();
        runs.add(at, all);
        return all.bytes();
    }

    @Property(tries = 20)
    void anyMixtureOfSizesLeavesFewRuns(@ForAll long seed) {
        Random random = new Random(seed);
        Outcome outcome = ship(run -> 1L << random.nextInt(27));
        assertTrue(outcome.amplification() <= 8, "rewritten " + outcome.amplification() + " times");
    }

    @Property(tries = 20)
    void changingRatesLeaveFewRuns(@ForAll long seed) {
        Random random = new Random(seed);
        long[] rate = {100};
        Outcome outcome = ship(run -> {
            if (random.nextInt(100) == 0) {
                rate[0] = 1L << random.nextInt(23);
            }
            return rate[0] + random.nextInt(100);
        });
        assertTrue(outcome.amplification() <= 8, "rewritten " + outcome.amplification() + " times");
    }

    @Property(tries = 24)
    void anEvenRateIsRewrittenOncePerTier(@ForAll long seed) {
        long bytes = 1L << Math.floorMod(seed, 24);
        Outcome outcome = ship(run -> bytes);
        assertTrue(outcome.amplification() <= TIERS, bytes + " bytes: " + outcome.amplification() + " times");
        assertTrue(outcome.large() > 0 || outcome.shipped() < 2 * CompactionPlan.LARGE);
    }

    @Property(tries = 50)
    void aCompleteBucketHasLargeRunsAndOneMore(@ForAll long seed) {
        Random random = new Random(seed);
        List<RunName> runs = new ArrayList<>();
        int count = 1 + random.nextInt(300);
        for (int i = 0; i < count; i++) {
            runs.add(new RunName(i, i + 1, 1, 0, 0, 1L << random.nextInt(24), 0));
        }
        while (true) {
            List<RunName> chosen = CompactionPlan.choose(runs, true, run -> false);
            if (chosen.isEmpty()) {
                break;
            }
            replace(runs, chosen);
        }
        for (RunName run : runs.subList(0, runs.size() - 1)) {
            assertTrue(run.bytes() >= CompactionPlan.LARGE, runs.toString());
        }
    }

    @Property(tries = 50)
    void fixedRunsAndGapsAreNeverMerged(@ForAll long seed) {
        Random random = new Random(seed);
        List<RunName> runs = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            if (random.nextInt(20) > 0) {
                runs.add(new RunName(i, i + 1, 1, 0, 0, 1L << random.nextInt(24), 0));
            }
        }
        Set<RunName> fixed = new HashSet<>(List.of(runs.get(random.nextInt(runs.size())), runs.get(0)));
        while (true) {
            List<RunName> chosen = CompactionPlan.choose(runs, random.nextBoolean(), fixed::contains);
            if (chosen.isEmpty()) {
                break;
            }
            replace(runs, chosen); // throws if there is a gap
        }
        assertTrue(runs.containsAll(fixed));
    }
}
