package org.mmapqueue.v1;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.verify.Verifier;

/** Version 1 directories that were left before anything was pushed: by a kill, or by Satellite. */
class V1NewTest {
    private static final int SEGMENT = 16_384;
    private static final int CAPACITY = 6;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path at() {
        return temp.resolve("queue");
    }

    private QueueConfig config() {
        return V1WriteTest.config(at())
                .segmentSize(SEGMENT)
                .queueCapacitySegments(CAPACITY)
                .build();
    }

    private void assertWorks() {
        VerifyReport before = Verifier.verify(at(), Progress.NONE);
        assertTrue(before.isWhole(), before.findings().toString());
        for (int i = 0; i < 3; i++) {
            try (MmapQueue queue = MmapQueue.open(config())) {
                assertEquals(SEGMENT, queue.stats().segmentSize());
                for (int j = 0; j < 10; j++) {
                    queue.push(Payload.of(j, 3000 + i));
                    assertArrayEquals(
                            Payload.of(j, 3000 + i), queue.consumer().peek().data());
                    queue.consumer().ackUpTo(queue.consumer().pop().offset());
                }
            }
        }
        for (Path each : Directories.segments(at())) {
            assertEquals(SEGMENT, Directories.read(each).length);
        }
        assertTrue(Verifier.verify(at(), Progress.NONE).isWhole());
    }

    /** The first segment file is filled with zeros, in pieces, when its queue has a meta page already. */
    @ParameterizedTest
    @ValueSource(ints = {0, 100, 4096, 8192, SEGMENT - 1, SEGMENT, 2 * SEGMENT})
    void theFirstSegmentFileMayHaveAnyLength(int length) throws IOException {
        MmapQueue.open(config()).close();
        Files.write(at().resolve("0_segment.dat"), new byte[length]);
        assertWorks();
    }

    /** Nothing says how large a segment was to be: the default. */
    @Test
    void anEmptyFileAndNoConfiguredSize() throws IOException {
        MmapQueue.open(config()).close();
        Files.write(at().resolve("0_segment.dat"), new byte[0]);
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(at()).build())) {
            assertEquals(131_072, queue.stats().segmentSize());
            queue.push(new byte[10]);
        }
    }

    /** As Satellite makes it: empty, extended to zeros, version, capacity. */
    @ParameterizedTest
    @CsvSource({"0,0,0", "10,0,0", "80,0,0", "80,1,0", "80,0,6"})
    void theMetaPageMayBeUnfinished(int length, long version, long capacity) throws IOException {
        Files.createDirectories(at());
        ByteBuffer page = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        if (length == 80) {
            page.putLong(0, version).putLong(72, capacity);
        }
        Files.write(at().resolve("meta.dat"), page.array());
        Files.write(at().resolve("0_segment.dat"), new byte[4096]);
        Map<String, String> before = Directories.fingerprint(at());
        CorruptException refused = assertThrows(
                CorruptException.class,
                () -> MmapQueue.open(QueueConfig.builder(at()).build()));
        assertTrue(refused.getMessage().contains("format_version = 1"), refused.getMessage());
        assertEquals(before, Directories.fingerprint(at()));
        assertWorks();
    }

    @Test
    void segmentsThatHoldNothingNeedNoMetaPage() throws IOException {
        Files.createDirectories(at());
        Files.write(at().resolve("0_segment.dat"), new byte[8192]);
        Files.write(at().resolve("1_segment.dat"), new byte[4 * SEGMENT]);
        try (MmapQueue queue = MmapQueue.open(config())) {
            queue.push(new byte[10]);
            queue.consumer().ackUpTo(queue.consumer().pop().offset());
        }
        assertWorks();
    }

    /** Satellite would overwrite them. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void recordsWithoutAMetaPageAreRefused(boolean isMissing) throws IOException {
        try (MmapQueue queue = MmapQueue.open(config())) {
            queue.push(Payload.of(1, 100));
        }
        Path meta = at().resolve("meta.dat");
        Files.delete(meta);
        if (!isMissing) {
            Files.write(meta, new byte[80]);
        }
        Map<String, String> before = Directories.fingerprint(at());
        for (QueueConfig each :
                new QueueConfig[] {config(), QueueConfig.builder(at()).build()}) {
            CorruptException refused = assertThrows(CorruptException.class, () -> MmapQueue.open(each));
            assertTrue(refused.getMessage().contains("0_segment.dat is not empty"), refused.getMessage());
        }
        assertEquals(before, Directories.fingerprint(at()));
        assertFalse(Verifier.verify(at(), Progress.NONE).isWhole());
    }
}
