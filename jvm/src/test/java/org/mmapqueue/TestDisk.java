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
 * A disk that records which bytes were fsynced, and on which tests can make calls fail. Queues on it are opened, shared
 * and closed like any other, but run without their background threads.
 */
public final class TestDisk {
    private final PowerLossStorage platter = new PowerLossStorage();
    private final FaultyStorage storage = new FaultyStorage(platter);

    /** Called for each call that may change the disk, in the thread that makes it; returns whether the call fails. */
    @FunctionalInterface
    public interface Watcher {
        boolean fails(boolean isSync, Path path);
    }

    public Storage storage() {
        return storage;
    }

    /** Opens a queue on this disk. */
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

    /** Copies what a power loss at this moment leaves; {@code percent} of the sectors not fsynced survive. */
    public Path lose(Path directory, Path result, SplittableRandom random, int percent) throws IOException {
        return platter.lose(directory, result, random, percent);
    }

    public static void delete(Path directory) {
        Directories.delete(directory);
    }
}
