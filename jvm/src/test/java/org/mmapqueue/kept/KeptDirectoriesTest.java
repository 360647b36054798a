package org.mmapqueue.kept;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.verify.Verifier;

/** What each earlier version left is found by this one, to the last record, and can be written on. */
@Timeout(120)
class KeptDirectoriesTest {
    private static final int PUSHED = 200;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    static Stream<Kept> all() throws Exception {
        return Kept.all();
    }

    private Path unpack(Kept kept) throws IOException {
        Path root = temp.resolve("root");
        kept.unpack(root);
        return root;
    }

    @Test
    void theFirstStateHasAllCases() throws Exception {
        Path first = Kept.states().findFirst().orElseThrow();
        assertEquals("1.0.0rc2", first.getFileName().toString());
        assertEquals(
                Arrays.stream(KeptCase.values()).map(KeptCase::fileName).collect(Collectors.toSet()),
                Kept.in(first).map(Kept::name).collect(Collectors.toSet()));
    }

    /** Its format was not released. */
    @Test
    void aQueueOfTheFirstCandidateIsRefused() throws Exception {
        Path state = Path.of(Kept.class.getResource("/format-2-unreleased").toURI());
        new Kept(state, "clean").unpack(temp.resolve("root"));
        Path queue = temp.resolve("root/queue");
        Map<String, String> before = Directories.fingerprint(queue);
        String expected = "a queue of version 1.0.0rc1";
        for (boolean readOnly : new boolean[] {false, true}) {
            QueueConfig config = QueueConfig.builder(queue).readOnly(readOnly).build();
            CorruptException refused = assertThrows(CorruptException.class, () -> MmapQueue.open(config));
            assertTrue(refused.getMessage().contains(expected), refused.getMessage());
        }
        MmapQueueException refused = assertThrows(
                MmapQueueException.class, () -> Repairer.repair(queue, temp.resolve("repaired"), false, Progress.NONE));
        assertTrue(refused.getMessage().contains(expected), refused.getMessage());
        String findings = Verifier.verify(queue, Progress.NONE).findings().toString();
        assertTrue(findings.contains(expected), findings);
        assertEquals(before, Directories.fingerprint(queue));
    }

    @ParameterizedTest
    @MethodSource("all")
    void everythingIsFound(Kept kept) throws Exception {
        Path root = unpack(kept);
        assertEquals(
                String.join("\n", kept.manifest()), String.join("\n", KeptContent.of(root, temp.resolve("aside"))));
    }

    /** The manifest says what was pushed, and not only what was found when it was made. */
    @ParameterizedTest
    @MethodSource("all")
    void theRecordsAreThoseThatWerePushed(Kept kept) throws Exception {
        for (String line : kept.manifest()) {
            String[] words = line.split(" ");
            if (words[0].equals("record") && !words[2].equals("lost")) {
                byte[] pushed = Payload.of(Long.parseLong(words[1]), Integer.parseInt(words[3]));
                assertEquals(Directories.sha256(pushed), words[4], line);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("all")
    void verifyFindsNoDamageAndChangesNothing(Kept kept) throws Exception {
        Path queue = unpack(kept).resolve("queue");
        if (Files.exists(queue.resolve("resize.ready"))) {
            return;
        }
        Map<String, String> before = Directories.fingerprint(queue);
        VerifyReport report = Verifier.verify(queue, Progress.NONE);
        assertTrue(report.isWhole(), report.findings().toString());
        assertEquals(2, report.version());
        assertEquals(before, Directories.fingerprint(queue));
    }

    /** Through several generations of the ring, and after another open. */
    @ParameterizedTest
    @MethodSource("all")
    void itIsWrittenOn(Kept kept) throws Exception {
        Path directory = unpack(kept).resolve("queue");
        QueueConfig config = QueueConfig.builder(directory).build();
        long first;
        try (MmapQueue queue = MmapQueue.open(config)) {
            List<String> names = queue.consumers().isEmpty() ? List.of("default") : queue.consumers();
            for (String name : names) {
                passAll(queue.consumer(name, StartAt.EARLIEST));
            }
            first = queue.endOffset();
            for (int i = 0; i < PUSHED; i++) {
                assertEquals(first + i, queue.push(payload(i)));
                assertArrayEquals(payload(i), queue.get(first + i).data());
                for (String name : i < PUSHED - 1 ? names : List.<String>of()) {
                    assertEquals(
                            first + i,
                            queue.consumer(name, StartAt.EARLIEST).pop().offset());
                    queue.consumer(name, StartAt.EARLIEST).ackUpTo(first + i);
                }
            }
        }
        VerifyReport report = Verifier.verify(directory, Progress.NONE);
        assertTrue(report.clean() && report.isWhole(), report.toString());
        try (MmapQueue queue = MmapQueue.open(config)) {
            assertEquals(first + PUSHED, queue.endOffset());
            for (String name : queue.consumers()) {
                Payload.assertMessages(
                        first + PUSHED - 1,
                        List.of(payload(PUSHED - 1)),
                        Payload.drain(queue.consumer(name, StartAt.EARLIEST)));
            }
        }
    }

    // The first call of a consumer that lost records throws, and the next one continues after the gap.
    private static void passAll(Consumer consumer) {
        try {
            consumer.seek(StartAt.LATEST);
        } catch (DroppedException e) {
            consumer.seek(StartAt.LATEST);
        }
    }

    private static byte[] payload(int i) {
        return Payload.of(i, 700);
    }

    @Test
    void theMakerMakesAStateOnce() throws Exception {
        Path state = temp.resolve("1.2.3");
        KeptMaker.make(state);
        Map<String, String> made = Directories.fingerprint(state);
        assertEquals(2 * KeptCase.values().length, made.size());
        IOException thrown = assertThrows(IOException.class, () -> KeptMaker.make(state));
        assertTrue(thrown.getMessage().contains("exists, and is never made again"), thrown.getMessage());
        assertEquals(made, Directories.fingerprint(state));
    }
}
