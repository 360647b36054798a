package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.OffsetRange;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.meta.InFlightDescriptor;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;

/** Which records a consumer has acked, as it has stored them last. */
class StoredAcksTest extends SmallRing {
    private static final int RECORDS = 10;
    /** Records 0, 1, 3, 4 and 7 are acked. */
    private static final List<OffsetRange> OUT_OF_ORDER = ranges(0, 2, 3, 5, 7, 8);

    private static final List<OffsetRange> COMMITTED = ranges(0, 2);

    @BeforeEach
    void setUp() {
        queue.createConsumer("keep", StartAt.EARLIEST); // so that what another one has acked stays
        push(RECORDS);
    }

    private static List<OffsetRange> ranges(long... bounds) {
        OffsetRange[] all = new OffsetRange[bounds.length / 2];
        for (int i = 0; i < all.length; i++) {
            all[i] = new OffsetRange(bounds[2 * i], bounds[2 * i + 1]);
        }
        return List.of(all);
    }

    private Path file() {
        return directory.resolve("consumers/a.inflight");
    }

    private Consumer consumer() {
        return queue.consumer("a", StartAt.EARLIEST);
    }

    private Consumer ackOutOfOrder() {
        Consumer consumer = consumer();
        Payload.drain(consumer);
        consumer.ack(new long[] {0, 1, 3, 4, 7});
        return consumer;
    }

    private void assertAcked(List<OffsetRange> expected) {
        assertEquals(expected, queue.ackedRanges("a"));
    }

    @Test
    void acksOutOfOrderAreThereAfterAFlush() {
        Consumer consumer = ackOutOfOrder();
        assertAcked(COMMITTED);
        queue.flush();
        assertAcked(OUT_OF_ORDER);
        consumer.ack(8);
        assertAcked(OUT_OF_ORDER);
        queue.flush();
        assertAcked(ranges(0, 2, 3, 5, 7, 9));
    }

    @Test
    void acksInOrderAreThereAtOnce() {
        Consumer consumer = ackOutOfOrder();
        queue.flush();
        consumer.ack(2);
        assertAcked(ranges(0, 5, 7, 8));
        consumer.ackUpTo(5);
        assertAcked(ranges(0, 6, 7, 8));
        consumer.ack(6);
        assertAcked(ranges(0, 8));
        consumer.ackUpTo(RECORDS - 1);
        assertAcked(ranges(0, RECORDS));
    }

    @Test
    void aClosedConsumerIsNeitherOpenedNorMoved() throws Exception {
        ackOutOfOrder().close();
        byte[] stored = Files.readAllBytes(file());
        assertAcked(OUT_OF_ORDER);
        assertFalse(queue.owns("a"));
        assertArrayEquals(stored, Files.readAllBytes(file()));
        reopen();
        assertAcked(OUT_OF_ORDER);
        assertEquals(2, queue.consumerStats().get(0).committedOffset());
    }

    @Test
    void aProcessThatOnlyReadsSeesWhatAKillHasLeft() {
        Consumer consumer = ackOutOfOrder();
        queue.flush();
        consumer.ack(9);
        Path killed = Directories.copy(directory, temp.resolve("killed"));
        try (MmapQueue reader = MmapQueue.openToRead(killed)) {
            assertEquals(OUT_OF_ORDER, reader.ackedRanges("a"));
        }
    }

    @Test
    void afterAMoveNothingBehindItIsAcked() {
        Consumer consumer = ackOutOfOrder();
        queue.flush();
        consumer.seek(StartAt.offset(1));
        assertAcked(ranges(0, 1));
        queue.flush();
        assertAcked(ranges(0, 1));
        consumer.seek(StartAt.EARLIEST);
        assertAcked(List.of());
        Payload.drain(consumer);
        consumer.ack(6);
        queue.flush();
        assertAcked(ranges(6, 7));
        consumer.seek(StartAt.LATEST);
        assertAcked(ranges(0, RECORDS));
    }

    /** Read before a move back, and the committed offset after it. */
    @Test
    void aFileThatBeginsAfterTheCommittedOffsetDoesNotCount() throws Exception {
        Consumer consumer = ackOutOfOrder();
        queue.flush();
        byte[] before = Files.readAllBytes(file());
        consumer.seek(StartAt.offset(1));
        Files.write(file(), before);
        assertAcked(ranges(0, 1));
    }

    @Test
    void aPurgeAcksAll() {
        ackOutOfOrder();
        queue.flush();
        queue.purge();
        assertAcked(ranges(0, RECORDS));
    }

    @Test
    void droppedRecordsAreNotAckedBeforeTheConsumerHasPassedThem() {
        ackOutOfOrder().close();
        queue.close();
        queue = MmapQueue.open(config().maxConsumerLag(10_000).build());
        push(200);
        assertTrue(queue.consumerStats().get(0).committedOffset() > RECORDS);
        assertAcked(OUT_OF_ORDER);
        DroppedException dropped = assertThrows(DroppedException.class, consumer()::poll);
        assertEquals(2, dropped.first());
        assertAcked(ranges(0, dropped.last() + 1));
    }

    @Test
    void withoutAnIntactFileOnlyTheCommittedRecordsAreKnown() throws Exception {
        ackOutOfOrder().close();
        byte[] whole = Files.readAllBytes(file());
        for (int at = 0; at < whole.length; at++) {
            byte[] damaged = whole.clone();
            damaged[at] ^= 1;
            Files.write(file(), damaged);
            assertAcked(COMMITTED);
        }
        for (int length : new int[] {0, 47, 48, whole.length - 1, whole.length - 16}) {
            Files.write(file(), whole);
            Directories.resize(file(), length);
            assertAcked(COMMITTED);
        }
        Files.write(file(), whole);
        assertAcked(OUT_OF_ORDER);
        Files.delete(file());
        assertAcked(COMMITTED);
    }

    @Test
    void aFileOfAnotherQueueDoesNotCount() throws Exception {
        ackOutOfOrder().close();
        ByteBuffer image = ByteBuffer.wrap(Files.readAllBytes(file())).order(ByteOrder.LITTLE_ENDIAN);
        image.putLong(InFlightDescriptor.UUID_LOW, image.getLong(InFlightDescriptor.UUID_LOW) + 1);
        image.putInt(InFlightDescriptor.CHECKSUM, InFlightDescriptor.checksum(image));
        Files.write(file(), image.array());
        assertAcked(COMMITTED);
    }

    @Test
    void noConsumerHasAckedNothing() {
        assertAcked(List.of());
        queue.createConsumer("a", StartAt.EARLIEST);
        assertAcked(List.of());
        queue.deleteConsumer("a");
        ackOutOfOrder().close();
        queue.deleteConsumer("a");
        assertAcked(List.of());
        queue.createConsumer("a", StartAt.LATEST);
        assertAcked(ranges(0, RECORDS));
        for (String bad : List.of("../a", "", "-a")) {
            ConfigException thrown = assertThrows(ConfigException.class, () -> queue.ackedRanges(bad));
            assertEquals("consumer", thrown.key());
        }
        queue.close();
        assertThrows(ClosedException.class, () -> queue.ackedRanges("a"));
    }

    @Test
    void version1StoresWhatIsCommittedAlone() {
        openVersion1();
        push(RECORDS);
        Payload.drain(queue.consumer());
        queue.consumer().ack(new long[] {0, 1, 3});
        queue.flush();
        assertEquals(COMMITTED, queue.ackedRanges("default"));
        assertAcked(List.of());
    }
}
