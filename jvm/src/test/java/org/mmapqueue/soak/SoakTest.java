package org.mmapqueue.soak;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.harness.Tally;
import org.mmapqueue.harness.TestRecord;
import org.mmapqueue.support.QuickDirectory;

/** The short form of {@link LongSoak}, and tests of its counters. */
@Tag("slow")
@Timeout(value = 600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SoakTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @Test
    void stoppedAndContinuedProcessesLoseNoRecordAndDoNotGrow() throws Exception {
        Assumptions.assumeTrue(ProcessFigures.isAvailable(), "needs /proc");
        try (SoakRun run = new SoakRun(temp.resolve("queue"), 1)) {
            run.run(Duration.ofSeconds(3), 3 * Growth.MIN_SAMPLES);
            Tally tally = run.tally();
            assertEquals(List.of(), tally.faults());
            assertTrue(tally.of("records pushed") > 0, "nothing was pushed");
            assertEquals(4 * tally.of("records pushed"), tally.of("records counted"), "by four consumers");
            assertTrue(tally.of("times a process was stopped") > 0, "no process was stopped");
        }
    }

    private static long[] keys(int producer, long... numbers) {
        long[] keys = new long[numbers.length];
        for (int i = 0; i < keys.length; i++) {
            keys[i] = TestRecord.key(0, producer, numbers[i]);
        }
        return keys;
    }

    @Test
    void recordsOfAnotherThreadMayBeCountedLater() {
        SoakCounter counter = new SoakCounter("c", 2);
        assertEquals(0, counter.count(3, keys(1, 1, 2)));
        assertEquals(0, counter.count(2, keys(1, 0)));
        assertThrows(IllegalStateException.class, () -> counter.require(new long[] {2, 3}));
        assertEquals(5, counter.count(0, keys(0, 0, 1)));
        counter.require(new long[] {2, 3});
    }

    @Test
    void aRecordThatIsMissingDuplicatedOrOutOfOrderThrows() {
        SoakCounter counter = new SoakCounter("c", 2);
        counter.count(0, keys(0, 0, 1));
        assertThrows(IllegalStateException.class, () -> counter.count(1, keys(0, 2)), "an offset twice");
        counter.count(5, keys(1, 3));
        assertThrows(IllegalStateException.class, () -> counter.count(5, keys(1, 3)), "an offset twice, ahead");
        assertThrows(IllegalStateException.class, () -> counter.count(4, keys(1, 2, 3)), "an offset twice, ahead");
        assertThrows(IllegalStateException.class, () -> counter.require(new long[] {3, 0}), "one is missing");
        assertThrows(IllegalStateException.class, () -> counter.count(2, keys(0, 3)), "out of order");
        assertThrows(IllegalStateException.class, () -> new SoakCounter("d", 1).count(0, keys(0, 0, 0)), "doubled");
    }

    @Test
    void changedBytesAreNoRecord() {
        byte[] record = RaceRecords.of(TestRecord.key(0, 3, 77));
        assertEquals(TestRecord.key(0, 3, 77), RaceRecords.key(record, 0, record.length));
        record[record.length - 1] ^= 1;
        assertThrows(IllegalStateException.class, () -> RaceRecords.key(record, 0, record.length));
        assertThrows(IllegalStateException.class, () -> RaceRecords.key(record, 0, record.length - 1));
        assertThrows(IllegalStateException.class, () -> RaceRecords.key(new byte[4], 0, 4));
    }

    private static Growth growth(long... samples) {
        Growth growth = new Growth("figure", 1, 10, 1000);
        for (long sample : samples) {
            growth.add(sample);
        }
        return growth;
    }

    @Test
    void aFigureGrowsIfTheMedianOfTheLastThirdIsHigher() {
        assertTrue(growth(900, 100, 100, 104, 700, 90, 110, 110, 800).isGood(), "peaks are not growth");
        assertEquals(
                "grows", growth(100, 101, 102, 105, 106, 107, 111, 112, 113).verdict());
        assertEquals(
                "above its limit, 1000", growth(1, 1, 1, 1, 1001, 1, 1, 1, 1).verdict());
        assertFalse(growth(1, 1, 1, 1, 1, 1, 1, 1).isGood(), "too few to tell");
    }

    @Test
    void mappingsOfTheQueueFilesAreCounted() {
        List<String> maps = List.of(
                "7f0000000000-7f0000010000 rw-s 00000000 00:1b 11    /q/dir/0_segment.dat",
                "7f0000010000-7f0000020000 rw-s 00000000 00:1b 12    /q/dir/1_segment.dat (deleted)",
                "7f0000020000-7f0000021000 rw-s 00000000 00:1b 13    /q/dir/meta.dat",
                "7f0000021000-7f0000022000 rw-s 00000000 00:1b 14    /q/directory/0_segment.dat",
                "7f0000022000-7f0000023000 rw-p 00000000 00:00 0");
        assertEquals(0x20000, ProcessFigures.mapped(maps, "/q/dir/", "_segment.dat"));
        assertEquals(0x21000, ProcessFigures.mapped(maps, "/q/dir/", ""));
    }
}
