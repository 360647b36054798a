package org.mmapqueue.spark.write.staging;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.FaultyStorage;

/** The directory of a write is deleted while tasks still write in it. */
class StagingAreaTest {
    @TempDir
    private Path root;

    private static StagedFileWriter task(FaultyStorage storage, Path directory, String name) throws IOException {
        return new StagedFileWriter(storage, 0, directory.resolve(name), 1000);
    }

    @Test
    void filesOfTasksThatStillRunAreDeleted() throws IOException {
        FaultyStorage storage = new FaultyStorage();
        StagingArea area = new StagingArea(storage, root);
        Path directory = area.make("q");
        Queue<String> late = new ArrayDeque<>(List.of("0-w-1-1.p0", "0-w-2-2.p0"));
        storage.failWhen((call, path) -> {
            if (call == FaultyStorage.Call.DELETE && path.equals(directory) && !late.isEmpty()) {
                create(storage, directory, late.remove());
            }
            return false;
        });
        try (StagedFileWriter running = task(storage, directory, "0-w-0-0.p0")) {
            area.delete("q");
            assertEquals(0, late.size());
            assertFalse(Files.exists(directory));
            running.reserve(1);
            running.add(1);
            assertEquals(1, running.finish(true).count());
        }
        assertThrows(NoSuchFileException.class, () -> task(storage, directory, "0-w-3-3.p0"));
        assertFalse(Files.exists(directory));
    }

    private static void create(FaultyStorage storage, Path directory, String name) {
        try {
            task(storage, directory, name).close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
