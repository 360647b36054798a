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
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.mmapqueue.errors.LockedException;

/**
 * An OS lock on a file: held by one process at a time, let go by the kernel when that process dies. The file names the
 * holder's pid for people, unless the disk is too full for that.
 *
 * <p>Tokens in the system properties stand before the OS lock: they see a second copy of these classes (another class
 * loader) in the same JVM. POSIX drops all of a process's locks on a file when any descriptor of it is closed, so the
 * file must not even be opened by a process that holds it, by whatever name: one token is for the path, and one for the
 * file itself, which a hard link and a bind mount do not change.
 */
public final class ProcessLock implements Closeable {
    private static final int PID_BYTES = 20;
    private static final String PREFIX = "mmapqueue.lock:";
    /** Stands for the pid of one that has the lock for a moment only, to look after what a dead holder has left. */
    private static final long PASSING = 0;

    private static final long ROUND_NANOS = 1_000_000;
    private static final int MOST_ROUNDS = 2_000;
    /** How long a holder may take to write its pid over that of the one before it, which has died. */
    private static final int ROUNDS_FOR_PID = 50;

    private final List<String> tokens;
    private final FileChannel channel;

    private ProcessLock(List<String> tokens, FileChannel channel) {
        this.tokens = tokens;
        this.channel = channel;
    }

    /**
     * Takes the lock, or says who has it. Waits for one that has it {@linkplain #tryForAMoment for a moment only}.
     *
     * @param file the lock file; made when it is not there, never deleted
     * @param what what the lock is for, for the error's text
     * @param fileMode who may read and write a file that is made
     * @throws LockedException when another process or class loader holds it
     * @throws IOException when the file can not be made or locked
     */
    public static ProcessLock acquire(Path file, String what, FileMode fileMode) throws IOException {
        boolean interrupted = false;
        try {
            for (int round = 1; ; round++) {
                try {
                    return tryAcquire(file, fileMode, ProcessHandle.current().pid());
                } catch (ClosedByInterruptException e) {
                    // The channel is closed, and the lock with it: once more, and the interrupt is kept for later.
                    interrupted |= Thread.interrupted();
                } catch (Held e) {
                    if (round == MOST_ROUNDS || e.pid != PASSING && (isAlive(e.pid) || round >= ROUNDS_FOR_PID)) {
                        throw e.toLocked(what);
                    }
                    LockSupport.parkNanos(ROUND_NANOS);
                    interrupted |= Thread.interrupted(); // or the rounds would be no rounds
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Takes the lock for a moment, if it is free. Whoever wants to have it meanwhile waits, and is not refused.
     *
     * @param file the lock file; made when it is not there, never deleted
     * @param fileMode who may read and write a file that is made
     * @return null when somebody has it
     * @throws IOException when the file can not be made or locked
     */
    public static ProcessLock tryForAMoment(Path file, FileMode fileMode) throws IOException {
        try {
            return tryAcquire(file, fileMode, PASSING);
        } catch (Held e) {
            return null;
        }
    }

    private static ProcessLock tryAcquire(Path file, FileMode fileMode, long holder) throws IOException, Held {
        List<String> tokens = new ArrayList<>();
        boolean held = false;
        FileChannel channel = null;
        try {
            // One thread at a time, of all copies of these classes: whoever makes the file closes it once.
            synchronized (PREFIX.intern()) {
                take(file.toAbsolutePath().getParent().toRealPath().resolve(file.getFileName()), holder, tokens);
                makeIfMissing(file, fileMode);
                Object key = Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                        .fileKey();
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
            writePid(channel, holder);
            held = true;
            return new ProcessLock(tokens, channel);
        } finally {
            if (!held) {
                if (channel != null) {
                    channel.close();
                }
                tokens.forEach(System.getProperties()::remove);
            }
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

    // The pid is written behind the lock's back: that of the one before it may stand there still.
    private static boolean isAlive(long pid) {
        return pid > 0 && ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false);
    }

    /** Somebody has the lock. */
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
            // It keeps the rights that it has.
        }
    }

    // The lock itself takes no room: whoever empties a queue on a full disk must get it.
    private static void writePid(FileChannel channel, long pid) throws ClosedByInterruptException {
        // Of fixed width: a shorter pid over a longer one leaves no digits behind, and no truncation is needed.
        String text = String.format("%-" + (PID_BYTES - 1) + "d\n", pid);
        try {
            channel.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII)), 0);
        } catch (ClosedByInterruptException e) {
            throw e;
        } catch (IOException e) {
            // On a full disk: the lock is held, and its file does not say by whom.
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

    /** Lets go. */
    @Override
    public void close() throws IOException {
        try {
            channel.close();
        } finally {
            tokens.forEach(System.getProperties()::remove);
        }
    }
}
