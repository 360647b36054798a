package org.mmapqueue.recovery;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.PoisonedException;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.PowerLossStorage;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.StorageQueue;

/** The open after a failed fsync: the kernel counts the pages as written, and reports the error to no later fsync. */
@Timeout(120)
class AfterFailedFsyncTest {
    private static final int RECORDS = 10;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final PowerLossStorage platter = new PowerLossStorage();
    private final FaultyStorage disk = new FaultyStorage(platter);

    private static QueueConfig config(Path at) {
        return QueueConfig.builder(at)
                .segmentSize(4096)
                .queueCapacitySegments(20)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    private static void push(StorageQueue queue, int number) {
        queue.pushOnce("p", number, List.of(Payload.of(number, 1000)), false);
    }

    // A flush in which the fsync of a file fails, whose pages the kernel then drops.
    private void assertPoisons(StorageQueue queue, String name) {
        disk.failWhen((call, path) -> {
            boolean fails = call == FaultyStorage.Call.SYNC && path.endsWith(name);
            if (fails) {
                platter.drop(path);
                disk.heal();
            }
            return fails;
        });
        assertThrows(PoisonedException.class, queue::flush);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0_segment.dat", "1_segment.dat", "named.dat", "p.dat", "meta.dat"})
    void whatTheNextProcessFlushesSurvives(String name) throws IOException {
        Path directory = temp.resolve("queue");
        disk.machine(1);
        try (StorageQueue queue = StorageQueue.open(config(directory), disk)) {
            queue.createConsumer("named", StartAt.EARLIEST);
            push(queue, 0);
            queue.flush();
            for (int i = 1; i < RECORDS; i++) {
                push(queue, i);
            }
            queue.ackUpTo("named", queue.poll("named").offset());
            assertPoisons(queue, name);
        }
        Path left = temp.resolve("left");
        try (StorageQueue queue = StorageQueue.open(config(directory), disk)) {
            queue.flush();
            platter.lose(directory, left, new SplittableRandom(1), 0);
        }
        try (StorageQueue queue = StorageQueue.open(config(left), new PowerLossStorage())) {
            assertEquals(RECORDS, queue.endOffset());
            assertEquals(OptionalLong.of(RECORDS - 1), queue.lastSequence("p"));
            for (int i = 1; i < RECORDS; i++) {
                Message found = queue.poll("named");
                assertEquals(i, found.offset());
                assertArrayEquals(Payload.of(i, 1000), found.data());
            }
            assertNull(queue.poll("named"));
        }
    }
}
