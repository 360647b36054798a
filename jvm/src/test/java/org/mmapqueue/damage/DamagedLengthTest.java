package org.mmapqueue.damage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Micros;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** A record with a damaged length hides others: a read of them, or of later ones, returns the right record or throws. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DamagedLengthTest {
    private static final int SEGMENT = 4096;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final List<byte[]> payloads = new ArrayList<>();
    private final List<Long> begins = new ArrayList<>();
    private Path clean;
    private Path killed;
    private int copies;

    private static QueueConfig config(Path directory) {
        return QueueConfig.builder(directory)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(20)
                .maxInMemSegments(6)
                .maxEventSize(9000)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    /** Records of these lengths, again and again, in two whole segments and a part of a third one. */
    private void fill(int... lengths) {
        clean = temp.resolve("clean");
        try (MmapQueue queue = MmapQueue.open(config(clean))) {
            for (int i = 0; queue.stats().writingPosition() < 2 * SEGMENT + 1000; i++) {
                begins.add(queue.stats().writingPosition());
                byte[] payload = Payload.of(i, lengths[i % lengths.length]);
                // Timestamps are whole milliseconds: four records for each.
                for (long now = System.currentTimeMillis(); i % 4 == 0 && now == System.currentTimeMillis(); ) {
                    Thread.onSpinWait();
                }
                assertEquals(i, queue.push(payload));
                payloads.add(payload);
            }
            queue.flush();
            killed = Directories.copy(clean, temp.resolve("killed"));
        }
    }

    /** Where the record's header lies, in the file of its segment. */
    private int headerOf(int number) {
        int at = (int) (begins.get(number) % SEGMENT);
        return at == 0 ? 64 : at;
    }

    private String fileOf(int number) {
        return begins.get(number) / SEGMENT + "_segment.dat";
    }

    private int recordIn(long segment, int index) {
        int number = 0;
        while (begins.get(number) / SEGMENT < segment) {
            number++;
        }
        return number + index;
    }

    private Path damaged(Path queue, int number, int at, int bits) {
        Path copy = Directories.copy(queue, temp.resolve("damaged-" + copies++));
        int position = headerOf(number) + at;
        long segment = begins.get(number) / SEGMENT + position / SEGMENT;
        Directories.flip(
                copy.resolve(segment + "_segment.dat"), position < SEGMENT ? position : position - SEGMENT + 64, bits);
        return copy;
    }

    /** The result of a call, or null if it throws; the position in the error must be that of a record. */
    private static <T> T orCorrupt(Callable<T> call, Set<String> positions) throws Exception {
        try {
            return call.call();
        } catch (CorruptException e) {
            positions.add(Path.of(e.file()).getFileName() + " " + e.position());
            return null;
        }
    }

    /** Each call returns the right result or throws; returns the positions in the errors. */
    private Set<String> assertTruth(Path directory) throws Exception {
        Set<String> positions = new HashSet<>();
        MmapQueue opened = orCorrupt(() -> MmapQueue.open(config(directory)), positions);
        if (opened == null) {
            return positions;
        }
        try (MmapQueue queue = opened) {
            assertEquals(payloads.size(), queue.endOffset());
            // From the end on, so that every index is begun where it has most to walk over.
            for (int i = payloads.size() - 1; i >= 0; i--) {
                int number = i;
                Message message = orCorrupt(() -> queue.get(number), positions);
                if (message != null) {
                    assertEquals(number, message.offset());
                    assertArrayEquals(payloads.get(number), message.data(), "record " + number);
                }
            }
            assertEquals(payloads.size(), queue.push(new byte[3]));
            Message last = orCorrupt(() -> queue.get(payloads.size()), positions);
            if (last != null) {
                assertArrayEquals(new byte[3], last.data());
            }
        }
        return positions;
    }

    @ParameterizedTest
    @CsvSource({"0, false", "0, true", "2, false", "2, true"})
    void whateverBitOfAHeaderIsDamagedNumbersAreRight(int segment, boolean isKilled) throws Exception {
        fill(0, 16, 0, 0, 48, 0, 112, 0, 0, 16);
        int target = recordIn(segment, 3);
        for (int bit = 0; bit < 64; bit++) {
            Path directory = damaged(isKilled ? killed : clean, target, bit / 8, 1 << bit % 8);
            Set<String> positions = assertTruth(directory);
            assertTrue(positions.contains(fileOf(target) + " " + headerOf(target)), "bit " + bit + ": " + positions);
        }
    }

    /** Record 1 then ends where record 2 does: 16 bytes each. */
    @Test
    void aRecordThatEndsWhereALaterOneDoesIsNamed() throws Exception {
        fill(0);
        Path directory = damaged(clean, 1, 0, 16);
        try (MmapQueue queue = MmapQueue.open(config(directory))) {
            for (int number = 2; number < 250; number++) {
                int wanted = number;
                CorruptException found = assertThrows(CorruptException.class, () -> queue.get(wanted));
                assertEquals(directory.resolve("0_segment.dat").toString(), found.file());
                assertEquals(64 + 16, found.position());
                assertTrue(found.getMessage().contains("the record's checksum is 0x"), found.getMessage());
            }
            assertEquals(0, queue.get(0).data().length);
            assertEquals(260, queue.get(260).offset());
        }
    }

    /** A length that leads out of the segment, past all later records: of 252 in the segment. */
    @ParameterizedTest
    @ValueSource(ints = {200, 240})
    void aRecordThatEndsInTheNextSegmentIsNamed(int number) throws Exception {
        fill(0);
        long time = timeOf(251);
        assertTrue(time > timeOf(number));
        Path directory = damaged(clean, number, 1, 16);
        Set<String> positions = assertTruth(directory);
        assertTrue(positions.contains("0_segment.dat " + headerOf(number)), positions.toString());
        try (MmapQueue queue = MmapQueue.open(config(directory))) {
            assertEquals(
                    headerOf(number),
                    assertThrows(CorruptException.class, () -> queue.get(251)).position());
            assertEquals(
                    headerOf(number),
                    assertThrows(CorruptException.class, () -> queue.find(Micros.instant(time)))
                            .position());
        }
    }

    private long timeOf(int number) {
        Path file = clean.resolve(fileOf(number));
        long second = Directories.word(file, headerOf(number) + 8);
        return RecordDescriptor.timestamp(RecordDescriptor.TIMESTAMPED, second, Directories.word(file, 40));
    }

    /** The close has stored the offset of the end: nothing is counted. */
    @Test
    void inTheLastSegmentAClosedQueueIsOpened() throws Exception {
        fill(0);
        int target = recordIn(2, 4);
        Path directory = damaged(clean, target, 0, 16);
        assertEquals(Set.of("2_segment.dat " + headerOf(target)), assertTruth(directory));
        try (MmapQueue queue = MmapQueue.open(config(directory))) {
            assertEquals(payloads.size() + 1, queue.endOffset());
        }
    }

    @Test
    void inTheLastSegmentAKilledQueueIsNotOpenedAndNothingIsChanged() {
        fill(0);
        int target = recordIn(2, 4);
        Path directory = damaged(killed, target, 0, 16);
        Map<String, String> before = Directories.fingerprint(directory);
        CorruptException found = assertThrows(CorruptException.class, () -> MmapQueue.open(config(directory)));
        assertEquals(directory.resolve("2_segment.dat").toString(), found.file());
        assertEquals(headerOf(target), found.position());
        assertEquals(before, Directories.fingerprint(directory));
    }

    /** Only its bytes are damaged: its end is known, so all other records can be read. */
    @ParameterizedTest
    @CsvSource({"0, false", "1, false", "2, false", "2, true"})
    void aDamagedPayloadHidesNoOtherRecord(int segment, boolean isKilled) throws Exception {
        fill(40, 200, 1000, 8);
        for (int index = 0; begins.get(recordIn(segment, index)) / SEGMENT == segment; index++) {
            int target = recordIn(segment, index);
            Path directory = damaged(isKilled ? killed : clean, target, 16 + 5, 64);
            assertEquals(Set.of(fileOf(target) + " " + headerOf(target)), assertTruth(directory));
            if (target + 1 == payloads.size()) {
                break;
            }
        }
    }

    /** Neither for its position, nor for records that it skips because they were acked one by one. */
    @Test
    void aConsumerDoesNotCountPastADamagedLength() throws Exception {
        fill(0);
        int target = 40;
        try (MmapQueue queue = MmapQueue.open(config(clean))) {
            assertEquals(
                    60,
                    queue.consumer().popBatch(60, Long.MAX_VALUE, Duration.ZERO).size());
            queue.consumer().ackUpTo(19);
            queue.consumer().ack(new long[] {target, target + 1, target + 2});
        }
        Path directory = damaged(clean, target, 0, 32);
        try (MmapQueue queue = MmapQueue.open(config(directory))) {
            for (int number = 20; number < target; number++) {
                assertEquals(number, queue.consumer().pop().offset());
            }
            assertEquals(
                    headerOf(target),
                    assertThrows(CorruptException.class, queue.consumer()::pop).position());
            assertFalse(queue.consumer().readOffset() > target);
        }
    }

    /** A search by time ignores a damaged timestamp, or throws. */
    @Test
    void aDamagedTimestampGivesNoWrongResult() throws Exception {
        fill(40);
        int target = 5;
        for (int bit = 0; bit < 64; bit++) {
            Path directory = damaged(clean, target, 8 + bit / 8, 1 << bit % 8);
            try (MmapQueue queue = MmapQueue.open(config(directory))) {
                for (int number : new int[] {3, 4, 6, 7, 30, payloads.size() - 1}) {
                    Set<String> positions = new HashSet<>();
                    long time = queue.get(number).timestampMicros();
                    OptionalLong found = orCorrupt(() -> queue.find(Micros.instant(time)), positions);
                    if (found != null) {
                        long first = found.getAsLong();
                        assertEquals(time, queue.get(first).timestampMicros());
                        assertTrue(first <= number);
                        assertTrue(first == 0
                                || first - 1 == target
                                || queue.get(first - 1).timestampMicros() < time);
                    } else {
                        assertEquals(Set.of("0_segment.dat " + headerOf(target)), positions);
                    }
                }
            }
        }
    }

    /** The directory has no offset of the log end, or a wrong one. */
    @Test
    void withoutTheOffsetOfTheCloseTheRecordsAreChecked() throws Exception {
        fill(0);
        Path meta = Path.of("meta.dat");
        Path unknown = Directories.copy(clean, temp.resolve("unknown"));
        Directories.flip(unknown.resolve(meta), 264, 1);
        assertEquals(Set.of(), assertTruth(unknown));
        int target = recordIn(2, 4);
        Path damaged = damaged(clean, target, 0, 16);
        Directories.flip(damaged.resolve(meta), 272, 1);
        assertEquals(
                headerOf(target),
                assertThrows(CorruptException.class, () -> MmapQueue.open(config(damaged)))
                        .position());
    }
}
