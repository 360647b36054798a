package org.mmapqueue.recovery;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
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
     * Locks the queue and each consumer, also one that no process has owned, as in a copy without lock files: a process
     * that only reads could open it meanwhile. Makes missing lock files.
     *
     * @throws org.mmapqueue.errors.LockedException if a process writes the queue, or owns one of its consumers
     */
    public static Closeable all(Path directory) throws IOException {
        List<Closeable> held = new ArrayList<>();
        try {
            held.add(own(directory));
            Path consumers = directory.resolve(ConsumerPage.DIRECTORY);
            Map<String, Path> pages = Listing.inside(consumers, ConsumerPage.SUFFIX);
            Set<String> names = new TreeSet<>(pages.keySet());
            names.addAll(Listing.of(consumers, LOCK_SUFFIX).keySet());
            for (String name : names) {
                Path lock = consumers.resolve(name + LOCK_SUFFIX);
                held.add(ProcessLock.acquire(lock, "consumer " + name, modeOf(pages.get(name))));
            }
            return closing(held);
        } catch (Throwable e) {
            closing(held).close();
            throw e;
        }
    }

    // The permissions of a missing lock file: who may open the page may own the consumer.
    private static FileMode modeOf(Path page) throws IOException {
        boolean isThere = page != null && Files.isRegularFile(page, LinkOption.NOFOLLOW_LINKS);
        return isThere ? FileMode.like(page) : FileMode.PRIVATE;
    }

    private static Closeable closing(List<Closeable> held) {
        return () -> Closing.all(held.toArray(new Closeable[0]));
    }
}
