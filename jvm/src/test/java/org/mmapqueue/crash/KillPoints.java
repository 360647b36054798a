package org.mmapqueue.crash;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Directories;

/**
 * Interrupts a {@link Scenario} before each of its file operations, and checks what is left. No process ends: a kill
 * leaves what the files hold at that moment, so they are copied then. {@link HaltedProcesses} does the same with
 * processes.
 */
final class KillPoints {
    private static final int SEGMENT_SIZE = 4096;

    private static final String ONCE = "copied at an operation";
    private static final String TWICE = "copied there, and again in the recovery";

    private final Path temp;
    private final CrashTable table;
    private final ScenarioCheck check;

    KillPoints(Path temp, CrashTable table) {
        this.temp = temp;
        this.table = table;
        this.check = new ScenarioCheck(temp, table);
    }

    /**
     * Interrupts at each operation, and checks what each {@code step}-th interruption has left. After each {@code every}-th
     * it continues with what that has left, and does so again. Returns the number of interruptions of the first scenario.
     */
    int run(int step, int every) throws InterruptedException, IOException {
        List<ScenarioCheck.Left> interruptions = interruptions(temp.resolve("first"), null, 0);
        for (int i = 0; i < interruptions.size(); i++) {
            ScenarioCheck.Left first = interruptions.get(i);
            if (i % step == 0) {
                check.check(ONCE, "operation " + (i + 1), first);
            }
            if (i % every == every - 1) {
                List<ScenarioCheck.Left> again = interruptions(temp.resolve("again"), first.directory(), 1);
                for (int j = 0; j < again.size(); j++) {
                    if (j % step == 0) {
                        check.check(TWICE, "operations " + (i + 1) + " and " + (j + 1), first, again.get(j));
                    }
                    Directories.delete(again.get(j).directory());
                }
            }
        }
        for (ScenarioCheck.Left each : interruptions) {
            Directories.delete(each.directory());
        }
        return interruptions.size();
    }

    private List<ScenarioCheck.Left> interruptions(Path directory, Path start, int part) throws IOException {
        ByteArrayOutputStream journal = new ByteArrayOutputStream();
        List<ScenarioCheck.Left> all = new ArrayList<>();
        if (start != null) {
            Directories.copy(start, directory);
        }
        Scenario scenario = new Scenario(directory, part, new Journal(journal), (path, fillsSlot) -> {
            all.add(left(directory, part, all.size(), journal));
            if (fillsSlot) {
                ScenarioCheck.Left torn = left(directory, part, all.size(), journal);
                fillHalf(torn.directory().resolve(directory.relativize(path)));
                all.add(torn);
            }
        });
        try {
            scenario.run();
        } catch (MmapQueueException | IllegalStateException e) {
            table.failed(part == 0 ? ONCE : TWICE, "the scenario itself, after operation " + all.size() + ": " + e);
        }
        all.add(left(directory, part, all.size(), journal));
        Directories.delete(directory);
        return all;
    }

    private ScenarioCheck.Left left(Path directory, int part, int number, ByteArrayOutputStream journal) {
        Path copy = temp.resolve("left-" + part + "-" + number);
        try {
            if (Files.exists(directory)) {
                Directories.copy(directory, copy);
            } else {
                Files.createDirectories(copy);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new ScenarioCheck.Left(copy, 1 + part, Event.all(journal.toByteArray()));
    }

    /** Leaves a slot as a kill in the middle of its filling does. */
    static void fillHalf(Path slot) {
        try (FileChannel channel = FileChannel.open(slot, StandardOpenOption.WRITE, StandardOpenOption.CREATE)) {
            channel.write(ByteBuffer.allocate(SEGMENT_SIZE / 2), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
