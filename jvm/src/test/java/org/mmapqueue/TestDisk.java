package org.mmapqueue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.SplittableRandom;
import org.mmapqueue.core.OpenQueues;
import org.mmapqueue.io.Storage;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.FailingFsyncs;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.PowerLossStorage;

/**
 * A disk that records which bytes were fsynced, and on which tests can make calls fail. Queues on it are opened, shared
 * and closed like any other, but run without their background threads.
 */
public final class TestDisk {
    private final FailingFsyncs fsyncs = new FailingFsyncs();
    private final PowerLossStorage platter = new PowerLossStorage(fsyncs);
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

    /** Of the calls that can fail so, the n-th one from now on does, once. */
    public void failOnce(int number, FaultyStorage.Fault fault) {
        storage.failOnce(number, fault);
    }

    /** The n-th fsync from now on fails while its thread is interrupted, once. */
    public void failFsync(int number) {
        fsyncs.failAfter(number, FailingFsyncs::interruptCaller);
    }

    /** Number of fsyncs that have failed so. */
    public int failedFsyncs() {
        return fsyncs.failures();
    }

    public void heal() {
        storage.heal();
        fsyncs.failAfter(-1, () -> {});
        storage.failOnce(-1, FaultyStorage.Fault.INPUT_OUTPUT);
    }

    /** Sets the boot of the machine, which is unknown otherwise. */
    public void machine(long boot) {
        storage.machine(boot);
    }

    /** Takes a directory as fsynced. */
    public void adopt(Path directory) {
        platter.adopt(directory);
    }

    /** Pushes payloads that change during the push: no public call takes records without fetching their places first. */
    public static void push(MmapQueue queue, Records changing) {
        queue.core().writer().push(changing);
    }

    /** Drops records beyond max_age, as the thread of an open queue does. */
    public static void dropAged(MmapQueue queue) {
        queue.core().writer().dropAged();
    }

    /** Copies what a power loss at this moment leaves; {@code percent} of the sectors not fsynced survive. */
    public Path lose(Path directory, Path result, SplittableRandom random, int percent) throws IOException {
        return platter.lose(directory, result, random, percent);
    }

    public static void delete(Path directory) {
        Directories.delete(directory);
    }
}
