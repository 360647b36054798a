package org.mmapqueue.io;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.errors.LockedException;

/** What one process sees of its locks; the others' view is in the tests of the queue. */
@Timeout(60)
class ProcessLockTest {
    @TempDir
    Path temp;

    private Path file() {
        return temp.resolve("lock");
    }

    @Test
    void itIsHeldUntilItIsClosed() throws IOException {
        for (int i = 0; i < 3; i++) {
            try (ProcessLock lock = ProcessLock.acquire(file(), "the thing", FileMode.PRIVATE)) {
                LockedException refused = assertThrows(
                        LockedException.class, () -> ProcessLock.acquire(file(), "the thing", FileMode.PRIVATE));
                assertEquals(ProcessHandle.current().pid(), refused.pid());
                assertTrue(refused.getMessage().startsWith("the thing is held by this process"), refused.getMessage());
                assertTrue(lock != null);
            }
        }
    }

    @Test
    void theFileNamesThePidAndNothingElse() throws IOException {
        Files.writeString(file(), "99999999999999999999\n");
        try (ProcessLock lock = ProcessLock.acquire(file(), "the thing", FileMode.PRIVATE)) {
            assertTrue(lock != null);
            String text = Files.readString(file());
            assertEquals(Long.toString(ProcessHandle.current().pid()), text.trim());
        }
        assertTrue(Files.exists(file()));
    }

    @Test
    void oneFileByTwoNamesIsOneLock() throws IOException {
        Path other = Files.createSymbolicLink(temp.resolveSibling(temp.getFileName() + "-link"), temp);
        try (ProcessLock lock = ProcessLock.acquire(file(), "the thing", FileMode.PRIVATE)) {
            assertTrue(lock != null);
            assertThrows(
                    LockedException.class,
                    () -> ProcessLock.acquire(other.resolve("lock"), "the thing", FileMode.PRIVATE));
        } finally {
            Files.delete(other);
        }
    }

    @Test
    void whatCanNotBeMadeIsNotHeld() throws IOException {
        Path deep = temp.resolve("a").resolve("lock");
        assertThrows(NoSuchFileException.class, () -> ProcessLock.acquire(deep, "the thing", FileMode.PRIVATE));
        Files.createDirectories(deep);
        assertThrows(IOException.class, () -> ProcessLock.acquire(deep, "the thing", FileMode.PRIVATE));
        Files.delete(deep);
        ProcessLock.acquire(deep, "the thing", FileMode.PRIVATE).close();
    }

    /** In another process, which may not make any file longer than 0 bytes: to the JDK as good as a full disk. */
    @Test
    void itIsHeldAlsoWhereThereIsNoRoomForThePid() throws IOException, InterruptedException {
        Process holder = new ProcessBuilder(
                        "sh",
                        "-c",
                        "ulimit -f 0 && exec \"$0\" \"$@\"",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:-UsePerfData",
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Holder.class.getName(),
                        file().toString())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try (BufferedReader output = holder.inputReader(StandardCharsets.US_ASCII)) {
            assertEquals("held", output.readLine());
            assertEquals(0, Files.size(file()));
            LockedException refused = assertThrows(
                    LockedException.class, () -> ProcessLock.acquire(file(), "the thing", FileMode.PRIVATE));
            assertEquals(-1, refused.pid());
            assertTrue(refused.getMessage().contains("unknown pid"), refused.getMessage());
        } finally {
            holder.destroyForcibly().waitFor();
        }
        ProcessLock.acquire(file(), "the thing", FileMode.PRIVATE).close();
    }

    /** Holds a lock until it is killed. */
    static final class Holder {
        private Holder() {}

        /** Argument: the lock file. */
        public static void main(String[] arguments) throws IOException {
            ProcessLock lock = ProcessLock.acquire(Path.of(arguments[0]), "the thing", FileMode.PRIVATE);
            System.out.println("held");
            while (System.in.read() >= 0) {
                continue;
            }
            lock.close();
        }
    }

    @Test
    void interruptsWhileItIsTaken() throws InterruptedException {
        AtomicReference<Throwable> failure = new AtomicReference<>();
        AtomicBoolean stop = new AtomicBoolean();
        Thread locking = new Thread(() -> {
            try {
                while (!stop.get()) {
                    new FileOutputStream(file().toFile()).close(); // empty once more, and no channel to be interrupted
                    ProcessLock.acquire(file(), "the thing", FileMode.PRIVATE).close();
                    assertTrue(file().toFile().length() > 0, "an interrupted write of the pid has closed the lock");
                }
            } catch (IOException | RuntimeException | AssertionError e) {
                failure.set(e);
            }
        });
        locking.start();
        // With a pause after each: without one, no attempt might ever end.
        for (int i = 0; i < 300; i++) {
            locking.interrupt();
            Thread.sleep(1);
        }
        stop.set(true);
        locking.join();
        if (failure.get() != null) {
            throw new AssertionError(failure.get());
        }
    }

    /** A lock for a moment makes no other process fail. */
    @Test
    void whoHasItForAMomentIsWaitedFor() throws Exception {
        for (int i = 0; i < 20; i++) {
            ProcessLock passing = ProcessLock.tryForAMoment(file(), FileMode.PRIVATE);
            AtomicReference<Throwable> failure = new AtomicReference<>();
            Thread taking = new Thread(() -> {
                try (ProcessLock lock = ProcessLock.acquire(file(), "the thing", FileMode.PRIVATE)) {
                    assertTrue(lock != null);
                    assertEquals(
                            Long.toString(ProcessHandle.current().pid()),
                            Files.readString(file()).trim());
                } catch (IOException | RuntimeException | AssertionError e) {
                    failure.set(e);
                }
            });
            taking.start();
            while (taking.isAlive() && taking.getState() != Thread.State.TIMED_WAITING) {
                Thread.onSpinWait();
            }
            assertTrue(passing != null);
            passing.close();
            taking.join();
            if (failure.get() != null) {
                throw new AssertionError(failure.get());
            }
        }
    }

    @Test
    void aMomentIsNotHadWhileSomebodyHasIt() throws IOException {
        try (ProcessLock lock = ProcessLock.acquire(file(), "the thing", FileMode.PRIVATE)) {
            assertTrue(lock != null);
            assertNull(ProcessLock.tryForAMoment(file(), FileMode.PRIVATE));
            assertEquals(
                    Long.toString(ProcessHandle.current().pid()),
                    Files.readString(file()).trim());
        }
        try (ProcessLock lock = ProcessLock.tryForAMoment(file(), FileMode.PRIVATE)) {
            assertTrue(lock != null);
        }
    }
}
