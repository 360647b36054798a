package org.mmapqueue.tool.copy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.recovery.RingSwitch;
import org.mmapqueue.support.ChildJvm;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.QueueContent;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.verify.Verifier;

/** Resizes that are killed before calls at random lose nothing. */
@Tag("long-form")
class ResizeKillTest {
    /** Kills; resize.kills in the system properties sets another number. */
    private static final int KILLS = Integer.getInteger("resize.kills", 6);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @Test
    void aKilledResizeLosesNothing() throws Exception {
        Path path = temp.resolve("queue");
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(path)
                .segmentSize(4096)
                .queueCapacitySegments(200)
                .maxEventSize(9000)
                .build())) {
            Consumer consumer = queue.consumer("b", StartAt.EARLIEST);
            for (int i = 0; i < 600; i++) {
                queue.push(Payload.of(i, i % 50 == 7 ? 9000 : 400));
            }
            for (int i = 0; i < 40; i++) {
                consumer.poll();
            }
            consumer.ackUpTo(20);
            consumer.ack(30);
            consumer.nack(35);
            queue.pushOnce("p", 9, List.of(new byte[50]), Duration.ZERO);
        }
        QueueContent before = QueueContent.of(path, temp.resolve("read"));
        Random random = new Random(1);
        int interrupted = 0;
        int committed = 0;
        for (int kill = 0; kill < KILLS; kill++) {
            RingSize size = new RingSize((40 + kill % 3) * 16384L, 4096L << kill % 3);
            Path copy = Directories.copy(path, temp.resolve("counted"));
            int calls = ResizingProcess.resize(copy, size, 0);
            Directories.delete(copy);
            // Kills are spread over the whole resize.
            int first = calls * kill / KILLS;
            int stopsAt = 1 + first + random.nextInt(calls * (kill + 1) / KILLS - first);
            try (ChildJvm child =
                    new ChildJvm(ResizingProcess.class, path, size.capacity(), size.segmentSize(), stopsAt)) {
                child.expect("at");
                child.kill();
            }
            interrupted += RingSwitch.isInterrupted(path) ? 1 : 0;
            committed += RingSwitch.isCommitted(path) ? 1 : 0;
            if (random.nextBoolean()) {
                Copier.resize(path, new RingSize(0, 0), Progress.NONE);
            }
            assertEquals(before, QueueContent.of(path, temp.resolve("read")), "kill " + kill);
            MmapQueue.open(QueueConfig.builder(path).build()).close();
            assertTrue(Verifier.verify(path, Progress.NONE).isWhole(), "kill " + kill);
        }
        System.out.println(KILLS + " kills, " + interrupted + " within a resize, " + committed + " after its commit");
        // The first call makes the copy's directory, the last one follows the switch.
        assertTrue(interrupted >= KILLS - 2 && committed > 0);
    }
}
