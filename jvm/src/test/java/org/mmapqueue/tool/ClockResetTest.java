package org.mmapqueue.tool;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.support.Micros;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.RepairReport;
import org.mmapqueue.tool.verify.Verifier;

/** A repair resets the timestamps of a queue that was written while the clock was far ahead. */
@Timeout(120)
class ClockResetTest {
    private static final long YEAR = Duration.ofDays(365).toSeconds() * 1_000_000;
    private static final int COUNT = 300;

    @TempDir
    Path temp;

    private Path directory;
    private List<Message> before;

    @BeforeEach
    void make() throws InterruptedException {
        directory = temp.resolve("queue");
        try (MmapQueue queue = open(directory)) {
            for (int i = 0; i < COUNT; i++) {
                if (i == COUNT / 2) {
                    Thread.sleep(20); // the halves have different timestamps
                }
                queue.push(new byte[i % 40 == 39 ? 5000 : i % 97]); // some span segments, and headers end segments
            }
            before = queue.getMany(0, COUNT);
        }
    }

    private static MmapQueue open(Path directory) {
        return MmapQueue.open(QueueConfig.builder(directory)
                .segmentSize(4096)
                .queueCapacitySegments(64)
                .build());
    }

    private static long now() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }

    private static void assertSamePayloads(List<Message> expected, List<Message> found) {
        assertEquals(expected.size(), found.size());
        for (int i = 0; i < expected.size(); i++) {
            assertEquals(expected.get(i).offset(), found.get(i).offset());
            assertArrayEquals(expected.get(i).data(), found.get(i).data());
        }
    }

    /** The second half was pushed while the clock was a year ahead. */
    private void setHalfAhead() throws IOException {
        long middle = before.get(COUNT / 2).timestampMicros();
        long ahead = Repairer.restamp(directory, old -> old >= middle ? old + YEAR : old);
        assertTrue(ahead >= COUNT / 2, ahead + " records are ahead");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void timestampsAheadOfTheClockAreSetToNow(boolean inPlace) throws IOException {
        setHalfAhead();
        try (MmapQueue queue = open(directory)) {
            long pushed = queue.push(new byte[1]);
            assertTrue(queue.get(pushed).timestampMicros() > now() + YEAR / 2, "the clock of the queue stays ahead");
        }
        long least = now();
        Path target = inPlace ? directory : temp.resolve("copy");
        RepairReport report = inPlace
                ? Repairer.repairInPlace(directory, true, Progress.NONE)
                : Repairer.repair(directory, target, true, Progress.NONE);
        assertTrue(report.actions().get(report.actions().size() - 1).contains("ahead of the clock"));
        try (MmapQueue queue = open(target)) {
            long last = queue.push(new byte[1]);
            List<Message> all = new ArrayList<>(queue.getMany(0, COUNT + 2));
            assertSamePayloads(before, all.subList(0, COUNT));
            long earlier = 0;
            for (Message each : all) {
                assertTrue(each.timestampMicros() >= earlier && each.timestampMicros() <= now());
                earlier = each.timestampMicros();
            }
            assertEquals(before.get(0).timestampMicros(), all.get(0).timestampMicros());
            assertTrue(all.get((int) last).timestampMicros() >= least - 1000);
            assertTrue(queue.find(Micros.instant(least + YEAR / 2)).isEmpty());
        }
        assertTrue(Verifier.verify(target, Progress.NONE).isWhole());
    }

    @Test
    void withoutTheOptionTimestampsStay() throws IOException {
        setHalfAhead();
        Path target = temp.resolve("copy");
        Repairer.repair(directory, target, false, Progress.NONE);
        try (MmapQueue queue = open(target)) {
            assertTrue(queue.get(COUNT - 1).timestampMicros() > now() + YEAR / 2);
        }
    }

    @Test
    void theCommandLineHasTheOption() throws IOException {
        setHalfAhead();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        PrintStream text = new PrintStream(out, true, StandardCharsets.UTF_8);
        assertEquals(
                Main.WHOLE,
                Main.run(List.of("repair", directory.toString(), "--in-place", "--yes", "--reset-clock"), text, text));
        assertTrue(
                out.toString(StandardCharsets.UTF_8).contains("ahead of the clock"),
                out.toString(StandardCharsets.UTF_8));
        assertEquals(Main.USAGE, Main.run(List.of("verify", directory.toString(), "--reset-clock"), text, text));
    }
}
