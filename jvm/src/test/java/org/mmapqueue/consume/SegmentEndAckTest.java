package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/** Acks of records at the end of a segment, when the reader has rolled into the next one. */
class SegmentEndAckTest {
    private static final int SEGMENT = 4096;
    private static final int HEADERS = 64 + 16;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @Test
    void theCommittedPositionIsTheEndOfARecord() {
        Path directory = temp.resolve("queue");
        QueueConfig config = QueueConfig.builder(directory)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(16)
                .build();
        try (MmapQueue queue = MmapQueue.open(config)) {
            Consumer consumer = queue.consumer("a", StartAt.EARLIEST);
            for (int i = 0; i < 3; i++) {
                queue.push(new byte[SEGMENT - HEADERS]); // each fills a segment
            }
            consumer.pop();
            assertEquals(1, consumer.peek().offset());
            consumer.ack(0);
            consumer.pop();
            consumer.pop();
            consumer.ackSingle(1);
        }
        assertTrue(Verifier.verify(directory, Progress.NONE).isWhole());
    }
}
