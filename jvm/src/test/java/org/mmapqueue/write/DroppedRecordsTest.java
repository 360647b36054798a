package org.mmapqueue.write;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.Appender;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.StorageQueue;

/** Dropped records are logged without a lock: an appender of the log may push to the same queue. */
class DroppedRecordsTest {
    private static final int SEGMENT = 4096;
    /** So many that the ring drops records once, to make room for the last of them. */
    private static final int RECORDS = 66;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final Map<Long, byte[]> pushed = new HashMap<>();
    private StorageQueue queue;
    private Appender pushing;
    private int lines;

    @BeforeEach
    void open() {
        pushing = Appender.of(DroppedRecords.class, line -> {
            lines++;
            push(10);
        });
        QueueConfig config = QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(SEGMENT)
                .queueCapacitySegments(8)
                .maxConsumerLag(3 * SEGMENT)
                .build();
        queue = StorageQueue.open(config, DiskStorage.INSTANCE);
    }

    @AfterEach
    void close() {
        queue.close();
        pushing.close();
    }

    private void push(int length) {
        byte[] record = Payload.of(pushed.size(), length);
        pushed.put(queue.push(record), record);
    }

    @Test
    void anAppenderOfTheLogMayPush() {
        queue.createConsumer("slow", StartAt.EARLIEST);
        for (int i = 0; i < RECORDS; i++) {
            push(500);
        }
        queue.housekeeperStep();
        assertEquals(1, lines);
        assertEquals(RECORDS + 1, queue.endOffset());
        for (long offset = queue.firstOffset(); offset < queue.endOffset(); offset++) {
            assertArrayEquals(pushed.get(offset), queue.get(offset).data(), "record " + offset);
        }
    }
}
