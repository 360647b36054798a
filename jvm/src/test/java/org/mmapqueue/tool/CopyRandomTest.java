package org.mmapqueue.tool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.copy.Copier;
import org.mmapqueue.tool.copy.RingSize;
import org.mmapqueue.tool.report.CopyReport;
import org.mmapqueue.tool.report.Progress;

/** Copies and resizes of random queues keep all that a program finds. */
@Tag("long-form")
@Tag("slow")
class CopyRandomTest {
    /** Queues; copy.rounds in the system properties sets another number. */
    private static final int ROUNDS = Integer.getInteger("copy.rounds", 40);

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    @Test
    void copiesHaveTheSameContent() {
        int copied = 0;
        for (long seed = 1; seed <= ROUNDS; seed++) {
            Random random = new Random(seed);
            Path path = temp.resolve("queue");
            new RandomQueue(seed, path, temp.resolve("aside")).make();
            QueueContent before = QueueContent.of(path, temp.resolve("read"));
            int segment = 4096 * (1 + random.nextInt(5));
            RingSize size = new RingSize((long) segment * (2 + random.nextInt(30)), segment);
            String fingerprint = Directories.fingerprint(path).toString();
            boolean inPlace = random.nextBoolean();
            Path target = inPlace ? path : temp.resolve("copy");
            try {
                CopyReport report = inPlace
                        ? Copier.resize(path, size, Progress.NONE)
                        : Copier.copy(path, target, size, Progress.NONE);
                assertEquals(before.end(), report.endOffset(), "seed " + seed);
                assertEquals(before, QueueContent.of(target, temp.resolve("read")), "seed " + seed + ": " + report);
                pushes(target, before.end());
                copied++;
            } catch (ConfigException e) {
                assertEquals(fingerprint, Directories.fingerprint(path).toString(), "seed " + seed);
            }
            if (!inPlace && target.toFile().exists()) {
                Directories.delete(target);
            }
            Directories.delete(path);
        }
        assertTrue(copied > ROUNDS / 4, copied + " of " + ROUNDS);
    }

    // The ring goes round, and offsets continue.
    private static void pushes(Path path, long end) {
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(path).build())) {
            for (long offset = end; offset < end + 300; offset++) {
                assertEquals(offset, queue.push(Payload.of((int) offset, 30)));
                if (offset % 50 == 0) {
                    for (String name : queue.consumers()) {
                        queue.consumer(name, StartAt.EARLIEST).seek(StartAt.LATEST);
                    }
                }
            }
        } catch (FullException e) {
            // Without a consumer nothing is acked, or the ring was full.
        }
    }
}
