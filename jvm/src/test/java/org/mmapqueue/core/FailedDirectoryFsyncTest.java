package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.Records;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.FailingFsyncs;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.QuickDirectory;

/** An fsync of a directory fails, once: no later call reports success, until the queue is opened again. */
@Timeout(120)
class FailedDirectoryFsyncTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final FailingFsyncs disk = new FailingFsyncs();
    private QueueConfig config;
    private QueueCore core;

    @BeforeEach
    void open() {
        config = QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(20)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
        core = Cores.open(config, disk);
        core.createConsumer("old", StartAt.EARLIEST);
        core.createConsumer("other", StartAt.EARLIEST);
        core.writer().push(new byte[10], 0, 10);
        core.writer().flush();
    }

    @AfterEach
    void close() {
        core.close();
    }

    private static void assertFails(String text, Executable call) {
        String message = assertThrows(MmapQueueException.class, call).getMessage();
        assertTrue(message.contains(text), message);
    }

    private void assertNoneSucceeds() {
        String earlier = "an earlier fsync of " + temp.resolve("queue").resolve("consumers") + " has failed";
        assertEquals(1, disk.failures());
        assertFails(earlier, () -> core.createConsumer("new", StartAt.EARLIEST));
        assertFails(earlier, () -> core.createConsumer("another", StartAt.EARLIEST));
        assertFails(earlier, () -> core.deleteConsumer("other"));
        core.close();
        core = Cores.open(config, DiskStorage.INSTANCE);
        core.createConsumer("new", StartAt.EARLIEST);
        core.deleteConsumer("new");
        assertTrue(core.consumerNames().contains("old"), core.consumerNames().toString());
    }

    @Test
    void ofACreation() {
        disk.failNext("consumers", () -> {});
        assertFails("Input/output error", () -> core.createConsumer("new", StartAt.EARLIEST));
        assertNoneSucceeds();
    }

    @Test
    void ofADeletion() {
        core.createConsumer("gone", StartAt.EARLIEST);
        disk.failNext("consumers", () -> {});
        assertFails("Input/output error", () -> core.deleteConsumer("gone"));
        assertTrue(!core.consumerNames().contains("gone"), core.consumerNames().toString());
        assertNoneSucceeds();
    }

    /** Also where the directory of the producers is made: it exists at the next call. */
    @ParameterizedTest
    @ValueSource(strings = {"producers", "queue"})
    void ofAnIdempotentProducer(String name) {
        Records one = Records.of(List.of(new byte[1]));
        disk.failNext(name, () -> {});
        assertFails(
                "Input/output error", () -> core.writer().producers().push("p", 1, null, one, 0, false, () -> false));
        for (String producer : List.of("p", "q")) {
            assertFails(
                    "an earlier fsync of ",
                    () -> core.writer().producers().push(producer, 1, null, one, 0, false, () -> false));
        }
    }

    /** For want of descriptors there was no fsync: the next one is right. */
    @Test
    void anFsyncThatHasNotBegunIsRepeated() {
        core.close();
        FaultyStorage faulty = new FaultyStorage();
        core = Cores.open(config, faulty);
        faulty.failWhen((call, path) -> call == FaultyStorage.Call.SYNC_DIRECTORY);
        assertFails("injected", () -> core.createConsumer("new", StartAt.EARLIEST));
        faulty.heal();
        core.createConsumer("new", StartAt.EARLIEST);
    }
}
