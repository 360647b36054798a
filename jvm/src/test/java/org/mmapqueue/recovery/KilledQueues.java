package org.mmapqueue.recovery;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** Queues that a loss of power has left, with records of given lengths. */
abstract class KilledQueues {
    static final int SEGMENT = 4096;
    static final int META_WRITING = 512;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    int copies;

    QueueConfig config(Path at) {
        return QueueConfig.builder(at)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(16)
                .maxInMemSegments(5)
                .maxEventSize(10_000)
                .timestamps(false)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    MmapQueue open(Path at) {
        return MmapQueue.open(config(at));
    }

    Path kill(MmapQueue queue, Path at) {
        Path left = Directories.losePower(Directories.copy(at, temp.resolve("left-" + copies++)));
        queue.close();
        return left;
    }

    /** Records of these lengths, flushed after the first {@code flushed}; then killed. */
    Path left(int flushed, int... lengths) {
        Path directory = temp.resolve("queue-" + copies);
        MmapQueue queue = open(directory);
        queue.createConsumer("default", StartAt.EARLIEST);
        for (int i = 0; i < lengths.length; i++) {
            if (i == flushed) {
                queue.flush();
            }
            queue.push(Payload.of(i, lengths[i]));
        }
        return kill(queue, directory);
    }

    static List<byte[]> payloads(int from, int... lengths) {
        List<byte[]> payloads = new ArrayList<>();
        for (int i = from; i < lengths.length; i++) {
            payloads.add(Payload.of(i, lengths[i]));
        }
        return payloads;
    }

    static int[] lengths(int count, int length) {
        int[] lengths = new int[count];
        Arrays.fill(lengths, length);
        return lengths;
    }
}
