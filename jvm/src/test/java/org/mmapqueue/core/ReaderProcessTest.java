package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.ChildJvm;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** A process reads a queue that another one writes. */
@Tag("slow")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReaderProcessTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path directory() {
        return temp.resolve("queue");
    }

    private QueueConfig.Builder config() {
        return QueueConfig.builder(directory())
                .segmentSize(4096)
                .queueCapacitySegments(8)
                .maxInMemSegments(6)
                .maxEventSize(6000)
                .flushPeriod(Duration.ofMillis(50));
    }

    private static byte[] record(long number) {
        return Payload.numbered(number, number % 20 == 7 ? 6000 : (int) (number * 31 % 300));
    }

    @Test
    void anotherProcessPopsAndAcksWhileTheRingWraps() throws Exception {
        int total = 4000;
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.createConsumer("remote", StartAt.EARLIEST);
            for (int i = 0; i < 30; i++) {
                queue.push(record(i));
            }
            try (ChildJvm child = new ChildJvm(ReaderChild.class, directory(), "remote", total)) {
                assertEquals("0", child.expect("from"));
                for (int i = 30; i < total; i++) {
                    assertEquals(i, queue.push(record(i), Waiting.LONG)); // only acks of the other process free space
                    queue.consumer().ackUpTo(queue.consumer().pop().offset());
                }
                assertEquals(total + " end true", child.expect("to"));
                assertEquals(0, child.exitCode());
            }
            assertTrue(queue.stats().writingPosition() > 20 * 8 * 4096L, "generations");
            assertEquals(total, queue.consumer("remote", StartAt.LATEST).committedOffset());
        }
    }

    @Test
    void anotherProcessOwnsTheDefaultConsumer() throws Exception {
        int total = 1500;
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.push(record(0));
            try (ChildJvm child = new ChildJvm(ReaderChild.class, directory(), "default", total)) {
                assertEquals("0", child.expect("from"));
                for (int i = 1; i < total; i++) {
                    queue.push(record(i), Waiting.LONG);
                }
                assertEquals(total + " end true", child.expect("to"));
                assertEquals(0, child.exitCode());
            }
            assertNull(queue.consumer().poll());
            assertEquals(total, queue.consumer().committedOffset());
        }
    }

    @Test
    void aKilledReaderContinuesAfterItsLastAck() throws Exception {
        int total = 1200;
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.createConsumer("remote", StartAt.EARLIEST);
            long begun = 0;
            Waiting.Running<Boolean> pushing = Waiting.start(() -> {
                for (int i = 0; i < total; i++) {
                    queue.push(record(i), Waiting.LONG);
                    queue.consumer().ackUpTo(queue.consumer().pop().offset());
                }
                return true;
            });
            for (int kill = 0; kill < 3; kill++) {
                try (ChildJvm child = new ChildJvm(ReaderChild.class, directory(), "remote", total)) {
                    long from = Long.parseLong(child.expect("from"));
                    assertTrue(from >= begun, "from " + from + " after " + begun);
                    begun = from;
                    Thread.sleep(30);
                    child.kill();
                }
            }
            try (ChildJvm child = new ChildJvm(ReaderChild.class, directory(), "remote", total)) {
                assertTrue(Long.parseLong(child.expect("from")) >= begun);
                child.expect("to " + total);
            }
            assertTrue(pushing.result());
        }
    }

    @Test
    void aReaderOutlivesTheWriter() {
        MmapQueue writer = MmapQueue.open(config().build());
        writer.createConsumer("reader", StartAt.EARLIEST);
        writer.push(record(0));
        QueueCore reader = Cores.open(config().readOnly(true).build(), DiskStorage.INSTANCE);
        try {
            ConsumerCore consumer = reader.consumer("reader", StartAt.EARLIEST);
            assertEquals(0, Payload.numberOf(consumer.poll().data()));
            writer.close();
            assertNull(consumer.poll());
            // The next writer allows larger records.
            writer = MmapQueue.open(
                    QueueConfig.builder(directory()).maxEventSize(9000).build());
            for (int i = 1; i < 15; i++) {
                writer.push(Payload.numbered(i, i * 600));
                for (Message own = writer.consumer().poll();
                        own != null;
                        own = writer.consumer().poll()) {
                    writer.consumer().ackUpTo(own.offset());
                }
                Message message = consumer.poll();
                assertEquals(i, message.offset());
                assertEquals(i, Payload.numberOf(message.data()));
                reader.ackUpTo(consumer, i);
            }
            assertEquals(15, reader.endOffset());
            assertEquals(15, reader.stats().endOffset());
        } finally {
            reader.close();
            writer.close();
        }
    }

    /** A recovery seals a segment and begins another one while the reader has the queue open. */
    @Test
    void aReaderFollowsARecovery() throws Exception {
        MmapQueue first = MmapQueue.open(config().build());
        first.createConsumer("reader", StartAt.EARLIEST);
        first.close();
        QueueCore reader = null;
        try {
            for (int round = 0; round < 3; round++) {
                try (ChildJvm child = new ChildJvm(WriterChild.class, directory(), round * 20)) {
                    child.expect("pushed");
                    if (reader == null) {
                        reader = Cores.open(config().readOnly(true).build(), DiskStorage.INSTANCE);
                    }
                    ConsumerCore consumer = reader.consumer("reader", StartAt.EARLIEST);
                    for (int i = round * 20; i < round * 20 + 20; i++) {
                        Message message = consumer.poll();
                        assertEquals(i, message.offset());
                        assertEquals(i, Payload.numberOf(message.data()));
                    }
                    assertNull(consumer.poll());
                    reader.ackUpTo(consumer, round * 20 + 19);
                    child.kill();
                }
            }
        } finally {
            if (reader != null) {
                reader.close();
            }
        }
    }

    /** Pushes twenty records and waits to be killed. */
    static final class WriterChild {
        private WriterChild() {}

        public static void main(String[] args) throws Exception {
            MmapQueue queue =
                    MmapQueue.open(QueueConfig.builder(Path.of(args[0])).build());
            int first = Integer.parseInt(args[1]);
            for (int i = first; i < first + 20; i++) {
                if (queue.push(record(i)) != i) {
                    throw new IllegalStateException("offset of " + i);
                }
                queue.consumer().ackUpTo(queue.consumer().pop().offset());
            }
            System.out.println("pushed");
            Thread.sleep(600_000);
            queue.close();
        }
    }

    @Test
    void aReaderChangesNothingButItsConsumer() {
        try (MmapQueue writer = MmapQueue.open(config().build())) {
            writer.createConsumer("reader", StartAt.EARLIEST);
            for (int i = 0; i < 20; i++) {
                writer.push(record(i));
            }
        }
        Map<String, String> before = Directories.fingerprint(directory());
        byte[] metaBefore = Directories.read(directory().resolve("meta.dat"));
        QueueConfig readOnly = config().readOnly(true).build();
        try (MmapQueue reader = MmapQueue.open(readOnly)) {
            assertThrows(MmapQueueException.class, () -> reader.push(new byte[1]));
            assertThrows(MmapQueueException.class, () -> reader.pushSync(new byte[1], Waiting.LONG));
            assertThrows(MmapQueueException.class, reader::flush);
            assertThrows(MmapQueueException.class, reader::gc);
            assertEquals(20, reader.endOffset());
            Consumer consumer = reader.consumer("reader", StartAt.EARLIEST);
            assertEquals(20, Payload.drain(consumer).size());
            consumer.ackUpTo(9);
        }
        Map<String, String> after = Directories.fingerprint(directory());
        assertFalse(before.get("consumers/reader.dat").equals(after.get("consumers/reader.dat")));
        assertFalse(before.containsKey("consumers/reader.inflight"));
        assertTrue(after.containsKey("consumers/reader.inflight"));
        after.remove("consumers/reader.inflight");
        before.remove("consumers/reader.dat");
        after.remove("consumers/reader.dat");
        // In meta.dat the reader counts the opens of consumers.
        byte[] metaAfter = Directories.read(directory().resolve("meta.dat"));
        Arrays.fill(metaBefore, 896, 904, (byte) 0);
        Arrays.fill(metaAfter, 896, 904, (byte) 0);
        assertArrayEquals(metaBefore, metaAfter);
        before.remove("meta.dat");
        after.remove("meta.dat");
        assertEquals(before, after);
    }

    @Test
    void aMissingQueueOpenedReadOnlyThrows() {
        QueueConfig readOnly = config().readOnly(true).build();
        assertThrows(MmapQueueException.class, () -> MmapQueue.open(readOnly));
        assertFalse(Files.exists(directory()));
    }

    @Test
    void anAckOfAReaderMakesRoomInAFullRing() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.createConsumer("reader", StartAt.EARLIEST);
            long pushed = 0;
            try {
                while (true) {
                    queue.push(record(pushed));
                    pushed++;
                }
            } catch (FullException e) {
                assertTrue(pushed > 10);
            }
            for (Message message = queue.consumer().poll();
                    message != null;
                    message = queue.consumer().poll()) {
                queue.consumer().ackUpTo(message.offset());
            }
            long number = pushed;
            Waiting.Running<Long> pushing = Waiting.start(() -> queue.push(record(number), Waiting.LONG))
                    .untilItWaits();
            assertFalse(pushing.isDone());
            try (ChildJvm child = new ChildJvm(ReaderChild.class, directory(), "reader", pushed)) {
                child.expect("from 0");
                child.expect("to " + pushed);
            }
            assertEquals(pushed, pushing.result());
        }
    }
}
