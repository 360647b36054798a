package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.support.ChildJvm;
import org.mmapqueue.support.QuickDirectory;

/** {@code destroy}: the queue's files are deleted, and no others. */
class DestroyTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue open() {
        return MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(8)
                .build());
    }

    private MmapQueue filled() throws Exception {
        MmapQueue queue = open();
        for (int i = 0; i < 20; i++) {
            queue.push(new byte[1000]);
        }
        queue.consumer("named", StartAt.EARLIEST).poll();
        queue.consumer().ackUpTo(queue.consumer().poll().offset());
        queue.pushOnce("producer", 1, List.of(new byte[3]), Duration.ZERO);
        return queue;
    }

    @Test
    void theDirectoryIsGone() throws Exception {
        MmapQueue queue = filled();
        UUID id = queue.id();
        queue.destroy();
        assertFalse(Files.exists(temp.resolve("queue")));
        assertThrows(ClosedException.class, queue::stats);
        queue.close();
        try (MmapQueue next = open()) {
            assertEquals(0, next.endOffset());
            assertNotEquals(id, next.id());
        }
    }

    @Test
    void theThreadOfAsynchronousPushesEnds() throws Exception {
        MmapQueue queue = open();
        queue.pushAsync(new byte[1], true).join();
        Thread pusher = Thread.getAllStackTraces().keySet().stream()
                .filter(each -> each.getName().equals("mmapqueue-queue-async"))
                .findFirst()
                .orElseThrow();
        queue.destroy();
        pusher.join(TimeUnit.SECONDS.toMillis(60));
        assertFalse(pusher.isAlive());
    }

    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void aCloseBesideADestroyThatIsRefusedTakesEffect() throws Exception {
        try (MmapQueue other = open()) {
            for (int i = 0; i < 300; i++) {
                MmapQueue queue = open();
                AtomicBoolean isClosed = new AtomicBoolean();
                Thread destroying = new Thread(() -> {
                    while (!isClosed.get()) {
                        try {
                            queue.destroy();
                        } catch (LockedException | ClosedException e) {
                            // the other handle refuses it, or this one is closed
                        }
                    }
                });
                destroying.start();
                queue.close();
                isClosed.set(true);
                destroying.join();
                assertThrows(ClosedException.class, queue::stats);
            }
            assertEquals(0, other.endOffset());
        }
    }

    /** Names that a queue does not use, also such that look similar. */
    @Test
    void foreignFilesStay() throws Exception {
        MmapQueue queue = filled();
        Set<String> foreign = Set.of(
                "notes.txt",
                "01_segment.dat",
                "x_segment.dat",
                "consumers/readme",
                "producers/a b.dat",
                "deeper/meta.dat");
        for (String name : foreign) {
            Files.createDirectories(temp.resolve("queue").resolve(name).getParent());
            Files.writeString(temp.resolve("queue").resolve(name), "mine");
        }
        queue.destroy();
        try (Stream<Path> files = Files.walk(temp.resolve("queue"))) {
            assertEquals(
                    new TreeSet<>(foreign),
                    files.filter(Files::isRegularFile)
                            .map(each -> temp.resolve("queue").relativize(each).toString())
                            .collect(Collectors.toCollection(TreeSet::new)));
        }
    }

    @Test
    void anotherHandleKeepsIt() throws Exception {
        MmapQueue queue = filled();
        try (MmapQueue other = open()) {
            assertThrows(LockedException.class, queue::checkUnused);
            assertThrows(LockedException.class, queue::destroy);
            assertEquals(21, other.endOffset());
        }
        queue.checkUnused();
        assertEquals(21, queue.endOffset());
        queue.close();
        MmapQueue again;
        try (MmapQueue reader = MmapQueue.open(
                QueueConfig.builder(temp.resolve("queue")).readOnly(true).build())) {
            again = open();
            assertThrows(LockedException.class, again::checkUnused);
            assertThrows(LockedException.class, again::destroy);
            assertEquals(21, reader.endOffset());
        }
        assertEquals(21, again.endOffset());
        again.destroy();
        assertFalse(Files.exists(temp.resolve("queue")));
    }

    @Test
    void aConsumerOfAnotherProcessKeepsIt() throws Exception {
        MmapQueue queue = filled();
        queue.createConsumer("theirs", StartAt.EARLIEST);
        try (ChildJvm child = new ChildJvm(ConsumerOwner.class, temp.resolve("queue"), "theirs")) {
            child.expect("owns");
            LockedException error = assertThrows(LockedException.class, queue::destroy);
            assertEquals(child.pid(), error.pid());
            assertEquals(
                    child.pid(),
                    assertThrows(LockedException.class, queue::checkUnused).pid());
            assertThrows(LockedException.class, () -> queue.checkFree("theirs"));
            queue.checkFree("named"); // this process owns it
            queue.checkFree("nobody");
            assertEquals(List.of("default", "named", "theirs"), queue.consumers());
            assertEquals(21, queue.push(new byte[1]));
            child.say("end");
            assertEquals(0, child.exitCode());
        }
        queue.destroy();
        assertFalse(Files.exists(temp.resolve("queue")));
    }

    @Test
    void aQueueOfVersion1IsDestroyedToo() throws Exception {
        MmapQueue queue = MmapQueue.open(
                QueueConfig.builder(temp.resolve("one")).formatVersion(1).build());
        queue.push(new byte[10]);
        queue.destroy();
        assertFalse(Files.exists(temp.resolve("one")));
        assertTrue(Files.exists(temp));
    }
}
