package org.mmapqueue.v1;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.verify.Verifier;

/** Directories that Satellite's own code has written are read exactly, and stay directories that it can read. */
@Timeout(120)
class V1SamplesTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    static Stream<V1Sample> samples() {
        return V1Sample.all().filter(sample -> !sample.isDamaged());
    }

    static Stream<V1Sample> damaged() {
        return V1Sample.all().filter(V1Sample::isDamaged);
    }

    private static List<byte[]> data(List<Message> messages) {
        return messages.stream().map(Message::data).toList();
    }

    private static List<V1Sample.Entry> both(V1Sample sample) {
        return Stream.concat(sample.toDeliver().stream(), sample.beyondWatermark().stream())
                .toList();
    }

    @Test
    void allSamplesAreHere() {
        assertEquals(38, V1Sample.all().count());
        assertEquals(2, damaged().count());
    }

    @ParameterizedTest
    @MethodSource("samples")
    void deliversWhatSatelliteWould(V1Sample sample) {
        Path directory = sample.copy(temp);
        assertEquals(sample.metaHex(), HexFormat.of().formatHex(Directories.read(directory.resolve("meta.dat"))));
        try (MmapQueue queue = MmapQueue.open(sample.config(directory).build())) {
            assertEquals(sample.toDeliver().size(), queue.endOffset());
            assertEquals(sample.toDeliver().size(), queue.consumer().lag());
            V1Sample.assertEntries(sample.toDeliver(), data(Payload.drain(queue)));
            assertNull(queue.consumer().poll());
        }
    }

    @ParameterizedTest
    @MethodSource("samples")
    void verifyCallsItWhole(V1Sample sample) {
        VerifyReport report = Verifier.verify(sample.copy(temp), Progress.NONE);
        assertTrue(report.isWhole(), report.findings().toString());
        assertEquals(1, report.version());
    }

    @ParameterizedTest
    @MethodSource("samples")
    void deliversWhatOnlyTheProcessHadLost(V1Sample sample) {
        Path directory = sample.copy(temp);
        try (MmapQueue queue =
                MmapQueue.open(sample.config(directory).v1Recover("writing").build())) {
            V1Sample.assertEntries(both(sample), data(Payload.drain(queue)));
        }
    }

    @ParameterizedTest
    @MethodSource("samples")
    void isReadWithItsSizesUnsaid(V1Sample sample) {
        Path directory = sample.copy(temp);
        boolean unused = Directories.segments(directory).isEmpty();
        QueueConfig.Builder config = QueueConfig.builder(directory).maxEventSize(sample.maxEventSize());
        QueueConfig all = (unused ? config.segmentSize(sample.segmentSize()) : config).build();
        try (MmapQueue queue = MmapQueue.open(all)) {
            assertEquals(sample.segmentSize(), queue.stats().segmentSize());
            assertEquals(sample.capacity(), queue.stats().capacitySegments());
            V1Sample.assertEntries(sample.toDeliver(), data(Payload.drain(queue)));
        }
    }

    @ParameterizedTest
    @MethodSource("samples")
    void anotherSizeOrCapacityIsRefusedAndNothingIsChanged(V1Sample sample) {
        Path directory = sample.copy(temp);
        Map<String, String> before = Directories.fingerprint(directory);
        ConfigException capacity = assertThrows(
                ConfigException.class,
                () -> MmapQueue.open(sample.config(directory)
                        .queueCapacitySegments(sample.capacity() + 1)
                        .build()));
        assertEquals("queue_capacity_segments", capacity.key());
        if (!Directories.segments(directory).isEmpty() && !sample.isUnused()) {
            ConfigException size = assertThrows(
                    ConfigException.class,
                    () -> MmapQueue.open(sample.config(directory)
                            .segmentSize(sample.segmentSize() * 2L)
                            .build()));
            assertEquals("segment_size", size.key());
        }
        ConfigException version = assertThrows(
                ConfigException.class,
                () -> MmapQueue.open(sample.config(directory).formatVersion(2).build()));
        assertEquals("format_version", version.key());
        assertEquals(before, Directories.fingerprint(directory));
    }

    @ParameterizedTest
    @MethodSource("damaged")
    void aDamagedDirectoryIsRefusedAndLeftAsItIs(V1Sample sample) {
        for (String recover : List.of("watermark", "writing")) {
            Path directory = sample.copy(temp.resolve(recover));
            Map<String, String> before = Directories.fingerprint(directory);
            CorruptException refused = assertThrows(
                    CorruptException.class,
                    () -> MmapQueue.open(
                            sample.config(directory).v1Recover(recover).build()));
            assertTrue(refused.file().startsWith(directory.toString()), refused.getMessage());
            assertEquals(before, Directories.fingerprint(directory));
        }
    }

    /** Committed ahead of the recovery point: Satellite pops garbage without end; here it is empty, from committed on. */
    @Test
    void committedAheadOfTheWatermarkIsAnEmptyQueue() throws InterruptedException {
        V1Sample sample = V1Sample.of("h4-killed-acked-ahead");
        Path directory = sample.copy(temp);
        try (MmapQueue queue = MmapQueue.open(sample.config(directory).build())) {
            assertNull(queue.consumer().poll());
            assertEquals(0, queue.endOffset());
            assertEquals(1198, queue.stats().writingPosition());
            assertEquals(0, queue.push(Payload.of(1, 500)));
            Payload.assertNextIs(0, Payload.of(1, 500), queue);
        }
        V1DirectoryReader reader = new V1DirectoryReader(directory, 4096);
        assertEquals(List.of(0L, 1198L), reader.committed());
        assertEquals(1, reader.pop().size());
        assertArrayEquals(Payload.of(1, 500), reader.pop().get(0));
    }

    @ParameterizedTest
    @MethodSource("samples")
    void openedAndClosedItIsStillWhatItWas(V1Sample sample) {
        Path directory = sample.copy(temp);
        V1DirectoryReader before = new V1DirectoryReader(directory, sample.segmentSize());
        for (int i = 0; i < 2; i++) {
            MmapQueue.open(sample.config(directory).build()).close();
            V1DirectoryReader after = new V1DirectoryReader(directory, sample.segmentSize());
            assertEquals(sample.capacity(), after.capacity());
            assertEquals(before.committed(), after.committed());
            assertEquals(after.watermark(), after.writing(), "closed cleanly");
            V1Sample.assertEntries(sample.toDeliver(), after.pop());
        }
        assertFalse(Files.exists(directory.resolve("consumers")));
    }

    /** Push, pop, ack, close and reopen through several generations; at every close Satellite would read the same. */
    @ParameterizedTest
    @MethodSource("samples")
    void worksOn(V1Sample sample) {
        Path directory = sample.copy(temp);
        List<byte[]> expected = new ArrayList<>();
        long number = 0;
        for (int round = 0; round < 6 * sample.capacity(); round++) {
            try (MmapQueue queue = MmapQueue.open(sample.config(directory).build())) {
                if (round == 0) {
                    expected.addAll(data(Payload.drain(queue)));
                    V1Sample.assertEntries(sample.toDeliver(), expected);
                } else {
                    Payload.assertMessages(0, expected, Payload.drain(queue));
                }
                int acked = expected.size() - expected.size() / 3;
                if (acked > 0) {
                    queue.consumer().ackUpTo(acked - 1);
                    expected.subList(0, acked).clear();
                }
                for (int i = 0; i < 6; i++) {
                    byte[] payload = Payload.of(number, (int) (number * 677 % (sample.maxEventSize() + 1)));
                    number++;
                    try {
                        queue.push(payload);
                    } catch (FullException e) {
                        assertTrue(!expected.isEmpty(), "full and empty at once");
                        break;
                    }
                    expected.add(payload);
                }
            }
            V1DirectoryReader reader = new V1DirectoryReader(directory, sample.segmentSize());
            assertEquals(reader.watermark(), reader.writing());
            List<byte[]> read = reader.pop();
            assertEquals(expected.size(), read.size());
            for (int i = 0; i < read.size(); i++) {
                assertArrayEquals(expected.get(i), read.get(i));
            }
        }
        assertTrue(number > 20, "pushed " + number);
    }
}
