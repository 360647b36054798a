package org.mmapqueue.io;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

import org.mmapqueue.errors.LockedException;

/**
 * An OS lock on a file: held by one process at a time, let go by the kernel when that process dies. The file names the
 * holder's pid for people.
 *
 * <p>A token in the system properties stands before the OS lock: it sees a second copy of these classes (another class
 * loader) in the same JVM. POSIX drops all of a process's locks on a file when any descriptor of it is closed, so the
 * file must not even be opened by a process that holds it.
 */
public final class ProcessLock implements Closeable {
    private static final int PID_BYTES = 20;

    private final String token;
    private final FileChannel channel;

    private ProcessLock(String token, FileChannel channel) {
        this.token = token;
        this.channel = channel;
    }

    /**
     * Takes the lock, or says who has it.
     *
     * @param file the lock file; made when it is not there, never deleted
     * @param what what the lock is for, for the error's text
     * @throws LockedException when another process or class loader holds it
     * @throws IOException when the file can not be made or locked
     */
    public static ProcessLock acquire(Path file, String what) throws IOException {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return tryAcquire(file, what);
                } catch (ClosedByInterruptException e) {
                    // The channel is closed, and the lock with it: once more, and the interrupt is kept for later.
                    interrupted |= Thread.interrupted();
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static ProcessLock tryAcquire(Path file, String what) throws IOException {
        String token = "mmapqueue.lock:" + file.toAbsolutePath().getParent().toRealPath().resolve(file.getFileName());
        long self = ProcessHandle.current().pid();
        if (System.getProperties().putIfAbsent(token, Long.toString(self)) != null) {
            throw new LockedException(what + " is held by this process, pid " + self
                    + ", through another handle or another copy of the classes", self);
        }
        boolean held = false;
        FileChannel channel = null;
        try {
            channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ,
                    StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
            FileLock lock = channel.tryLock();
            if (lock == null) {
                long pid = readPid(channel);
                throw new LockedException(what + " is held by process "
                        + (pid < 0 ? "(unknown pid)" : pid), pid);
            }
            writePid(channel, self);
            held = true;
            return new ProcessLock(token, channel);
        } finally {
            if (!held) {
                System.getProperties().remove(token);
                if (channel != null) {
                    channel.close();
                }
            }
        }
    }

    private static void writePid(FileChannel channel, long pid) throws IOException {
        // Of fixed width: a shorter pid over a longer one leaves no digits behind, and no truncation is needed.
        String text = String.format("%-" + (PID_BYTES - 1) + "d\n", pid);
        channel.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII)), 0);
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
            System.getProperties().remove(token);
        }
    }
}
