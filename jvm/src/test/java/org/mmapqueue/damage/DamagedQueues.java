package org.mmapqueue.damage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** Copies of a closed queue and of a killed one, to be damaged. */
abstract class DamagedQueues {
    static final int SEGMENT = 4096;
    static final int RECORDS = 40;

    @TempDir(factory = QuickDirectory.class)
    Path temp;
    /** A queue over four segments, everything flushed, the first three records acked. */
    Path clean;
    /** The same, killed; the last records have not been flushed. */
    Path killed;

    int copies;

    static QueueConfig config(Path at) {
        return QueueConfig.builder(at)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(10)
                .maxInMemSegments(6)
                .maxEventSize(6000)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    static byte[] record(int number) {
        return Payload.of(number, number == 12 ? 5000 : number * 37 % 300);
    }

    @BeforeEach
    void make() {
        clean = temp.resolve("clean");
        MmapQueue queue = MmapQueue.open(config(clean));
        queue.createConsumer("named", StartAt.EARLIEST);
        for (int i = 0; i < RECORDS; i++) {
            if (i == RECORDS - 8) {
                Payload.drain(queue);
                queue.consumer().ackUpTo(2);
                queue.flush();
            }
            queue.push(record(i));
        }
        killed = Directories.copyOpen(clean, temp.resolve("killed"), SEGMENT);
        queue.close();
    }

    Path copy(Path from) {
        return Directories.copy(from, temp.resolve("copy-" + copies++));
    }

    static List<byte[]> records(int from, int to) {
        List<byte[]> records = new ArrayList<>();
        for (int i = from; i < to; i++) {
            records.add(record(i));
        }
        return records;
    }

    /** The open throws with a position in this file, and changes no byte. */
    static CorruptException assertRefused(Path at, String file) {
        Map<String, String> before = Directories.fingerprint(at);
        CorruptException refused = assertThrows(CorruptException.class, () -> MmapQueue.open(config(at)));
        assertTrue(refused.file().endsWith(file), refused.getMessage());
        assertTrue(refused.getMessage().contains(refused.file()), refused.getMessage());
        assertEquals(before, Directories.fingerprint(at));
        return refused;
    }

    /** The open or a pop throws with a position; the records before are right. */
    static int assertTruthOrError(Path at) {
        int right = 3;
        try (MmapQueue queue = MmapQueue.open(config(at))) {
            assertTrue(queue.endOffset() <= RECORDS, "end " + queue.endOffset());
            Consumer consumer = queue.consumer();
            assertEquals(3, consumer.readOffset());
            for (Message message = consumer.poll(); message != null; message = consumer.poll()) {
                Payload.assertMessages(right, records(right, right + 1), List.of(message));
                right++;
            }
            assertEquals(right, queue.endOffset());
            queue.push(new byte[10]);
            Payload.assertMessages(right, List.of(new byte[10]), Payload.drain(consumer));
        } catch (CorruptException e) {
            assertTrue(e.file().startsWith(at.toString()), e.getMessage());
            assertTrue(e.position() >= 0 && e.position() <= SEGMENT, e.getMessage());
        }
        return right;
    }
}
