package org.mmapqueue.powerloss;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.harness.KillPoint;
import org.mmapqueue.harness.TempQueues;
import org.mmapqueue.support.QuickDirectory;

/**
 * The short form of {@code make powerloss}: runs with random cuts, and runs with a cut at one call after the other. The
 * system property faults.step is the distance of these calls.
 */
@Tag("long-form")
@Tag("slow")
@Timeout(300)
class SimulatorTest {
    private static final int OPERATIONS = 60;
    private static final int RUNS = 12;
    private static final int STEP = Integer.getInteger("faults.step", 12);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private TempQueues directories(String name) throws IOException {
        return new TempQueues(Files.createDirectory(temp.resolve(name)));
    }

    @Test
    void randomCutsLoseNoDurableRecord() throws IOException {
        Counts counts = new Counts();
        for (int seed = 1; seed <= RUNS; seed++) {
            try (TempQueues directories = directories("run-" + seed)) {
                new RandomRun(directories, seed, counts).run(OPERATIONS, 4);
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("seed " + seed, e);
            }
        }
        assertTrue(counts.cuts.sum() > 10 * RUNS, counts.toString());
        Map<String, Long> predictions = counts.predictions.counts();
        assertTrue(
                predictions.getOrDefault("none", 0L) <= predictions.getOrDefault("right", 0L) / 10, counts.toString());
    }

    /** The next process recovers from acks that are not durable; a recovery after a cut begins at older ones. */
    @Test
    void aCutWhileTheNextProcessRecoversLosesNoSegment() throws IOException {
        Map<String, String> config = Map.of(
                "segment_size",
                "4096",
                "queue_capacity_segments",
                "4",
                "max_event_size",
                "1000",
                "flush_period",
                "600000");
        Counts counts = new Counts();
        for (int seed = 1; seed <= 4; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            try (TempQueues directories = directories("kill-" + seed);
                    Simulator simulator =
                            new Simulator(directories, random, config, KillPoint.random(random.split(), 100), counts)) {
                simulator.createConsumer("a");
                push(simulator, 4);
                simulator.pop("a", 2);
                simulator.ack("a");
                simulator.flush();
                push(simulator, 6);
                simulator.pop("a", 8);
                simulator.ack("a");
                simulator.kill();
                simulator.checkCuts();
            }
        }
        assertTrue(counts.cuts.counts().containsKey("recover from a kill: write"), counts.toString());
    }

    private static void push(Simulator simulator, int count) {
        for (int i = 0; i < count; i++) {
            assertTrue(simulator.push(900, false));
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {2, 3})
    void aCutAtEachCallLosesNoDurableRecord(long seed) throws IOException {
        Counts counts = new Counts();
        int number = 0;
        boolean wasCut = true;
        while (wasCut) {
            try (TempQueues directories = directories("cut-" + seed + "-" + number)) {
                wasCut = new RandomRun(directories, seed, counts).cutAt(number, OPERATIONS);
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("seed " + seed + ", cut at call " + number, e);
            }
            number += STEP;
        }
        assertTrue(number > 50, "calls " + number);
    }
}
