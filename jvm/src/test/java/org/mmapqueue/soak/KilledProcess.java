package org.mmapqueue.soak;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.harness.Tally;

/**
 * The killed process: it opens a consumer, pops, acks, seeks, closes and deletes it, repeatedly, and prints each step.
 *
 * <pre>
 * opens           begins to open the consumer, or to create it
 * has OFFSET      has opened or moved it; the committed offset
 * acked OFFSET    an ack has returned; the committed offset
 * moves           begins to seek
 * deletes         begins to delete it
 * deleted         has deleted it
 * fault TEXT      a fault; starts again
 * </pre>
 */
final class KilledProcess {
    private static final FileOutputStream OUT = new FileOutputStream(FileDescriptor.out);

    private KilledProcess() {}

    /** Arguments: directory, consumer, seed. */
    public static void main(String[] args) throws Exception {
        SplittableRandom random = new SplittableRandom(Long.parseLong(args[2]));
        try (MmapQueue queue = MmapQueue.open(RaceRecords.reader(Path.of(args[0])))) {
            while (true) {
                print("opens");
                try {
                    use(queue, args[1], random);
                } catch (RuntimeException e) {
                    Tally tally = new Tally();
                    tally.fault("killed process", e);
                    print("fault " + tally.faults().get(0));
                    delete(queue, args[1]);
                }
            }
        }
    }

    private static void delete(MmapQueue queue, String name) throws IOException {
        print("deletes");
        queue.deleteConsumer(name);
        print("deleted");
    }

    // One write for each line: a kill cannot tear it.
    private static void print(String line) throws IOException {
        OUT.write((line + "\n").getBytes(StandardCharsets.US_ASCII));
    }

    private static void use(MmapQueue queue, String name, SplittableRandom random) throws Exception {
        Consumer consumer = queue.consumer(name, random.nextBoolean() ? StartAt.EARLIEST : StartAt.LATEST);
        print("has " + consumer.committedOffset());
        for (int round = random.nextInt(4); round > 0; round--) {
            long next = consumer.readOffset();
            List<Message> batch = consumer.popBatch(1 + random.nextInt(50), Long.MAX_VALUE, Duration.ofSeconds(60));
            for (Message message : batch) {
                RaceRecords.check(message, next++);
            }
            RaceRecords.require(!batch.isEmpty(), "record " + next + " has not come");
            consumer.ackUpTo(next - 1);
            print("acked " + consumer.committedOffset());
            if (random.nextInt(3) == 0) {
                print("moves");
                try {
                    consumer.seek(
                            random.nextBoolean()
                                    ? StartAt.EARLIEST
                                    : StartAt.offset(Math.max(0, next - random.nextInt(100))));
                } catch (OutOfRangeException e) {
                    RaceRecords.require(e.first() <= e.last() + 1, e.getMessage());
                }
                print("has " + consumer.committedOffset());
            }
        }
        if (random.nextInt(3) == 0) {
            consumer.close();
        } else {
            delete(queue, name);
        }
    }
}
