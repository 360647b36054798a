package org.mmapqueue.v1;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.PoisonedException;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.PowerLossStorage;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.support.StorageQueue;

/** What a loss of power leaves of a version 1 directory. */
@Timeout(120)
class V1PowerLossTest {
    private static final String DEFAULT = "default";

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    /** An fsync fails, and the kernel counts the pages as written. The next process keeps their records. */
    @Test
    void whatTheNextProcessFlushesSurvives() throws Exception {
        Path directory = temp.resolve("queue");
        Path left = temp.resolve("left");
        PowerLossStorage platter = new PowerLossStorage();
        FaultyStorage disk = new FaultyStorage(platter);
        try (StorageQueue queue =
                StorageQueue.open(V1WriteTest.config(directory).build(), disk)) {
            queue.createConsumer(DEFAULT, StartAt.EARLIEST);
            queue.push(Payload.of(1, 100));
            disk.failWhen((call, path) -> {
                boolean fails = call == FaultyStorage.Call.SYNC && path.endsWith("0_segment.dat");
                if (fails) {
                    platter.drop(path);
                    disk.heal();
                }
                return fails;
            });
            assertThrows(PoisonedException.class, queue::flush);
        }
        QueueConfig keeping = V1WriteTest.config(directory).v1Recover("writing").build();
        try (StorageQueue queue = StorageQueue.open(keeping, disk)) {
            queue.flush();
            platter.lose(directory, left, new SplittableRandom(1), 0);
        }
        try (StorageQueue queue = StorageQueue.open(V1WriteTest.config(left).build(), new PowerLossStorage())) {
            assertArrayEquals(Payload.of(1, 100), queue.poll(DEFAULT).data());
        }
    }

    @Test
    void aSyncPushSurvives() throws Exception {
        Path directory = temp.resolve("queue");
        Path left = temp.resolve("left");
        PowerLossStorage storage = new PowerLossStorage();
        try (StorageQueue queue =
                StorageQueue.open(V1WriteTest.config(directory).build(), storage)) {
            queue.createConsumer(DEFAULT, StartAt.EARLIEST);
            queue.push(Payload.of(1, 100));
            queue.awaitDurable();
            queue.push(Payload.of(2, 100));
            storage.lose(directory, left, new SplittableRandom(1), 0);
        }
        try (StorageQueue queue = StorageQueue.open(V1WriteTest.config(left).build(), new PowerLossStorage())) {
            Message found = queue.poll(DEFAULT);
            assertNotNull(found, "the record of the sync push");
            assertArrayEquals(Payload.of(1, 100), found.data());
            assertNull(queue.poll(DEFAULT));
        }
    }
}
