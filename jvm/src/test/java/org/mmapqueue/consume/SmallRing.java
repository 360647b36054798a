package org.mmapqueue.consume;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/** A test's queue of 8 segments of 4 KiB, without consumers. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class SmallRing {
    static final int SEGMENT = 4096;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    Path directory;
    MmapQueue queue;
    private int kills;

    @BeforeEach
    void openNew() {
        directory = temp.resolve("queue");
        open();
    }

    @AfterEach
    void close() {
        queue.close();
    }

    QueueConfig.Builder config() {
        return QueueConfig.builder(directory)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(8)
                .maxInMemSegments(8)
                .maxEventSize(3000)
                .flushPeriod(Duration.ofMinutes(10));
    }

    void open() {
        queue = MmapQueue.open(config().build());
    }

    void reopen() {
        queue.close();
        open();
    }

    /** Opens a copy of what a kill at this moment leaves. */
    void reopenAfterKill() {
        Path copy = Directories.copy(directory, temp.resolve("copy" + kills++));
        queue.close();
        directory = copy;
        assertIsWhole();
        open();
    }

    void assertIsWhole() {
        assertTrue(Verifier.verify(directory, Progress.NONE).isWhole());
    }

    /** Replaces the queue by a new one of format version 1. */
    void openVersion1() {
        queue.close();
        directory = temp.resolve("version-1");
        queue = MmapQueue.open(config().formatVersion(1).build());
    }

    void push(int count) {
        for (int i = 0; i < count; i++) {
            queue.push(Payload.numbered(queue.endOffset(), 300));
        }
    }

    /** Pushes until the ring is full; returns the number of records. */
    int fill() {
        for (int count = 0; ; count++) {
            try {
                push(1);
            } catch (FullException e) {
                return count;
            }
        }
    }
}
