package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.meta.InFlightDescriptor;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/** A file of records in flight with a right checksum, and numbers that no consumer has written. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ForgedInFlightTest {
    private static final int RECORDS = 12;
    private static final int POPPED = 5;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path file;

    private QueueConfig config() {
        return QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .build();
    }

    @BeforeEach
    void make() {
        file = temp.resolve("queue/consumers/a.inflight");
        try (MmapQueue queue = MmapQueue.open(config())) {
            Consumer consumer = queue.consumer("a", StartAt.EARLIEST);
            for (int i = 0; i < RECORDS; i++) {
                queue.push(new byte[500]);
            }
            for (int i = 0; i < POPPED; i++) {
                consumer.poll();
            }
        }
    }

    // Replaces the runs, each a number of records and one of attempts.
    private void forge(int... runs) throws Exception {
        ByteBuffer image = ByteBuffer.allocate(InFlightDescriptor.RUNS + runs.length / 2 * InFlightDescriptor.RUN_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN);
        image.put(Files.readAllBytes(file), 0, InFlightDescriptor.RUNS);
        image.putInt(InFlightDescriptor.COUNT, runs.length / 2);
        for (int i = 0; i < runs.length; i += 2) {
            image.putInt(runs[i]).putInt(runs[i + 1]).putLong(0);
        }
        image.flip();
        image.putInt(InFlightDescriptor.CHECKSUM, InFlightDescriptor.checksum(image));
        Files.write(file, image.array());
    }

    private void assertEachRecordIsPoppedOnce(int attempts) {
        try (MmapQueue queue = MmapQueue.open(config())) {
            Consumer consumer = queue.consumer("a", StartAt.EARLIEST);
            for (int i = 0; i < RECORDS; i++) {
                Message message = consumer.poll();
                assertEquals(i, message.offset());
                assertEquals(i < POPPED ? attempts : 1, message.attempts());
            }
            assertNull(consumer.poll());
            assertEquals(0, consumer.committedOffset());
        }
        try (MmapQueue queue = MmapQueue.open(config())) {
            assertEquals(0, queue.consumer("a", StartAt.EARLIEST).committedOffset());
        }
    }

    @Test
    void theNumbersOfAConsumerAreTaken() throws Exception {
        forge(2, 1, POPPED - 2, 1);
        assertTrue(Verifier.verify(temp.resolve("queue"), Progress.NONE).isWhole());
        assertEachRecordIsPoppedOnce(2);
    }

    @ParameterizedTest
    @CsvSource({
        "5, -2147483648", // times popped
        "5, 2147483647",
        "5, 16384",
        "5, -2",
        "-2147483648, 1", // records
        "2147483647, 1",
        "0, 1",
        "-5, 1",
    })
    void impossibleNumbersAreIgnoredAndAreDamage(int records, int times) throws Exception {
        forge(records, times);
        List<?> findings = Verifier.verify(temp.resolve("queue"), Progress.NONE).findings();
        assertTrue(findings.toString().contains("a.inflight, byte 48"), findings.toString());
        assertEachRecordIsPoppedOnce(1);
    }

    /** As many records as the positions allow, or fewer than there are: acks of records that no one has popped. */
    @ParameterizedTest
    @CsvSource({"2147483647, -1", "12, -1", "100, -1", "6, -1", "4, -1", "1, 3"})
    void aCountThatDoesNotLeadToThePositionIsIgnored(int records, int times) throws Exception {
        forge(records, times);
        assertEachRecordIsPoppedOnce(1);
    }

    /** The numbers that the header has: of runs, and the position at the end. */
    @Test
    void aPositionThatNoRecordEndsAtIsIgnored() throws Exception {
        byte[] made = Files.readAllBytes(file);
        for (long reading : new long[] {0, 8, 65, 4096, 1 << 20, 1L << 40, Long.MAX_VALUE, -1}) {
            ByteBuffer image = ByteBuffer.wrap(made.clone()).order(ByteOrder.LITTLE_ENDIAN);
            image.putLong(InFlightDescriptor.READING, reading);
            image.putInt(InFlightDescriptor.CHECKSUM, InFlightDescriptor.checksum(image));
            Files.write(file, image.array());
            assertEachRecordIsPoppedOnce(1);
            assertTrue(Files.exists(file));
        }
        assertFalse(Files.exists(temp.resolve("queue/consumers/b.inflight")));
    }
}
