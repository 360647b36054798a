package org.mmapqueue.tool.repair;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.damage.RecordPositions;
import org.mmapqueue.damage.Shape;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.report.Finding;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.scan.Hole;
import org.mmapqueue.tool.verify.Survey;
import org.mmapqueue.tool.verify.Verifier;

/** Holes that are larger than a gap can be. */
class GapsTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    /** From the third record of the first segment on into the third segment, two headers included. */
    @ParameterizedTest
    @ValueSource(ints = {16, 24, 40, 1000, 4024, 4032, 4040, Gaps.LARGEST_BODY})
    void aHoleIsFilledWithSeveralGaps(int largestBody) throws IOException, InterruptedException {
        Shape.Made made = Shape.CLEAN.make(temp.resolve("queue"), temp.resolve("aside"));
        Path at = made.path();
        int from = RecordPositions.of(at.resolve("0_segment.dat")).get(2);
        Directories.overwrite(at.resolve("0_segment.dat"), from, new byte[Shape.SEGMENT - from]);
        Directories.overwrite(at.resolve("1_segment.dat"), 0, new byte[Shape.SEGMENT]);
        Directories.overwrite(at.resolve("2_segment.dat"), 0, new byte[500]);
        Finding lost;
        long words;
        try (Survey survey = new Survey(DiskStorage.INSTANCE, at, Progress.NONE)) {
            List<Hole> holes = survey.walk.holes;
            assertEquals(1, holes.size());
            lost = survey.report().findings().stream()
                    .filter(each -> each.lost() > 0)
                    .findFirst()
                    .orElseThrow();
            Gaps gaps = new Gaps(survey, largestBody);
            gaps.fill(holes.get(0));
            gaps.words.forEach((id, stored) -> stored.forEach((byteAt, word) -> Directories.overwrite(
                    at.resolve(id + "_segment.dat"), byteAt, RingCopy.word(word).array())));
            gaps.headers
                    .values()
                    .forEach(header -> Directories.overwrite(
                            at.resolve(header.id() + "_segment.dat"),
                            0,
                            header.encode().array()));
            words = gaps.words.values().stream().mapToLong(each -> each.size()).sum();
        }
        assertTrue(words >= 2L * (2 * Shape.SEGMENT) / (largestBody + 8L), "words " + words);
        VerifyReport report = Verifier.verify(at, Progress.NONE);
        assertTrue(
                report.findings().stream()
                        .allMatch(each ->
                                each.file().endsWith("meta.dat") || each.file().endsWith("default.dat")),
                report.findings().toString());
        assertEquals(made.payloads().size() - lost.lost(), report.records());
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(at).build())) {
            for (int offset = 0; offset < made.payloads().size(); offset++) {
                long wanted = offset;
                if (offset < lost.firstLost() || offset > lost.lastLost()) {
                    assertArrayEquals(
                            made.payloads().get(offset), queue.get(offset).data());
                } else {
                    assertThrows(OutOfRangeException.class, () -> queue.get(wanted));
                }
            }
        }
    }
}
