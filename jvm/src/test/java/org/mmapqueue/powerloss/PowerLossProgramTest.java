package org.mmapqueue.powerloss;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.support.QuickDirectory;

/** The short form of {@code make powerloss}: a few runs with cuts at random, and one with a cut at every call. */
@Timeout(300)
class PowerLossProgramTest {
    private static final int OPERATIONS = 60;
    private static final int RUNS = 12;
    private static final int STEP = 5;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Workshop workshop(String name) throws IOException {
        return new Workshop(Files.createDirectory(temp.resolve(name)));
    }

    @Test
    void cutsAtRandom() throws IOException {
        Tally tally = new Tally();
        for (int seed = 1; seed <= RUNS; seed++) {
            try (Workshop workshop = workshop("run-" + seed)) {
                new Program(workshop, seed, tally).run(OPERATIONS, 4);
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("seed " + seed, e);
            }
        }
        assertTrue(tally.cuts() > 10 * RUNS, tally.toString());
    }

    /** Every n-th call of the same run, one after the other, each with its own beginning. */
    @ParameterizedTest
    @ValueSource(longs = {2, 3})
    void aCutAtEachCall(long seed) throws IOException {
        Tally tally = new Tally();
        int number = 0;
        boolean wasCut = true;
        while (wasCut) {
            try (Workshop workshop = workshop("cut-" + seed + "-" + number)) {
                wasCut = Program.cutAt(workshop, seed, OPERATIONS, number, tally);
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("seed " + seed + ", cut at call " + number, e);
            }
            number += STEP;
        }
        assertTrue(number > 10 * STEP, "calls " + number);
    }
}
