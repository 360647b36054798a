package org.mmapqueue.recovery;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.segment.SegmentHeader;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.PowerLossStorage;
import org.mmapqueue.support.QuickDirectory;

/** The bytes after the end of a closed queue. */
class LogEndCheckTest {
    private static final int SEGMENT = 4096;
    private static final int LENGTH = 100;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue open() {
        return MmapQueue.open(QueueConfig.builder(temp)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(16)
                .maxInMemSegments(6)
                .build());
    }

    private static void push(MmapQueue queue, int from, int to) {
        for (int i = from; i < to; i++) {
            queue.push(Payload.of(i, LENGTH));
        }
    }

    private void write(int at, byte[] bytes) throws IOException {
        try (FileChannel file = FileChannel.open(temp.resolve("0_segment.dat"), StandardOpenOption.WRITE)) {
            file.write(ByteBuffer.wrap(bytes), at);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 8, 500, 2000})
    void isWipedWhenItIsNoRecord(int behind) throws IOException {
        int end;
        try (MmapQueue queue = open()) {
            push(queue, 0, 5);
            end = (int) queue.stats().writingPosition();
        }
        byte[] noise = new byte[SEGMENT - end - behind];
        new SplittableRandom(behind).nextBytes(noise);
        write(end + behind, noise);
        try (MmapQueue queue = open()) {
            for (int i = 0; i < 5; i++) {
                assertArrayEquals(Payload.of(i, LENGTH), queue.consumer().pop().data());
            }
            assertNull(queue.consumer().poll());
            for (int i = 5; i < 60; i++) {
                push(queue, i, i + 1);
                assertArrayEquals(Payload.of(i, LENGTH), queue.consumer().pop().data());
                assertNull(queue.consumer().poll(), "nothing is taken for a record");
            }
        }
    }

    /** It has a record's header; that it was stored at this place is what its checksum denies. */
    @Test
    void isWipedWhenItIsARecordOfAnotherPosition() throws IOException {
        int end;
        try (MmapQueue queue = open()) {
            push(queue, 0, 5);
            end = (int) queue.stats().writingPosition();
        }
        int first = SegmentHeader.LENGTH;
        write(end, Arrays.copyOfRange(Files.readAllBytes(temp.resolve("0_segment.dat")), first, (end + first) / 2));
        try (MmapQueue queue = open()) {
            assertEquals(5, queue.endOffset());
            push(queue, 5, 6);
            Payload.assertMessages(
                    0,
                    List.of(
                            Payload.of(0, LENGTH),
                            Payload.of(1, LENGTH),
                            Payload.of(2, LENGTH),
                            Payload.of(3, LENGTH),
                            Payload.of(4, LENGTH),
                            Payload.of(5, LENGTH)),
                    Payload.drain(queue));
        }
    }

    /** Else the next loss of power would restore it, after records of the same epoch. */
    @Test
    void isWipedOnTheDiskToo() throws IOException {
        Path directory = temp.resolve("queue");
        QueueConfig config = QueueConfig.builder(directory)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(16)
                .maxInMemSegments(6)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
        PowerLossStorage disk = new PowerLossStorage();
        QueueCore core = Cores.open(config, disk);
        core.writer().push(Payload.of(0, LENGTH), 0, LENGTH);
        int end = (int) core.stats().writingPosition();
        core.close();
        byte[] noise = new byte[SEGMENT - end];
        new SplittableRandom(1).nextBytes(noise);
        Directories.overwrite(directory.resolve("0_segment.dat"), end, noise);
        disk.adopt(directory);
        core = Cores.open(config, disk);
        try {
            Path lost = disk.lose(directory, temp.resolve("lost"), new SplittableRandom(1), 0);
            byte[] left = Files.readAllBytes(lost.resolve("0_segment.dat"));
            assertArrayEquals(new byte[SEGMENT - end], Arrays.copyOfRange(left, end, SEGMENT));
        } finally {
            core.close();
        }
    }

    @Test
    void isRefusedWhenItIsARecord() throws IOException {
        Path older = temp.resolveSibling(temp.getFileName() + ".meta");
        try (MmapQueue queue = open()) {
            push(queue, 0, 5);
        }
        Files.copy(temp.resolve("meta.dat"), older);
        try (MmapQueue queue = open()) {
            push(queue, 5, 7);
        }
        byte[] segment = Files.readAllBytes(temp.resolve("0_segment.dat"));
        byte[] newer = Files.readAllBytes(temp.resolve("meta.dat"));
        Files.move(older, temp.resolve("meta.dat"), StandardCopyOption.REPLACE_EXISTING);
        CorruptException refused = assertThrows(CorruptException.class, this::open);
        assertTrue(refused.getMessage().contains("meta.dat is older than the segments"), refused.getMessage());
        assertArrayEquals(segment, Files.readAllBytes(temp.resolve("0_segment.dat")));
        Files.write(temp.resolve("meta.dat"), newer);
        try (MmapQueue queue = open()) {
            assertEquals(7, queue.endOffset());
        }
    }
}
