package org.mmapqueue.queue;

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
import java.util.SplittableRandom;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.mmapqueue.errors.CorruptException;

/** What stands behind the end of a queue that was closed. */
class TailCheckTest {
    private static final int SEGMENT = 4096;
    private static final int LENGTH = 100;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private MmapQueue open() {
        return MmapQueue.open(QueueConfig.builder(temp).segmentSize(SEGMENT).queueCapacitySegments(16)
                .maxInMemSegments(6).build());
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
                assertArrayEquals(Payload.of(i, LENGTH), queue.pop().data());
            }
            assertNull(queue.poll());
            for (int i = 5; i < 60; i++) {
                push(queue, i, i + 1);
                assertArrayEquals(Payload.of(i, LENGTH), queue.pop().data());
                assertNull(queue.poll(), "nothing is taken for a record");
            }
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
