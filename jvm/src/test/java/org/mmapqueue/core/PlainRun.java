package org.mmapqueue.core;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.support.Payload;

/** A child process: pushes, pops and acks through several generations of a ring of which few segments are mapped. */
final class PlainRun {
    /** The most mapped segments. */
    static final int MAPPED = 4;

    private static final int RECORDS = 3_000;
    private static final int SEGMENT = 64 << 10;

    private PlainRun() {}

    public static void main(String[] arguments) throws IOException {
        Path directory = Path.of(arguments[0]);
        QueueConfig config = QueueConfig.builder(directory)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(16)
                .maxInMemSegments(MAPPED)
                .build();
        long most = 0;
        try (MmapQueue queue = MmapQueue.open(config)) {
            for (int i = 0; i < RECORDS; i++) {
                queue.push(Payload.numbered(i, 1_000));
                if (i % 100 == 99) {
                    queue.flush();
                    List<Message> popped = queue.consumer().pollBatch(100, Long.MAX_VALUE);
                    popped.forEach(each -> Payload.numberOf(each.data()));
                    queue.consumer().ackUpTo(popped.get(popped.size() - 1).offset());
                    most = Math.max(most, mappedSegments(directory));
                }
            }
            System.out.println("lag " + queue.consumer().lag());
        } catch (MmapQueueException e) {
            System.out.println("failed " + e.getMessage());
            return;
        }
        System.out.println("most " + most);
        System.out.println("left " + mappedSegments(directory));
    }

    // Read until two readings are equal: the kernel gives the list in parts, and mappings may change in between.
    private static long mappedSegments(Path directory) throws IOException {
        long last = -1;
        for (long found = listed(directory); ; found = listed(directory)) {
            if (found == last) {
                return found;
            }
            last = found;
        }
    }

    private static long listed(Path directory) throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.contains(directory.toString()) && line.endsWith("_segment.dat"))
                    .count();
        }
    }
}
