package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.ChildJvm;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.QuickDirectory;

/** {@code purge}: all records of all consumers count as acked. */
class PurgeTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private QueueConfig.Builder config() {
        return QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(6)
                .maxEventSize(1000);
    }

    private static void push(MmapQueue queue, int records) {
        for (int i = 0; i < records; i++) {
            queue.push(new byte[100]);
        }
    }

    @Test
    void allConsumersAreAtTheEnd() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            Consumer consumer = queue.consumer();
            queue.createConsumer("idle", StartAt.EARLIEST);
            push(queue, 50);
            for (int i = 0; i < 20; i++) {
                consumer.poll();
            }
            consumer.ackUpTo(9);
            consumer.nack(12);
            assertEquals(50, queue.purge());
            assertEquals(0, queue.purge());
            assertNull(consumer.poll());
            assertEquals(0, consumer.unacked());
            queue.consumerStats().forEach(each -> assertEquals(0, each.lagRecords(), each.name()));
            assertEquals(50, queue.firstOffset());
            // Late acks of records that were in flight do nothing.
            consumer.ackUpTo(19);
            consumer.ack(15);
            assertThrows(OutOfRangeException.class, () -> consumer.nack(15));
            push(queue, 1);
            assertEquals(50, consumer.poll().offset());
            assertEquals(50, queue.consumer("idle", StartAt.EARLIEST).poll().offset());
        }
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            assertEquals(50, queue.consumer().poll().offset());
        }
    }

    @Test
    void aFullQueueHasRoomAgain() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            assertThrows(FullException.class, () -> push(queue, 1000));
            long end = queue.endOffset();
            assertEquals(end, queue.purge());
            push(queue, 100);
            assertEquals(end, queue.consumer().poll().offset());
        }
    }

    /** Another process owns a consumer: nothing moves. */
    @Test
    void aConsumerOfAnotherProcessThrows() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build());
                ChildJvm child = own("theirs")) {
            push(queue, 10);
            child.expect("owns");
            queue.createConsumer("mine", StartAt.EARLIEST);
            LockedException error = assertThrows(LockedException.class, queue::purge);
            assertEquals(child.pid(), error.pid());
            assertEquals(0, queue.consumerStats().get(0).committedOffset());
            child.say("end");
            assertEquals(0, child.exitCode());
            assertEquals(10, queue.purge());
        }
    }

    private ChildJvm own(String consumer) throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.createConsumer(consumer, StartAt.EARLIEST);
        }
        return new ChildJvm(ConsumerOwner.class, temp.resolve("queue"), consumer);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void bothVersionsArePurged(int version) throws Exception {
        try (MmapQueue queue =
                MmapQueue.open(config().formatVersion(version).maxUnacked(4).build())) {
            Consumer consumer = queue.consumer();
            push(queue, 30);
            consumer.poll();
            consumer.poll();
            assertEquals(30, queue.purge());
            assertNull(consumer.poll());
            push(queue, 1);
            assertEquals(1, queue.purge());
        }
    }

    @Test
    void aHandleThatOnlyReadsThrows() {
        try (MmapQueue queue = MmapQueue.open(config().build());
                MmapQueue reader = MmapQueue.openToRead(temp.resolve("queue"))) {
            push(queue, 3);
            assertThrows(MmapQueueException.class, reader::purge);
            assertThrows(MmapQueueException.class, reader::destroy);
            assertEquals(3, queue.endOffset());
        }
    }

    /** Records that were pushed and popped during the call stay in flight. */
    @Test
    void recordsAfterTheEndStay() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            push(queue, 5);
            Consumer consumer = queue.consumer();
            for (int i = 0; i < 5; i++) {
                consumer.pop(Duration.ofSeconds(30));
            }
            QueueCore core = OpenQueues.acquire(Cores.values(config().build()));
            try {
                core.consumer("default", StartAt.EARLIEST).commit(core.log().locate(StartAt.offset(3)), null);
            } finally {
                OpenQueues.release(core);
            }
            assertEquals(3, consumer.committedOffset());
            assertEquals(2, consumer.unacked());
            consumer.nack(4);
            assertEquals(4, consumer.poll().offset());
        }
    }

    /** Another process deletes a consumer while the first one is opened: the purge created it again, at the log end. */
    @Test
    void aConsumerThatIsDeletedMeanwhileStaysDeleted() {
        FaultyStorage storage = new FaultyStorage();
        QueueCore core = Cores.open(config().build(), storage);
        QueueCore reader = Cores.open(config().readOnly(true).build(), DiskStorage.INSTANCE);
        try {
            core.createConsumer("a", StartAt.EARLIEST);
            core.createConsumer("b", StartAt.EARLIEST);
            core.writer().push(new byte[100], 0, 100);
            boolean[] isDeleted = {false};
            storage.failWhen((call, path) -> {
                if (path.endsWith("a.inflight") && !isDeleted[0]) {
                    isDeleted[0] = true;
                    reader.deleteConsumer("b");
                }
                return false;
            });
            assertEquals(1, core.purge());
            assertEquals(List.of("a"), core.consumerNames());
        } finally {
            reader.close();
            core.close();
        }
    }

    @Test
    void aFailedReleaseKeepsNoOtherConsumer() {
        FaultyStorage storage = new FaultyStorage();
        QueueCore core = Cores.open(config().build(), storage);
        try {
            core.createConsumer("a", StartAt.EARLIEST);
            core.createConsumer("b", StartAt.EARLIEST);
            core.writer().push(new byte[100], 0, 100);
            storage.failWhen((call, path) -> call == FaultyStorage.Call.DELETE
                    && path.getFileName().toString().startsWith("a."));
            assertThrows(MmapQueueException.class, core::purge);
            assertFalse(core.owns("a"));
            assertFalse(core.owns("b"));
        } finally {
            storage.heal();
            core.close();
        }
    }
}
