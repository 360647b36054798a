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
 * Cuts a {@link Scenario} off before each of its file operations, and compares what is left with what the calls had
 * returned. Without a process that dies: what a kill leaves is what the files hold at that moment, so they are copied
 * there. {@link HaltedWorker} is the same with a process.
 */
final class KillPoints {
    private static final int SEGMENT_SIZE = 4096;

    private static final String ONCE = "copied at an operation";
    private static final String TWICE = "copied there, and again in the recovery";

    private final Path temp;
    private final Tally tally;

    /** A moment at which a process could have died. */
    private record Moment(Path left, List<Event> events) {}

    KillPoints(Path temp, Tally tally) {
        this.temp = temp;
        this.tally = tally;
    }

    /**
     * Cuts off at each operation; and what every {@code eachOf}-th cut has left is taken up, and cut off at each
     * operation again. Returns the operations of the first scenario.
     */
    int run(int eachOf) throws InterruptedException, IOException {
        List<Moment> moments = moments(temp.resolve("life"), null, 0);
        for (int i = 0; i < moments.size(); i++) {
            Moment first = moments.get(i);
            check(ONCE, Integer.toString(i + 1), first, null);
            if (i % eachOf == eachOf - 1) {
                List<Moment> again = moments(temp.resolve("again"), first.left, 1);
                for (int j = 0; j < again.size(); j++) {
                    check(TWICE, (i + 1) + " and " + (j + 1), first, again.get(j));
                    Directories.delete(again.get(j).left);
                }
            }
        }
        for (Moment moment : moments) {
            Directories.delete(moment.left);
        }
        return moments.size();
    }

    private List<Moment> moments(Path directory, Path start, int part) throws IOException {
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        List<Moment> moments = new ArrayList<>();
        if (start != null) {
            Directories.copy(start, directory);
        }
        Scenario scenario = new Scenario(directory, part, new Journal(said), (path, fillsSlot) -> {
            List<Event> events = Event.all(said.toByteArray());
            moments.add(new Moment(copy(directory, part, moments.size()), events));
            if (fillsSlot) {
                Path torn = copy(directory, part, moments.size());
                fillHalf(torn.resolve(directory.relativize(path)));
                moments.add(new Moment(torn, events));
            }
        });
        try {
            scenario.run();
        } catch (MmapQueueException | IllegalStateException e) {
            tally.failed(part == 0 ? ONCE : TWICE, "the scenario itself, after operation " + moments.size() + ": " + e);
        }
        moments.add(new Moment(copy(directory, part, moments.size()), Event.all(said.toByteArray())));
        Directories.delete(directory);
        return moments;
    }

    private Path copy(Path directory, int part, int number) {
        Path copy = temp.resolve("left-" + part + "-" + number);
        try {
            return Files.exists(directory) ? Directories.copy(directory, copy) : Files.createDirectories(copy);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What a kill in the middle of filling a slot leaves. */
    static void fillHalf(Path slot) {
        try (FileChannel channel = FileChannel.open(slot, StandardOpenOption.WRITE, StandardOpenOption.CREATE)) {
            channel.write(ByteBuffer.allocate(SEGMENT_SIZE / 2), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void check(String group, String where, Moment first, Moment second) throws InterruptedException {
        Moment last = second == null ? first : second;
        tally.add(group, Tally.Count.ROUNDS, 1);
        try {
            Model model = new Model(Scenario.plan());
            first.events.forEach(event -> model.apply(1, true, event));
            checkCopy(first.left, model);
            if (second != null) {
                second.events.forEach(event -> model.apply(2, true, event));
                checkCopy(second.left, model);
            }
        } catch (CrashError | MmapQueueException | IllegalStateException e) {
            tally.failed(
                    group,
                    "operation " + where + ", after "
                            + (last.events.isEmpty() ? "nothing" : last.events.get(last.events.size() - 1)) + ": " + e);
        }
    }

    private void checkCopy(Path left, Model model) throws InterruptedException {
        Path copy = temp.resolve("looked-at");
        try {
            Verifier.of(Scenario.plan(), Directories.copy(left, copy), model).checkCopy();
        } finally {
            if (Files.exists(copy)) {
                Directories.delete(copy);
            }
        }
    }
}
