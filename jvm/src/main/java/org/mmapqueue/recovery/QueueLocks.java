package org.mmapqueue.recovery;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.FileMode;
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
        List<Closeable> held = new ArrayList<>();
        Path lock = directory.resolve(QueueDirectory.LOCK_FILE);
        if (Files.exists(lock)) {
            held.add(ProcessLock.acquire(lock, "the queue in " + directory, FileMode.PRIVATE));
        }
        return closing(held);
    }

    /**
     * Locks the queue, and each consumer that has a lock file because a process has owned it.
     *
     * @throws org.mmapqueue.errors.LockedException if a process writes the queue, or owns one of its consumers
     */
    public static Closeable all(Path directory) throws IOException {
        List<Closeable> held = new ArrayList<>();
        boolean done = false;
        try {
            held.add(ProcessLock.acquire(
                    directory.resolve(QueueDirectory.LOCK_FILE), "the queue in " + directory, FileMode.PRIVATE));
            Path consumers = directory.resolve(ConsumerPage.DIRECTORY);
            if (Files.isDirectory(consumers)) {
                try (Stream<Path> files = Files.list(consumers)) {
                    for (Path each : files.filter(file -> file.toString().endsWith(LOCK_SUFFIX))
                            .toList()) {
                        String name = each.getFileName().toString();
                        held.add(ProcessLock.acquire(
                                each,
                                "consumer " + name.substring(0, name.length() - LOCK_SUFFIX.length()),
                                FileMode.PRIVATE));
                    }
                }
            }
            done = true;
            return closing(held);
        } finally {
            if (!done) {
                closing(held).close();
            }
        }
    }

    private static Closeable closing(List<Closeable> held) {
        return () -> Closing.all(held.toArray(new Closeable[0]));
    }
}
