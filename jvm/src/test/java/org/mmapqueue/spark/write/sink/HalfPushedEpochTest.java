package org.mmapqueue.spark.write.sink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.spark.write.staging.Manifest;
import org.mmapqueue.spark.write.staging.StagedFile;
import org.mmapqueue.spark.write.staging.StagedRecords;

/** Epochs that a kill has left half pushed, and their manifests. */
class HalfPushedEpochTest extends StagedRows {
    @Test
    void filesOfEarlierAttemptsAreDeletedAtTheCommit() throws Exception {
        open(0);
        storedBefore("q", 4);
        staged("q", 3, 0, "of a task that was lost");
        staged("q", 4, 0, "of an attempt that was lost");
        StagedFile later = staged("q", 5, 0, "of the epoch to come");
        sink.commitEpoch("q", 4, List.of(staged("q", 4, 0, "a")), PUSH);
        assertEquals(List.of(later.name()), left("q"));
    }

    /** Leaves the state of a kill between the pushes to two partitions. */
    private void halfPushed(List<StagedFile> files) throws Exception {
        Manifest manifest = Manifest.of("spark-q", 7, files);
        manifest.write(DiskStorage.INSTANCE, sink.staging().of("q"), false);
        List<StagedFile> own = manifest.byPartition().get(0);
        try (MmapQueue first = MmapQueue.open(firstPartition());
                StagedRecords staged =
                        new StagedRecords(DiskStorage.INSTANCE, sink.staging().of("q"), own)) {
            assertEquals(OptionalLong.of(0), first.pushOnce("spark-q", 7, staged.records(), Duration.ZERO, false));
        }
    }

    @Test
    void aHalfPushedEpochIsCompletedWithItsStagedRows() throws Exception {
        open(2);
        halfPushed(List.of(staged("q", 7, 0, "a"), staged("q", 7, 1, "b", "c")));
        // The same rows, distributed in another way: without the manifest c would be pushed twice, or b never.
        List<StagedFile> again = List.of(staged("q", 7, 0, "a", "b"), staged("q", 7, 1, "c"));
        assertFalse(sink.commitEpoch("q", 7, again, PUSH));
        assertEquals(List.of("a"), rows(0));
        assertEquals(List.of("b", "c"), rows(1));
        assertEquals(List.of(), left("q"));
    }

    @Test
    void theNextOpenCompletesAHalfPushedEpoch() throws Exception {
        open(2);
        halfPushed(List.of(staged("q", 7, 0, "a"), staged("q", 7, 1, "b")));
        staged("dead", 1, 0, "x");
        reopen();
        assertEquals(List.of("b"), rows(1));
        assertEquals(List.of(), left("q"));
        assertFalse(Files.exists(sink.staging().of("dead")));
        assertFalse(sink.commitEpoch("q", 7, List.of(staged("q", 7, 0, "a"), staged("q", 7, 1, "b")), PUSH));
        assertEquals(List.of("a"), rows(0));
    }

    @Test
    void aManifestWithoutPushedRowsIsDropped() throws Exception {
        open(2);
        storedBefore("q", 7);
        StagedFile old = staged("q", 7, 0, "old");
        Manifest.of("spark-q", 7, List.of(old, staged("q", 7, 1, "old")))
                .write(DiskStorage.INSTANCE, sink.staging().of("q"), false);
        assertTrue(sink.commitEpoch("q", 7, List.of(staged("q", 7, 0, "a"), staged("q", 7, 1, "b")), PUSH));
        assertEquals(List.of("a"), rows(0));
        assertEquals(List.of("b"), rows(1));
        assertEquals(List.of(), left("q"));
    }

    @Test
    void aManifestWithAllRowsPushedIsDeleted() throws Exception {
        open(2);
        storedBefore("q", 7);
        List<StagedFile> files = List.of(staged("q", 7, 0, "a"), staged("q", 7, 1, "b"));
        sink.commitEpoch("q", 7, files, PUSH);
        sink.staging().make("q");
        Manifest.of("spark-q", 7, files)
                .write(DiskStorage.INSTANCE, sink.staging().of("q"), false); // the staged files do not exist
        reopen();
        assertEquals(List.of("b"), rows(1));
        assertEquals(List.of(), left("q"));
    }

    @Test
    void lostStagedRowsAreReported() throws Exception {
        open(2);
        StagedFile lost = staged("q", 7, 1, "b");
        halfPushed(List.of(staged("q", 7, 0, "a"), lost));
        Path file = sink.staging().of("q").resolve(lost.name());
        Files.delete(file);
        Path manifest = sink.staging().of("q").resolve("7.manifest");
        IOException error = assertThrows(IOException.class, () -> sink.commitEpoch("q", 8, List.of(), PUSH));
        assertEquals(
                manifest + " cannot be completed: " + file + " is missing; the rows for partitions [1] are"
                        + " lost, those for the others are in the queue; delete " + manifest + " to continue",
                error.getMessage());
        Files.writeString(manifest, "torn");
        error = assertThrows(IOException.class, () -> sink.commitEpoch("q", 8, List.of(), PUSH));
        assertTrue(error.getMessage().startsWith(manifest + " is incomplete"), error.getMessage());
        Files.delete(manifest);
        assertTrue(sink.commitEpoch("q", 8, List.of(staged("q", 8, 1, "c")), PUSH));
        assertEquals(List.of("c"), rows(1));
    }

    @Test
    void aTornManifestWithoutPushedRowsIsDropped() throws Exception {
        open(2);
        storedBefore("q", 7);
        sink.staging().make("q");
        Files.writeString(sink.staging().of("q").resolve("7.manifest"), "");
        assertTrue(sink.commitEpoch("q", 7, List.of(staged("q", 7, 0, "a")), PUSH));
        assertEquals(List.of("a"), rows(0));
        assertEquals(List.of(), left("q"));
    }

    @Test
    void anIncompleteStagedFileFailsTheEpochBeforeAnyPush() throws Exception {
        open(2);
        StagedFile torn = staged("q", 0, 1, "b");
        Path file = sink.staging().of("q").resolve(torn.name());
        Files.write(file, new byte[3]);
        IOException error = assertThrows(
                IOException.class, () -> sink.commitEpoch("q", 0, List.of(staged("q", 0, 0, "a"), torn), PUSH));
        assertEquals(
                "epoch 0 of query q cannot be pushed: " + file + " has 3 bytes, expected " + torn.size(),
                error.getMessage());
        assertEquals(List.of(), rows(0));
    }

    @Test
    void abortDeletesStagedRowsUnlessTheirPushHasBegun() throws Exception {
        open(2);
        staged("q", 7, 0, "x");
        sink.discard("q");
        assertFalse(Files.exists(sink.staging().of("q")));
        StagedFile second = staged("q", 7, 1, "b");
        halfPushed(List.of(staged("q", 7, 0, "a"), second));
        sink.discard("q");
        reopen();
        assertEquals(List.of("b"), rows(1));
    }
}
