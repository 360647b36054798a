package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.lang.ProcessBuilder.Redirect;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.ChildJvm;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.QuickDirectory;

/** One process writes a directory; one process owns a consumer. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("slow")
class LockTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    static QueueConfig config(Path directory) {
        return QueueConfig.builder(directory)
                .segmentSize(4096)
                .queueCapacitySegments(8)
                .maxInMemSegments(6)
                .maxEventSize(2000)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    private Path directory() {
        return temp.resolve("queue");
    }

    private static long self() {
        return ProcessHandle.current().pid();
    }

    private void assertLocked(long pid) {
        LockedException locked = assertThrows(LockedException.class, () -> MmapQueue.open(config(directory())));
        assertEquals(pid, locked.pid());
        assertTrue(locked.getMessage().contains(Long.toString(pid)), locked.getMessage());
        assertTrue(locked.getMessage().contains(directory().toString()), locked.getMessage());
    }

    @Test
    void aLockOfAnotherProcessThrowsWithItsPid() throws Exception {
        try (ChildJvm child = new ChildJvm(HolderChild.class, directory())) {
            child.expect("holding");
            assertLocked(child.pid());
            assertLocked(child.pid());
            child.say("end");
            child.expect("closed");
            assertEquals(0, child.exitCode());
        }
        try (MmapQueue queue = MmapQueue.open(config(directory()))) {
            assertEquals(1, queue.endOffset());
            assertEquals(1, queue.stats().epoch());
        }
    }

    @Test
    void theLockOfAKilledProcessIsFree() throws Exception {
        try (ChildJvm child = new ChildJvm(HolderChild.class, directory())) {
            child.expect("holding");
            assertLocked(child.pid());
            child.kill();
        }
        assertTrue(Files.exists(directory().resolve("lock")));
        try (MmapQueue queue = MmapQueue.open(config(directory()))) {
            assertEquals(
                    "from another process", new String(queue.consumer().pop().data(), StandardCharsets.UTF_8));
        }
    }

    @Test
    void anotherProcessCannotTakeTheLockOfThisOne() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config(directory()))) {
            try (ChildJvm child = new ChildJvm(HolderChild.class, directory())) {
                assertEquals(null, child.line());
                assertEquals(1, child.exitCode());
            }
            queue.push(new byte[1]);
            assertEquals(1, queue.endOffset());
        }
        try (ChildJvm child = new ChildJvm(HolderChild.class, directory())) {
            child.expect("holding");
        }
    }

    /** Closing another descriptor of a file releases POSIX locks; failed opens of this process must not. */
    @Test
    void failedOpensDoNotReleaseTheLock() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config(directory()))) {
            MmapQueue.open(config(directory())).close();
            try (URLClassLoader other = otherClasses()) {
                openIn(other);
            } catch (InvocationTargetException e) {
                assertEquals("LockedException", e.getCause().getClass().getSimpleName());
            }
            queue.consumer("one", StartAt.EARLIEST);
            queue.flush();
            try (ChildJvm child = new ChildJvm(HolderChild.class, directory())) {
                assertEquals(null, child.line());
            }
        }
    }

    /** A second copy of the library's classes, as another application in this JVM has them. */
    private static URLClassLoader otherClasses() throws Exception {
        List<URL> urls = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            urls.add(Path.of(entry).toUri().toURL());
        }
        return new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
    }

    private AutoCloseable openIn(ClassLoader classes) throws Exception {
        Class<?> config = classes.loadClass(QueueConfig.class.getName());
        assertFalse(config == QueueConfig.class);
        Method of = config.getMethod("of", Map.class);
        Method open = classes.loadClass(MmapQueue.class.getName()).getMethod("open", config);
        return (AutoCloseable)
                open.invoke(null, of.invoke(null, config(directory()).asMap()));
    }

    @Test
    void aSecondCopyOfTheClassesThrowsWithThisPid() throws Exception {
        try (URLClassLoader other = otherClasses()) {
            AutoCloseable held = openIn(other);
            assertLocked(self());
            held.close();
            MmapQueue queue = MmapQueue.open(config(directory()));
            InvocationTargetException thrown = assertThrows(InvocationTargetException.class, () -> openIn(other));
            assertEquals(
                    LockedException.class.getName(),
                    thrown.getCause().getClass().getName());
            assertEquals(self(), thrown.getCause().getClass().getMethod("pid").invoke(thrown.getCause()));
            queue.close();
            openIn(other).close();
        }
    }

    /** The pid is written after the lock is taken; until then the file has that of the former holder. */
    @Test
    void thePidOfADeadProcessIsNotReported() throws Exception {
        long dead;
        try (ChildJvm child = new ChildJvm(HolderChild.class, temp.resolve("other"))) {
            child.expect("holding");
            dead = child.pid();
            child.kill();
        }
        try (ChildJvm child = new ChildJvm(HolderChild.class, directory())) {
            child.expect("holding");
            Path file = directory().resolve("lock");
            Files.writeString(file, String.format("%-19d%n", dead));
            LockedException locked = assertThrows(LockedException.class, () -> MmapQueue.open(config(directory())));
            assertEquals(-1, locked.pid());
            assertTrue(locked.getMessage().contains("(unknown pid)"), locked.getMessage());
            Files.writeString(file, String.format("%-19d%n", child.pid()));
            assertLocked(child.pid());
        }
    }

    /** The thread runs already, so its start fails as it does without memory. */
    @Test
    void aFailedThreadStartReleasesTheLock() {
        QueueCore core = Cores.open(config(directory()), DiskStorage.INSTANCE);
        core.writer().housekeeper().start();
        assertThrows(IllegalThreadStateException.class, core::started);
        MmapQueue.open(config(directory())).close();
    }

    @Test
    void aConsumerIsOwnedByOneProcess() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config(directory()))) {
            queue.createConsumer("theirs", StartAt.EARLIEST);
            queue.push(new byte[5]);
            try (ChildJvm child = new ChildJvm(HolderChild.class, directory(), "theirs")) {
                child.expect("holding");
                LockedException locked =
                        assertThrows(LockedException.class, () -> queue.consumer("theirs", StartAt.EARLIEST));
                assertEquals(child.pid(), locked.pid());
                assertTrue(locked.getMessage().contains("theirs"), locked.getMessage());
                child.kill();
            }
            Consumer consumer = queue.consumer("theirs", StartAt.EARLIEST);
            assertSame(5, consumer.pop().data().length);
            try (ChildJvm child = new ChildJvm(HolderChild.class, directory(), "theirs")) {
                assertEquals(null, child.line());
            }
        }
    }

    @Test
    void theDefaultConsumerMayBeOwnedByAReader() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config(directory()))) {
            try (ChildJvm child = new ChildJvm(HolderChild.class, directory(), "default")) {
                child.expect("holding");
                queue.push(new byte[1]);
                LockedException locked = assertThrows(
                        LockedException.class, () -> queue.consumer().pop());
                assertEquals(child.pid(), locked.pid());
            }
        }
    }

    @Test
    void aFailedLockIsNotLeftHeld() throws Exception {
        Files.createDirectory(directory());
        Files.createSymbolicLink(directory().resolve("lock"), temp.resolve("elsewhere"));
        assertThrows(MmapQueueException.class, () -> MmapQueue.open(config(directory())));
        Files.delete(directory().resolve("lock"));
        MmapQueue.open(config(directory())).close();
    }

    /** The file must not be opened by its other name: closing it would release the lock of this process. */
    private void assertHeldAlsoBy(Path other) throws Exception {
        LockedException locked = assertThrows(LockedException.class, () -> MmapQueue.open(config(other)));
        assertEquals(self(), locked.pid());
        try (ChildJvm child = new ChildJvm(HolderChild.class, directory())) {
            assertEquals(null, child.line(), "the lock is still held");
        }
    }

    @Test
    void aHardLinkedLockFileIsTheSameLock() throws Exception {
        Path other = Files.createDirectory(temp.resolve("other"));
        try (MmapQueue queue = MmapQueue.open(config(directory()))) {
            Files.createLink(other.resolve("lock"), directory().resolve("lock"));
            assertHeldAlsoBy(other);
            queue.push(new byte[1]);
        }
        MmapQueue.open(config(other)).close();
    }

    @Test
    void anotherProcessIsLockedOutOverASymbolicLinkToo() throws Exception {
        Path link = Files.createSymbolicLink(temp.resolve("link"), directory());
        try (MmapQueue queue = MmapQueue.open(config(directory()))) {
            try (ChildJvm child = new ChildJvm(HolderChild.class, link)) {
                assertEquals(null, child.line());
                assertEquals(1, child.exitCode());
            }
            queue.push(new byte[1]);
        }
    }

    @Test
    void aSecondCopyOfTheClassesIsLockedOutOverASymbolicLinkToo() throws Exception {
        Path link = Files.createSymbolicLink(temp.resolve("link"), directory());
        try (URLClassLoader other = otherClasses()) {
            AutoCloseable held = openIn(other);
            LockedException locked = assertThrows(LockedException.class, () -> MmapQueue.open(config(link)));
            assertEquals(self(), locked.pid());
            held.close();
        }
    }

    @Test
    void aBindMountIsTheSameDirectory() throws Exception {
        Path other = Files.createDirectory(temp.resolve("bound"));
        try (MmapQueue queue = MmapQueue.open(config(directory()))) {
            assumeTrue(
                    exitCode("mount", "--bind", directory().toString(), other.toString()) == 0, "only root may mount");
            try {
                assertHeldAlsoBy(other);
                try (ChildJvm child = new ChildJvm(HolderChild.class, other)) {
                    assertEquals(null, child.line());
                }
            } finally {
                assertEquals(0, exitCode("umount", "--lazy", other.toString())); // mappings are collected later
            }
            queue.push(new byte[1]);
        }
    }

    @Test
    void aReadOnlyFileSystemThrows() throws Exception {
        MmapQueue.open(config(directory())).close();
        Path other = Files.createDirectory(temp.resolve("bound"));
        assumeTrue(exitCode("mount", "--bind", directory().toString(), other.toString()) == 0, "only root may mount");
        try {
            assertEquals(0, exitCode("mount", "-o", "remount,ro,bind", other.toString()));
            MmapQueueException thrown = assertThrows(MmapQueueException.class, () -> MmapQueue.open(config(other)));
            assertTrue(thrown.getMessage().contains(other.toString()), thrown.getMessage());
            assertTrue(thrown.getMessage().contains("Read-only file system"), thrown.getMessage());
        } finally {
            assertEquals(0, exitCode("umount", "--lazy", other.toString())); // mappings are collected later
        }
        MmapQueue.open(config(directory())).close();
    }

    @Test
    void unwritableFilesThrowWithTheirName() throws Exception {
        assumeTrue(!"root".equals(System.getProperty("user.name")), "root may write everything");
        MmapQueue.open(config(directory())).close();
        Files.setPosixFilePermissions(directory().resolve("lock"), PosixFilePermissions.fromString("r--------"));
        MmapQueueException thrown = assertThrows(MmapQueueException.class, () -> MmapQueue.open(config(directory())));
        assertTrue(thrown.getMessage().contains("lock"), thrown.getMessage());
    }

    private static int exitCode(String... command) throws Exception {
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(Redirect.DISCARD)
                .start()
                .waitFor();
    }
}
