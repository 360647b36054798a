package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.lookup.StoredReader;
import org.mmapqueue.segment.RecordChecksum;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.Waiting;

/** What shipping needs of a queue: the durable offset, records as they are stored, waiting for the archive. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ShippedQueueTest {
    private static final Duration LONG = Duration.ofMinutes(2);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private QueueConfig.Builder config() {
        return QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .maxInMemSegments(6)
                .maxEventSize(9000)
                .flushPeriod(Duration.ofHours(1));
    }

    private QueueConfig.Builder shipping() {
        return config().archiveUri(temp.resolve("archive").toUri()).shipPeriod(Duration.ofMillis(5));
    }

    private static byte[] payload(int number) {
        byte[] data = new byte[number * 577 % 9000];
        Arrays.fill(data, (byte) number);
        return data;
    }

    @Test
    void theDurableOffsetFollowsTheRecoveryPoint() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            assertEquals(0, queue.durableOffset());
            queue.push(payload(1));
            queue.push(payload(2));
            assertEquals(0, queue.durableOffset());
            queue.flush();
            assertEquals(2, queue.durableOffset());
            queue.push(payload(3));
            assertEquals(2, queue.durableOffset());
            queue.pushSync(payload(4), LONG);
            assertEquals(4, queue.durableOffset());
        }
        try (MmapQueue queue = MmapQueue.openToRead(temp.resolve("queue"))) {
            assertEquals(4, queue.durableOffset());
        }
    }

    @Test
    void theDurableOffsetIsNotBelowTheFirstOne() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            Consumer consumer = queue.consumer();
            for (int i = 0; i < 200; i++) {
                queue.push(payload(i), Duration.ofMinutes(1));
                consumer.ackUpTo(consumer.pop().offset());
                long durable = queue.durableOffset();
                assertTrue(durable >= queue.firstOffset() && durable <= i + 1, durable + " at " + i);
            }
        }
    }

    @Test
    void storedRecordsHaveWhatTheirChecksumIsComputedOver() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build());
                StoredReader reader = queue.core().log().storedReader()) {
            RecordChecksum checksum = new RecordChecksum(queue.id());
            for (int i = 0; i < 12; i++) {
                queue.push(payload(i));
            }
            List<Long> offsets = new ArrayList<>();
            for (long from = 0; from < 12; ) {
                from = reader.read(from, 12, 5000, record -> {
                    offsets.add(record.offset());
                    byte[] data = Arrays.copyOfRange(record.array(), record.from(), record.from() + record.length());
                    assertArrayEquals(payload((int) record.offset()), data);
                    assertEquals(queue.get(record.offset()).timestampMicros(), record.timestampMicros());
                    CRC32C crc = new CRC32C();
                    crc.update(data);
                    assertEquals(
                            checksum.finish(crc, record.offset(), record.timestampMicros(), record.lengthAndFlags()),
                            record.checksum());
                });
            }
            assertEquals(List.of(0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L, 10L, 11L), offsets);
            assertEquals(12, reader.read(12, 20, 1000, record -> {}));
            assertEquals(5, reader.read(3, 5, 1 << 20, record -> {}));
        }
    }

    @Test
    void storedRecordsThatAreNotRetainedAreOutOfRange() throws Exception {
        StoredReader reader;
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            reader = queue.core().log().storedReader();
            Consumer consumer = queue.consumer();
            for (int i = 0; i < 100; i++) {
                queue.push(payload(i), Duration.ofMinutes(1));
                consumer.ackUpTo(consumer.pop().offset());
            }
            assertThrows(OutOfRangeException.class, () -> reader.read(0, 5, 1000, record -> {}));
        }
        assertThrows(ClosedException.class, () -> reader.read(100, 101, 1000, record -> {}));
    }

    /** After a crash a pad ends the segment: what is read next is in another one, while this one is reclaimed. */
    @Test
    void aReaderAtThePadOfAReclaimedSegmentGoesOn() throws Exception {
        try (MmapQueue killed = MmapQueue.open(config().build())) {
            killed.push(payload(1));
            Directories.copyOpen(temp.resolve("queue"), temp.resolve("copy"), 4096);
        }
        try (MmapQueue queue =
                        MmapQueue.open(QueueConfig.builder(temp.resolve("copy")).build());
                StoredReader reader = queue.core().log().storedReader();
                RecordReader damage = queue.reader(0, 2, true);
                RecordReader range = queue.reader(0, 2)) {
            List<Long> found = new ArrayList<>();
            RecordSink sink = (offset, micros, data) -> found.add(offset);
            assertEquals(1, reader.read(0, 1, 1000, record -> {}));
            assertEquals(1, range.read(1, 1000, sink));
            assertEquals(1, damage.read(1, 1000, sink));
            found.clear();
            Consumer consumer = queue.consumer();
            queue.push(payload(2));
            consumer.seek(StartAt.offset(1));
            assertThrows(FullException.class, () -> {
                while (true) {
                    queue.push(payload(3), Duration.ZERO);
                }
            });
            assertEquals(2, reader.read(1, 2, 1000, record -> found.add(record.offset())));
            assertEquals(1, range.read(1, 10_000, sink));
            assertEquals(1, damage.read(1, 10_000, sink));
            assertEquals(List.of(1L, 1L, 1L), found);
            assertThrows(OutOfRangeException.class, () -> reader.read(0, 1, 1000, record -> {}));
        }
    }

    @Test
    void aWaitEndsWhenTheArchiveHasTheRecord() throws Exception {
        try (MmapQueue queue = MmapQueue.open(shipping().build())) {
            for (int i = 0; i < 50; i++) {
                long offset = queue.push(payload(i), LONG);
                assertTrue(queue.awaitShipped(offset, LONG));
                assertTrue(queue.durableOffset() > offset);
            }
            assertEquals(50, queue.shipStats().orElseThrow().records());
            OutOfRangeException e =
                    assertThrows(OutOfRangeException.class, () -> queue.awaitShipped(50, Duration.ZERO));
            assertEquals(49, e.last());
        }
    }

    @Test
    void aWaitDoesNotLastForThePeriod() throws Exception {
        try (MmapQueue queue =
                MmapQueue.open(shipping().shipPeriod(Duration.ofHours(1)).build())) {
            for (int i = 0; i < 5; i++) {
                assertTrue(queue.awaitShipped(queue.push(payload(i), LONG), LONG));
            }
            assertFalse(
                    queue.awaitShipped(queue.push(payload(6)), Duration.ZERO)); // does not wait, so asks for nothing
            assertEquals(5, queue.shipStats().orElseThrow().records());
        }
    }

    @Test
    void aWaitIsOverInTime() throws Exception {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.createConsumer("ship", StartAt.EARLIEST);
            queue.push(payload(1));
            assertFalse(queue.awaitShipped(0, Duration.ofMillis(20)));
            Waiting.Running<Boolean> waiting =
                    Waiting.start(() -> queue.awaitShipped(0, LONG)).untilItWaits();
            Consumer ship = queue.consumer("ship", StartAt.EARLIEST);
            ship.ackUpTo(ship.pop().offset());
            assertTrue(waiting.result());
        }
    }

    @Test
    void aWaitNeedsTheConsumerOfAShipper() {
        try (MmapQueue queue = MmapQueue.open(config().build())) {
            queue.push(payload(1));
            String text = assertThrows(ConfigException.class, () -> queue.awaitShipped(0, LONG))
                    .getMessage();
            assertTrue(text.contains("no process has shipped the queue"), text);
            assertTrue(queue.shipStats().isEmpty());
        }
    }

    @Test
    void aWaitThrowsWhenTheShippingHasEnded() throws Exception {
        try (MmapQueue queue = MmapQueue.open(shipping().archiveHost("here").build())) {
            assertTrue(queue.awaitShipped(queue.push(payload(1)), LONG));
        }
        try (MmapQueue queue = MmapQueue.open(shipping().archiveHost("there").build())) {
            long offset = queue.push(payload(2));
            String text = assertThrows(MmapQueueException.class, () -> queue.awaitShipped(offset, LONG))
                    .getMessage();
            assertTrue(text.contains("not shipped any more") && text.contains("host here"), text);
        }
    }

    @Test
    void fullNamesTheOutageOfTheArchive() throws Exception {
        Path archive = temp.resolve("archive");
        try (MmapQueue queue = MmapQueue.open(shipping().build())) {
            assertTrue(queue.awaitShipped(queue.push(payload(1)), LONG));
            assertFalse(queue.heldBy().contains("shipping"), queue.heldBy());
            Instant before = Instant.now();
            Files.move(archive, temp.resolve("unmounted"));
            String text = assertThrows(FullException.class, () -> {
                        while (true) {
                            queue.push(payload(2));
                            queue.flush();
                            Waiting.until(
                                    "an outage",
                                    () -> queue.shipStats()
                                            .orElseThrow()
                                            .failure()
                                            .isPresent());
                        }
                    })
                    .getMessage();
            Instant since = queue.shipStats().orElseThrow().failingSince().orElseThrow();
            assertFalse(since.isBefore(before), since + " is before " + before);
            assertTrue(
                    text.contains("the slowest consumer is ship, ")
                            && text.contains(" bytes behind; shipping into " + archive.toUri() + " has failed since "
                                    + since + " and is repeated: ")
                            && text.endsWith(" is missing; is its file system mounted?"),
                    text);
            Files.move(temp.resolve("unmounted"), archive);
            assertTrue(queue.awaitShipped(queue.endOffset() - 1, LONG));
            Waiting.until("a success", () -> !queue.heldBy().contains("shipping"));
            assertTrue(queue.shipStats().orElseThrow().failingSince().isEmpty());
        }
    }

    @Test
    void fullSaysThatTheShippingHasEnded() throws Exception {
        try (MmapQueue queue = MmapQueue.open(shipping().archiveHost("here").build())) {
            assertTrue(queue.awaitShipped(queue.push(payload(1)), LONG));
        }
        try (MmapQueue queue = MmapQueue.open(shipping().archiveHost("there").build())) {
            Waiting.until("the end", () -> queue.shipStats().orElseThrow().hasEnded());
            String text = queue.heldBy();
            assertTrue(
                    text.contains("shipping into ") && text.contains(" has ended: ") && text.contains("host here"),
                    text);
        }
    }

    @Test
    void version1HasNoOffsetsToShip() {
        try (MmapQueue queue = MmapQueue.open(
                QueueConfig.builder(temp.resolve("v1")).formatVersion(1).build())) {
            queue.push(payload(1));
            assertThrows(ConfigException.class, queue::durableOffset);
            assertThrows(ConfigException.class, () -> queue.awaitShipped(0, LONG));
        }
        QueueConfig shipped = QueueConfig.builder(temp.resolve("v1"))
                .archiveUri(temp.resolve("archive").toUri())
                .build();
        String text = assertThrows(ConfigException.class, () -> MmapQueue.open(shipped))
                .getMessage();
        assertTrue(text.contains("format version 1"), text);
    }

    private static long shippingThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(each -> each.equals("mmapqueue-queue-shipper") || each.equals("mmapqueue-queue-upkeep"))
                .count();
    }

    @Test
    void nothingShipsAnyMoreWhenItsConsumerIsDeletedOrClosed() throws Exception {
        for (boolean isDeleted : new boolean[] {false, true}) {
            try (MmapQueue queue = MmapQueue.open(shipping().build())) {
                long offset = queue.push(payload(1));
                assertTrue(queue.awaitShipped(offset, LONG));
                Waiting.until("both threads run", () -> shippingThreads() == 2);
                if (isDeleted) {
                    queue.deleteConsumer("ship");
                } else {
                    queue.consumer("ship", StartAt.COMMITTED).close();
                    assertThrows(MmapQueueException.class, () -> queue.awaitShipped(queue.push(payload(2)), LONG));
                }
                // The thread itself may still be on its way out.
                Waiting.until("no thread runs", () -> shippingThreads() == 0);
                assertTrue(queue.shipStats().orElseThrow().hasEnded());
            }
        }
    }
}
