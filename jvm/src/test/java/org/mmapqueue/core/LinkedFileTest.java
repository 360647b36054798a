package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/** A symbolic link in the place of a file of a queue: the error names it, and its target is left alone. */
class LinkedFileTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private Path queue;

    private QueueConfig config(boolean readOnly) {
        return QueueConfig.builder(queue).readOnly(readOnly).build();
    }

    @BeforeEach
    void make() throws Exception {
        queue = temp.resolve("queue");
        try (MmapQueue made = MmapQueue.open(QueueConfig.builder(queue)
                .segmentSize(4096)
                .queueCapacitySegments(8)
                .maxEventSize(1000)
                .build())) {
            Consumer consumer = made.consumer("a", StartAt.EARLIEST);
            for (int i = 0; i < 10; i++) {
                made.push(new byte[1000]);
            }
            consumer.poll();
            made.pushOnce("p", 1, List.of(new byte[3]), Duration.ZERO);
        }
    }

    private static void use(MmapQueue open, boolean writes) throws Exception {
        try (open) {
            Consumer consumer = open.consumer("a", StartAt.EARLIEST);
            while (consumer.poll() != null) {
                consumer.ackUpTo(consumer.readOffset() - 1);
            }
            open.consumerStats();
            open.producerStats();
            if (writes) {
                open.lastSequence("p");
                for (int i = 0; i < 40; i++) {
                    open.push(new byte[1000], Duration.ofSeconds(60));
                    consumer.ackUpTo(consumer.poll().offset());
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "meta.dat",
                "lock",
                "0_segment.dat",
                "1_segment.dat",
                "2_segment.dat",
                "consumers",
                "consumers/a.dat",
                "consumers/a.lock",
                "consumers/a.inflight",
                "producers",
                "producers/p.dat"
            })
    void theLinkIsNamed(String file) throws Exception {
        Path elsewhere = temp.resolve("elsewhere");
        Files.move(queue.resolve(file), elsewhere);
        Files.createSymbolicLink(queue.resolve(file), elsewhere);
        Map<String, String> before = Directories.fingerprint(temp);
        if (!file.equals("lock")) { // a process that reads does not take it
            MmapQueueException reading =
                    assertThrows(MmapQueueException.class, () -> use(MmapQueue.open(config(true)), false));
            assertNames(file, reading);
        }
        MmapQueueException writing =
                assertThrows(MmapQueueException.class, () -> use(MmapQueue.open(config(false)), true));
        assertNames(file, writing);
        assertEquals(before.get("elsewhere"), Directories.fingerprint(temp).get("elsewhere"));
        if (!file.equals("consumers/a.lock")) { // a tool that only reads takes no consumer
            MmapQueueException tool =
                    assertThrows(MmapQueueException.class, () -> Verifier.verify(queue, Progress.NONE));
            assertNames(file, tool);
        }
    }

    private void assertNames(String file, MmapQueueException error) {
        assertTrue(error.getMessage().contains(queue.resolve(file) + ": is a symbolic link"), error.getMessage());
    }
}
