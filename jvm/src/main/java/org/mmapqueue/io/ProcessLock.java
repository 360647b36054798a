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

import org.mmapqueue.errors.LockedException;

/**
 * An OS lock on a file: held by one process at a time, let go by the kernel when that process dies. The file names the
 * holder's pid for people.
 *
 * <p>Tokens in the system properties stand before the OS lock: they see a second copy of these classes (another class
 * loader) in the same JVM. POSIX drops all of a process's locks on a file when any descriptor of it is closed, so the
 * file must not even be opened by a process that holds it, by whatever name: one token is for the path, and one for the
 * file itself, which a hard link and a bind mount do not change.
 */
public final class ProcessLock implements Closeable {
    private static final int PID_BYTES = 20;
    private static final String PREFIX = "mmapqueue.lock:";

    private final List<String> tokens;
    private final FileChannel channel;

    private ProcessLock(List<String> tokens, FileChannel channel) {
        this.tokens = tokens;
        this.channel = channel;
    }

    /**
     * Takes the lock, or says who has it.
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
            while (true) {
                try {
                    return tryAcquire(file, what, fileMode);
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

    private static ProcessLock tryAcquire(Path file, String what, FileMode fileMode) throws IOException {
        List<String> tokens = new ArrayList<>();
        boolean held = false;
        FileChannel channel = null;
        try {
            // One thread at a time, of all copies of these classes: whoever makes the file closes it once.
            synchronized (PREFIX.intern()) {
                take(file.toAbsolutePath().getParent().toRealPath().resolve(file.getFileName()), what, tokens);
                makeIfMissing(file, fileMode);
                Object key = Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS).fileKey();
                if (key != null) {
                    take(key, what, tokens);
                }
            }
            channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE,
                    LinkOption.NOFOLLOW_LINKS);
            FileLock lock = channel.tryLock();
            if (lock == null) {
                long pid = readPid(channel);
                throw new LockedException(what + " is held by process "
                        + (pid < 0 ? "(unknown pid)" : pid), pid);
            }
            writePid(channel, ProcessHandle.current().pid());
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

    private static void take(Object name, String what, List<String> tokens) {
        String token = PREFIX + name;
        long self = ProcessHandle.current().pid();
        if (System.getProperties().putIfAbsent(token, Long.toString(self)) != null) {
            throw new LockedException(what + " is held by this process, pid " + self
                    + ", through another handle or another copy of the classes", self);
        }
        tokens.add(token);
    }

    private static void makeIfMissing(Path file, FileMode fileMode) throws IOException {
        try {
            Files.createFile(file, fileMode.ofNewFile());
            fileMode.setOnFile(file);
        } catch (FileAlreadyExistsException e) {
            // It keeps the rights that it has.
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
            tokens.forEach(System.getProperties()::remove);
        }
    }
}
