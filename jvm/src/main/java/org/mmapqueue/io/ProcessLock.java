package org.mmapqueue.io;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.mmapqueue.errors.LockedException;

/**
 * An OS lock on a file: held by one process at a time, released by the kernel when that process dies. The file stores
 * the holder's pid, unless the disk is full.
 *
 * <p>Tokens in the system properties are taken before the OS lock: they exclude a second copy of these classes (another
 * class loader) in the same JVM. POSIX drops all of a process's locks on a file when any descriptor of it is closed, so
 * a process that holds the lock must not open the file again, by any name. So one token is for the path, and one
 * for the file itself, which a hard link or a bind mount does not change.
 */
public final class ProcessLock implements Closeable {
    private static final int PID_BYTES = 20;
    private static final String PREFIX = "mmapqueue.lock:";
    /** Stored in place of a pid by a process that holds the lock for a moment only, to clean up after a dead holder. */
    private static final long PASSING = 0;

    private static final long ROUND_NANOS = 1_000_000;
    /** About 30 s: on a busy machine the other process may not run for seconds. */
    private static final int MOST_ROUNDS = 30_000;
    /** Retries while a new holder overwrites the pid of a dead one. */
    private static final int ROUNDS_FOR_PID = 50;

    private final List<String> tokens;
    private final FileChannel channel;

    private ProcessLock(List<String> tokens, FileChannel channel) {
        this.tokens = tokens;
        this.channel = channel;
    }

    /**
     * Takes the lock. Waits for a process that holds it {@linkplain #tryForAMoment for a moment only}.
     *
     * @param file the lock file; created when missing, deleted only with the queue
     * @param what the name of the locked thing, for the error message
     * @param fileMode permissions of a new file
     * @throws LockedException when another process or class loader holds it; carries the holder's pid
     * @throws IOException when the file cannot be created or locked
     */
    public static ProcessLock acquire(Path file, String what, FileMode fileMode) throws IOException {
        boolean interrupted = false;
        try {
            for (int round = 1; ; round++) {
                try {
                    return tryAcquire(file, fileMode, ProcessHandle.current().pid());
                } catch (Replaced e) {
                    // The lock file was deleted with its queue while this thread waited: retry with the file that
                    // exists now.
                } catch (ClosedByInterruptException e) {
                    // The interrupt closed the channel, which released the lock: retry, and keep the interrupt
                    // pending.
                    interrupted |= Thread.interrupted();
                } catch (Held e) {
                    if (round == MOST_ROUNDS || e.pid != PASSING && (isAlive(e.pid) || round >= ROUNDS_FOR_PID)) {
                        throw e.toLocked(what);
                    }
                    Threads.pause(ROUND_NANOS);
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Takes the lock for a moment, if it is free. A concurrent {@link #acquire} waits instead of throwing.
     *
     * @param file the lock file; created when missing, deleted only with the queue
     * @param fileMode permissions of a new file
     * @return null when the lock is held
     * @throws IOException when the file cannot be created or locked
     */
    public static ProcessLock tryForAMoment(Path file, FileMode fileMode) throws IOException {
        try {
            return tryAcquire(file, fileMode, PASSING);
        } catch (Held | Replaced e) {
            return null;
        }
    }

    private static ProcessLock tryAcquire(Path file, FileMode fileMode, long holder)
            throws IOException, Held, Replaced {
        List<String> tokens = new ArrayList<>();
        boolean held = false;
        FileChannel channel = null;
        Object key;
        try {
            // One thread at a time, across all copies of these classes: creating the file opens and closes it.
            synchronized (PREFIX.intern()) {
                take(file.toAbsolutePath().getParent().toRealPath().resolve(file.getFileName()), holder, tokens);
                makeIfMissing(file, fileMode);
                key = RegularFile.check(file).fileKey();
                if (key != null) {
                    take(key, holder, tokens);
                }
            }
            channel = FileChannel.open(
                    file, StandardOpenOption.READ, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
            FileLock lock = channel.tryLock();
            if (lock == null) {
                throw new Held(readPid(channel), false);
            }
            if (!isStill(file, key)) {
                throw new Replaced();
            }
            writePid(channel, holder);
            held = true;
            return new ProcessLock(tokens, channel);
        } finally {
            if (!held) {
                release(tokens, channel);
            }
        }
    }

    private static Object keyOf(Path file) throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                .fileKey();
    }

    // Whether the locked file still has its name. The lock of a deleted file excludes no other process.
    private static boolean isStill(Path file, Object key) throws IOException {
        try {
            return Objects.equals(key, keyOf(file));
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    private static void take(Object name, long holder, List<String> tokens) throws Held {
        String token = PREFIX + name;
        Object other = System.getProperties().putIfAbsent(token, Long.toString(holder));
        if (other != null) {
            throw new Held(
                    other.equals(Long.toString(PASSING))
                            ? PASSING
                            : ProcessHandle.current().pid(),
                    true);
        }
        tokens.add(token);
    }

    // The pid is written after locking, so the file may still hold the previous holder's.
    private static boolean isAlive(long pid) {
        return pid > 0 && ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false);
    }

    /** The file was deleted before it was locked. */
    private static final class Replaced extends Exception {
        private static final long serialVersionUID = 1;

        Replaced() {
            super(null, null, false, false);
        }
    }

    private static final class Held extends Exception {
        private static final long serialVersionUID = 1;

        private final long pid;
        private final boolean isHere;

        Held(long pid, boolean isHere) {
            super(null, null, false, false);
            this.pid = pid;
            this.isHere = isHere;
        }

        LockedException toLocked(String what) {
            if (isHere) {
                long self = ProcessHandle.current().pid();
                return new LockedException(
                        what + " is held by this process, pid " + self
                                + ", through another handle or another copy of the classes",
                        self);
            }
            boolean isKnown = isAlive(pid);
            return new LockedException(
                    what + " is held by process " + (isKnown ? pid : "(unknown pid)"), isKnown ? pid : -1);
        }
    }

    private static void makeIfMissing(Path file, FileMode fileMode) throws IOException {
        try {
            Files.createFile(file, fileMode.ofNewFile());
            fileMode.setOnFile(file);
        } catch (FileAlreadyExistsException e) {
            // It exists, and keeps its permissions.
        }
    }

    // Locking itself needs no disk space: a process that empties a queue on a full disk must get the lock.
    private static void writePid(FileChannel channel, long pid) throws ClosedByInterruptException {
        // Of fixed width, so that it overwrites a longer pid without truncation.
        String text = String.format("%-" + (PID_BYTES - 1) + "d\n", pid);
        try {
            channel.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII)), 0);
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            // The disk is full: the lock is held, without a pid in its file.
        }
    }

    private static long readPid(FileChannel channel) throws IOException {
        ByteBuffer text = ByteBuffer.allocate(PID_BYTES);
        channel.read(text, 0);
        try {
            return Long.parseLong(new String(text.array(), 0, text.position(), StandardCharsets.US_ASCII).trim());
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    @Override
    public void close() throws IOException {
        release(tokens, channel);
    }

    // One step for all threads that create a lock file: a new file may get the inode of a deleted one once that is
    // closed.
    private static void release(List<String> tokens, FileChannel channel) throws IOException {
        synchronized (PREFIX.intern()) {
            try {
                if (channel != null) {
                    channel.close();
                }
            } finally {
                tokens.forEach(System.getProperties()::remove);
            }
        }
    }
}
