package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.mmapqueue.Consumer;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.io.ProcessLock;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

/** Deletion of consumers: it closes them, frees their space, and survives a kill. */
class ConsumerDeletionTest extends DefaultConsumerQueue {
    @Test
    void aDeletedConsumerIsClosedAndItsSpaceFree() {
        Consumer slow = queue.consumer("slow", StartAt.EARLIEST);
        int count = fill();
        Payload.drain(queue);
        queue.consumer().ackUpTo(count - 1);
        assertEquals(0, fill());
        assertEquals(0, queue.firstOffset());
        queue.deleteConsumer("slow");
        assertThrows(ClosedException.class, slow::poll);
        assertEquals(count, queue.firstOffset());
        assertFalse(Files.exists(directory.resolve("consumers").resolve("slow.dat")));
        assertTrue(fill() > count / 2);
        assertEquals(count, queue.consumer("slow", StartAt.EARLIEST).readOffset());
    }

    @Test
    void aWaitingPushIsWokenByADeletion() throws Exception {
        queue.createConsumer("slow", StartAt.EARLIEST);
        int count = fill();
        Payload.drain(queue);
        queue.consumer().ackUpTo(count - 1);
        Waiting.Running<Long> pushing =
                Waiting.start(() -> queue.push(new byte[300], Waiting.LONG)).untilItWaits();
        queue.deleteConsumer("slow");
        assertEquals(count, pushing.result());
    }

    @Test
    void aConsumerThatIsNotOpenCanBeDeleted() {
        queue.createConsumer("other", StartAt.EARLIEST);
        queue.deleteConsumer("other");
        assertEquals(List.of("default"), queue.consumers());
    }

    @Test
    void deletingAnUnknownConsumerThrows() {
        ConfigException nobody = assertThrows(ConfigException.class, () -> queue.deleteConsumer("nobody"));
        assertEquals("nobody", nobody.value());
        assertTrue(nobody.allowed().contains("default"), nobody.getMessage());
        assertThrows(ConfigException.class, () -> queue.deleteConsumer("../meta"));
    }

    @Test
    void theDefaultConsumerCanBeDeletedAndCreatedAgain() {
        push(10);
        Consumer other = queue.consumer("other", StartAt.EARLIEST);
        Payload.drain(other);
        other.ackUpTo(5);
        queue.deleteConsumer("default");
        assertEquals(List.of("other"), queue.consumers());
        assertEquals(6, queue.firstOffset());
        reopen();
        assertEquals(List.of("other"), queue.consumers());
        int count = fill() + 10;
        Payload.drain(queue.consumer("other", StartAt.LATEST));
        queue.consumer("other", StartAt.LATEST).ackUpTo(count - 1);
        assertTrue(fill() > 0, "the default consumer holds no space");
        assertEquals(count, queue.consumer().readOffset());
        assertEquals(List.of("other"), queue.consumers());
        assertEquals(count, queue.consumer().pop().offset());
        assertEquals(List.of("default", "other"), queue.consumers());
        reopen();
        assertEquals(count, queue.consumer().pop().offset());
    }

    @Test
    void aQueueWithoutItsDefaultConsumerSurvivesAKill() {
        push(10);
        queue.createConsumer("other", StartAt.offset(4));
        queue.deleteConsumer("default");
        reopenAfterKill();
        assertEquals(List.of("other"), queue.consumers());
        assertEquals(4, queue.consumer("other", StartAt.LATEST).pop().offset());
    }

    /** With a pending interrupt the rounds of the wait would pass at once. */
    @Test
    void anInterruptedThreadWaitsForAnotherDeletion() throws Exception {
        queue.createConsumer("other", StartAt.EARLIEST);
        Path lock = directory.resolve("consumers").resolve(".delete.lock");
        ProcessLock held = ProcessLock.acquire(lock, "a deletion", FileMode.PRIVATE);
        Waiting.Running<Boolean> deleting = Waiting.start(() -> {
                    Thread.currentThread().interrupt();
                    queue.deleteConsumer("other");
                    return Thread.interrupted();
                })
                .untilItIsIn(Consumers.class, "pause");
        held.close();
        assertTrue(deleting.result(), "the interrupt stays pending");
        assertEquals(List.of("default"), queue.consumers());
    }

    private QueueCore openOn(FaultyStorage storage) {
        QueueConfig config = QueueConfig.builder(directory.resolveSibling("faulty"))
                .segmentSize(4096)
                .queueCapacitySegments(6)
                .maxEventSize(1000)
                .build();
        return Cores.open(config, storage);
    }

    /** The page is marked, and its file cannot be deleted: a consumer that is created then was taken for this one. */
    @Test
    void aConsumerWithAFileThatCannotBeDeletedIsGone() {
        FaultyStorage storage = new FaultyStorage();
        QueueCore core = openOn(storage);
        try {
            core.createConsumer("slow", StartAt.EARLIEST);
            core.writer().push(new byte[100], 0, 100);
            storage.failWhen((call, path) -> call == FaultyStorage.Call.DELETE && path.endsWith("slow.dat"));
            assertThrows(MmapQueueException.class, () -> core.deleteConsumer("slow"));
            storage.heal();
            assertEquals(List.of(), core.consumerNames());
            core.createConsumer("slow", StartAt.LATEST);
            assertEquals(List.of("slow"), core.consumerNames());
            assertEquals(1, core.consumerStats().get(0).committedOffset());
        } finally {
            core.close();
        }
    }

    @Test
    void aConsumerIsDeletedOnAFullDiskWithRecordsInFlight() {
        FaultyStorage storage = new FaultyStorage();
        QueueCore core = openOn(storage);
        try {
            core.createConsumer("slow", StartAt.EARLIEST);
            core.writer().push(new byte[100], 0, 100);
            core.poll(core.consumer("slow", StartAt.EARLIEST));
            storage.failWhen((call, path) -> call == FaultyStorage.Call.WRITE
                    && path.getFileName().toString().startsWith("slow."));
            core.deleteConsumer("slow");
            assertFalse(core.consumerNames().contains("slow"));
            assertFalse(core.owns("slow"));
        } finally {
            storage.heal();
            core.close();
        }
    }
}
