package org.mmapqueue.recovery;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.PowerLossStorage;
import org.mmapqueue.support.QuickDirectory;

/**
 * The offsets of records that a loss of power has taken are assigned again. What the disk still has of these records must
 * not become part of the log, wherever the next loss of power cuts.
 */
class ReassignedOffsetTest {
    private static final int SEGMENT = 4096;
    private static final int SECTOR = 512;
    /** Nine records fill a segment; the second one begins with a sector. */
    private static final int LENGTH = SECTOR - 64 - 16;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private static QueueConfig config(Path at) {
        return QueueConfig.builder(at)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(8)
                .maxEventSize(1000)
                .timestamps(false)
                .build();
    }

    private static void push(QueueCore core, long seed) {
        core.writer().push(Payload.of(seed, LENGTH), 0, LENGTH);
    }

    // What a loss of power may leave: what was fsynced, and some sectors of a segment that were not.
    private static void lose(PowerLossStorage disk, Path from, Path to, int firstSector, int endSector)
            throws IOException {
        disk.lose(from, to, new SplittableRandom(1), 0);
        byte[] now = Directories.read(from.resolve("1_segment.dat"));
        Path file = to.resolve("1_segment.dat");
        // A file that was made anew has zeros where nothing was stored.
        byte[] left = Arrays.copyOf(Files.exists(file) ? Directories.read(file) : new byte[0], SEGMENT);
        System.arraycopy(now, firstSector * SECTOR, left, firstSector * SECTOR, (endSector - firstSector) * SECTOR);
        Files.write(file, left);
        disk.adopt(to);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void lostRecordsDoNotComeBack(int firstSector) throws IOException {
        PowerLossStorage disk = new PowerLossStorage();
        Path first = temp.resolve("first");
        QueueCore core = Cores.open(config(first), disk);
        for (int i = 0; i < 9; i++) {
            push(core, i);
        }
        core.writer().flush();
        for (int i = 9; i < 18; i++) {
            push(core, 1000 + i);
        }
        Path second = temp.resolve("second");
        lose(disk, first, second, firstSector, SEGMENT / SECTOR);
        core.close();
        if (firstSector == 0) { // the records are there: the next ones are cut
            Directories.flip(second.resolve("1_segment.dat"), 100, 1);
        }

        core = Cores.open(config(second), disk);
        assertEquals(9, core.stats().endOffset());
        push(core, 9);
        Path third = temp.resolve("third");
        lose(disk, second, third, 0, 1);
        core.close();

        try (MmapQueue queue = MmapQueue.open(config(third))) {
            assertEquals(10, queue.endOffset());
            for (int i = 0; i < 10; i++) {
                assertArrayEquals(Payload.of(i, LENGTH), queue.consumer().pop().data());
            }
        }
    }
}
