package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.RecordReader;
import org.mmapqueue.StartAt;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/**
 * A file system with layers, such as overlayfs, copies a file of the lower layer when it is first opened to write. A
 * process that has the file mapped since before keeps the old one, which never changes.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CopiedUpTest {
    private static final int LENGTH = 300;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private QueueConfig config(boolean readOnly) {
        return QueueConfig.builder(temp.resolve("queue")).readOnly(readOnly).build();
    }

    // As overlayfs does, when the writer opens the segment.
    private void copyUp(String name) throws Exception {
        Path file = temp.resolve("queue").resolve(name);
        Path copy = Files.copy(file, temp.resolve("copy"));
        Files.move(copy, file, StandardCopyOption.REPLACE_EXISTING);
    }

    @Test
    void aReaderFromBeforeTheFirstWriteFindsEachRecord() throws Exception {
        try (MmapQueue made = MmapQueue.open(QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(16)
                .build())) {
            made.createConsumer("a", StartAt.EARLIEST);
            made.createConsumer("b", StartAt.EARLIEST);
            for (int i = 0; i < 3; i++) {
                made.push(Payload.of(i, LENGTH));
            }
        }
        try (MmapQueue reader = MmapQueue.open(config(true))) {
            Consumer a = reader.consumer("a", StartAt.EARLIEST);
            Consumer b = reader.consumer("b", StartAt.EARLIEST);
            for (int i = 0; i < 3; i++) {
                assertEquals(i, a.poll().offset());
            }
            assertNull(a.poll());
            assertEquals(0, b.poll().offset()); // it has the same mapping pinned
            assertEquals(2, reader.get(2).offset());
            copyUp("0_segment.dat");
            try (MmapQueue writer = MmapQueue.open(config(false))) {
                for (int i = 3; i < 40; i++) {
                    writer.push(Payload.of(i, LENGTH));
                }
                assertArrayEquals(Payload.of(4, LENGTH), reader.get(4).data());
                for (int i = 3; i < 40; i++) {
                    assertArrayEquals(Payload.of(i, LENGTH), a.poll().data(), "record " + i);
                }
                assertNull(a.poll());
                for (int i = 1; i < 40; i++) {
                    assertArrayEquals(Payload.of(i, LENGTH), b.poll().data(), "record " + i);
                }
                try (RecordReader range = reader.reader(0, 40)) {
                    assertEquals(
                            40, range.read(100, 1 << 20, (offset, timestamp, data, start, length, attempts) -> {}));
                }
                assertEquals(40, reader.endOffset());
            }
        }
    }
}
