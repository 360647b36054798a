package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/** The directory of an open queue is renamed, and another queue, or nothing, is at its path. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MovedDirectoryTest {
    private static final int LENGTH = 900;
    private static final int FIRST = 20;
    private static final int OTHERS = 7;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path path;
    private Path moved;
    private UUID otherId;
    private Map<String, String> other;

    private static QueueConfig.Builder config(Path directory) {
        return QueueConfig.builder(directory)
                .segmentSize(4096)
                .queueCapacitySegments(32)
                .maxInMemSegments(6)
                .maxEventSize(1000)
                .gcOnIdle(Duration.ofMillis(1));
    }

    @BeforeEach
    void make() throws Exception {
        path = temp.resolve("queue");
        moved = temp.resolve("moved");
        try (MmapQueue made = MmapQueue.open(config(temp.resolve("other")).build())) {
            otherId = made.id();
            made.createConsumer("mine", StartAt.EARLIEST);
            for (int i = 0; i < OTHERS; i++) {
                made.push(Payload.of(1000 + i, LENGTH));
            }
        }
    }

    private static void push(MmapQueue queue, int count) {
        for (int i = 0; i < count; i++) {
            queue.push(Payload.of(queue.endOffset(), LENGTH));
        }
    }

    private void exchange() throws Exception {
        Files.move(path, moved);
        Files.move(temp.resolve("other"), path);
        other = Directories.fingerprint(path);
    }

    private void assertNamesBoth(UUID own, MmapQueueException error) {
        assertTrue(error.getMessage().contains(own.toString()), error.getMessage());
        assertTrue(error.getMessage().contains(otherId.toString()), error.getMessage());
        assertTrue(error.getMessage().contains(path.toString()), error.getMessage());
    }

    // The queue that took the place has all of its files as they were, and the moved one all of its records.
    private void assertBothWhole(long records) {
        assertEquals(other, Directories.fingerprint(path));
        assertEquals(List.of(), Verifier.verify(path, Progress.NONE).findings());
        assertTrue(Verifier.verify(moved, Progress.NONE).isWhole());
        try (MmapQueue queue = MmapQueue.open(config(path).build())) {
            assertEquals(otherId, queue.id());
            assertEquals(OTHERS, queue.endOffset());
            assertEquals(List.of("mine"), queue.consumers());
        }
        try (MmapQueue queue = MmapQueue.open(config(moved).build())) {
            List<Message> found = new ArrayList<>();
            for (long offset = queue.firstOffset(); offset < records; offset++) {
                found.add(queue.get(offset));
            }
            for (Message each : found) {
                assertEquals(Directories.sha256(Payload.of(each.offset(), LENGTH)), Directories.sha256(each.data()));
            }
            assertEquals(records, queue.endOffset());
        }
    }

    private static void closeAnyhow(MmapQueue queue) {
        try {
            queue.close();
        } catch (MmapQueueException e) {
            // A file that the close would have written is not at the path any more.
        }
    }

    @Test
    void aWriterChangesNothingOfTheOther() throws Exception {
        MmapQueue queue = MmapQueue.open(config(path).build());
        UUID own = queue.id();
        Consumer consumer = queue.consumer("a", StartAt.EARLIEST);
        push(queue, FIRST);
        for (int i = 0; i < FIRST / 2; i++) {
            consumer.ackUpTo(consumer.poll().offset());
        }
        exchange();
        // What has room in segments that are mapped is stored in the moved directory. Then a file is needed.
        MmapQueueException full = assertThrows(MmapQueueException.class, () -> push(queue, 100));
        assertNamesBoth(own, full);
        long records = queue.endOffset();
        assertTrue(records >= FIRST && records < FIRST + 100, "records " + records);
        assertNamesBoth(own, assertThrows(MmapQueueException.class, queue::gc));
        assertNamesBoth(own, assertThrows(MmapQueueException.class, () -> queue.createConsumer("b", StartAt.EARLIEST)));
        assertNamesBoth(own, assertThrows(MmapQueueException.class, () -> queue.consumer("mine", StartAt.EARLIEST)));
        assertNamesBoth(
                own,
                assertThrows(
                        MmapQueueException.class, () -> queue.pushOnce("p", 1, List.of(new byte[1]), Duration.ZERO)));
        assertNamesBoth(own, assertThrows(MmapQueueException.class, () -> queue.deleteConsumer("a")));
        assertNamesBoth(own, assertThrows(MmapQueueException.class, queue::producerStats));
        closeAnyhow(queue);
        assertBothWhole(records);
    }

    /** Records in flight would be saved in a file at the path. */
    @Test
    void aCloseWritesNothingIntoTheOther() throws Exception {
        MmapQueue queue = MmapQueue.open(config(path).build());
        UUID own = queue.id();
        push(queue, FIRST);
        Consumer consumer = queue.consumer("mine", StartAt.EARLIEST);
        consumer.poll();
        consumer.ack(consumer.poll().offset());
        exchange();
        assertNamesBoth(own, assertThrows(MmapQueueException.class, queue::close));
        assertBothWhole(FIRST);
    }

    @Test
    void aReaderReadsNothingOfTheOther() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config(path).build())) {
            queue.createConsumer("a", StartAt.EARLIEST);
            push(queue, FIRST);
        }
        MmapQueue reader = MmapQueue.open(config(path).readOnly(true).build());
        UUID own = reader.id();
        Consumer consumer = reader.consumer("a", StartAt.EARLIEST);
        consumer.poll();
        exchange();
        MmapQueueException error = assertThrows(MmapQueueException.class, () -> {
            for (int i = 0; i < FIRST; i++) {
                consumer.poll();
            }
        });
        assertNamesBoth(own, error);
        assertNamesBoth(own, assertThrows(MmapQueueException.class, () -> reader.get(FIRST - 1)));
        assertNamesBoth(
                own, assertThrows(MmapQueueException.class, () -> reader.createConsumer("b", StartAt.EARLIEST)));
        closeAnyhow(reader);
        assertBothWhole(FIRST);
    }

    @Test
    void aDestroyDeletesNothingOfTheOther() throws Exception {
        MmapQueue queue = MmapQueue.open(config(path).build());
        UUID own = queue.id();
        push(queue, FIRST);
        exchange();
        assertNamesBoth(own, assertThrows(MmapQueueException.class, queue::destroy));
        assertBothWhole(FIRST);
    }

    /** The handles of one directory share an open queue: the next one must not get the queue that has left. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anotherOpenOfThePathIsRefusedUntilTheMovedOneIsClosed(boolean readOnly) throws Exception {
        MmapQueue queue = MmapQueue.open(config(path).build());
        UUID own = queue.id();
        push(queue, FIRST);
        exchange();
        assertNamesBoth(
                own,
                assertThrows(
                        MmapQueueException.class,
                        () -> MmapQueue.open(config(path).readOnly(readOnly).build())));
        closeAnyhow(queue);
        assertBothWhole(FIRST);
    }

    /** Without the threads of the queue: a flush while the directory is elsewhere may end the writer. */
    @Test
    void aDirectoryThatIsMovedBackGoesOn() throws Exception {
        QueueCore core = Cores.open(config(path).build(), DiskStorage.INSTANCE);
        for (int i = 0; i < FIRST; i++) {
            core.writer().push(Payload.of(i, LENGTH), 0, LENGTH);
        }
        core.writer().flush();
        exchange();
        assertThrows(MmapQueueException.class, () -> {
            while (true) {
                core.writer().push(Payload.of(core.endOffset(), LENGTH), 0, LENGTH);
            }
        });
        core.writer().flush();
        long records = core.endOffset();
        assertEquals(other, Directories.fingerprint(path));
        Files.move(path, temp.resolve("other"));
        Files.move(moved, path);
        for (int i = 0; i < FIRST; i++) {
            core.writer().push(Payload.of(records + i, LENGTH), 0, LENGTH);
        }
        core.close();
        assertEquals(List.of(), Verifier.verify(path, Progress.NONE).findings());
        try (MmapQueue again = MmapQueue.open(config(path).build())) {
            assertEquals(records + FIRST, again.endOffset());
        }
    }

    @Test
    void aDirectoryThatIsGoneIsNoDamage() throws Exception {
        MmapQueue queue = MmapQueue.open(config(path).build());
        push(queue, FIRST);
        Files.move(path, moved);
        MmapQueueException error = assertThrows(MmapQueueException.class, () -> push(queue, 100));
        assertTrue(error.getMessage().contains(path + ": "), error.getMessage());
        assertTrue(error.getMessage().contains("holds no queue"), error.getMessage());
        closeAnyhow(queue);
        assertTrue(Files.notExists(path));
        assertTrue(Verifier.verify(moved, Progress.NONE).isWhole());
    }
}
