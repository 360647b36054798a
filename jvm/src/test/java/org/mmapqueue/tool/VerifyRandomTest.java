package org.mmapqueue.tool;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.QuickDirectory;

/** The short form of {@code make verify-random}. */
class VerifyRandomTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @Test
    void noFalseAlarmAndNoOffsetThatMeansAnotherRecord() {
        VerifyRandom random = new VerifyRandom(temp);
        for (long seed = 1; seed <= 30; seed++) {
            random.run(seed);
        }
        assertEquals(List.of(), random.faults, random::toString);
    }
}
