package org.mmapqueue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.SplittableRandom;
import org.mmapqueue.core.OpenQueues;
import org.mmapqueue.io.Storage;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.PowerLossStorage;

/**
 * A disk that knows what has been fsynced to it and whose calls can be made to fail, with queues on it that are opened,
 * shared and closed as any other: for tests of what is built on queues. Threads of these queues do not run.
 */
public final class TestDisk {
    private final PowerLossStorage platter = new PowerLossStorage();
    private final FaultyStorage storage = new FaultyStorage(platter);

    /** Told of each call that may change something, in whichever thread makes it; returns whether it is to fail. */
    @FunctionalInterface
    public interface Watcher {
        boolean fails(boolean isSync, Path path);
    }

    public Storage storage() {
        return storage;
    }

    /** A handle of a queue on this disk. */
    public MmapQueue open(QueueConfig config) {
        return new MmapQueue(OpenQueues.acquire(config.values(), storage), false);
    }

    public void watch(Watcher watcher) {
        storage.failWhen((call, path) -> call != FaultyStorage.Call.SIZE
                && call != FaultyStorage.Call.READ
                && call != FaultyStorage.Call.MAP
                && watcher.fails(call == FaultyStorage.Call.SYNC, path));
    }

    public void heal() {
        storage.heal();
    }

    /** What a loss of power leaves now; the percentage of sectors that were not fsynced survives. */
    public Path lose(Path directory, Path result, SplittableRandom random, int percent) throws IOException {
        return platter.lose(directory, result, random, percent);
    }

    public static void delete(Path directory) {
        Directories.delete(directory);
    }
}
