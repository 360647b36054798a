package org.mmapqueue.recovery;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.io.Listing;
import org.mmapqueue.io.ProcessLock;
import org.mmapqueue.meta.ConsumerPage;

/** Takes the locks of a queue that no process may have open. Has no state. */
public final class QueueLocks {
    private static final String LOCK_SUFFIX = ".lock";

    private QueueLocks() {}

    /**
     * Locks the queue if it has a lock file; without one, no process has ever opened the queue for writing.
     *
     * @throws org.mmapqueue.errors.LockedException if a process writes the queue
     */
    public static Closeable writer(Path directory) throws IOException {
        return Files.exists(directory.resolve(QueueDirectory.LOCK_FILE)) ? own(directory) : () -> {};
    }

    private static Closeable own(Path directory) throws IOException {
        Path lock = directory.resolve(QueueDirectory.LOCK_FILE);
        return ProcessLock.acquire(lock, "the queue in " + directory, FileMode.PRIVATE);
    }

    /**
     * Locks the queue, and each consumer that has a lock file because a process has owned it.
     *
     * @throws org.mmapqueue.errors.LockedException if a process writes the queue, or owns one of its consumers
     */
    public static Closeable all(Path directory) throws IOException {
        List<Closeable> held = new ArrayList<>();
        try {
            held.add(own(directory));
            Map<String, Path> consumers = Listing.inside(directory.resolve(ConsumerPage.DIRECTORY), LOCK_SUFFIX);
            for (Map.Entry<String, Path> each : consumers.entrySet()) {
                held.add(ProcessLock.acquire(each.getValue(), "consumer " + each.getKey(), FileMode.PRIVATE));
            }
            return closing(held);
        } catch (Throwable e) {
            closing(held).close();
            throw e;
        }
    }

    private static Closeable closing(List<Closeable> held) {
        return () -> Closing.all(held.toArray(new Closeable[0]));
    }
}
