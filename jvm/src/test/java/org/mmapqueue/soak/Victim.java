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

/**
 * The process that is killed: takes a consumer, pops, acks, seeks, gives it up, deletes it, without end, and says what
 * it begins and what it has done.
 *
 * <pre>
 * take            begins to take it, and to make it when it is not there
 * has OFFSET      has it, or has moved it; its committed offset
 * acked OFFSET    an ack has returned; the committed offset
 * moves           begins to seek
 * deletes         begins to delete it
 * deleted         has deleted it
 * fault TEXT      something that must not happen; begins anew
 * </pre>
 */
final class Victim {
    private static final FileOutputStream OUT = new FileOutputStream(FileDescriptor.out);

    private Victim() {}

    /** Arguments: directory, consumer, seed. */
    public static void main(String[] args) throws Exception {
        SplittableRandom random = new SplittableRandom(Long.parseLong(args[2]));
        try (MmapQueue queue = MmapQueue.open(RaceRecords.reader(Path.of(args[0])))) {
            while (true) {
                say("take");
                try {
                    live(queue, args[1], random);
                } catch (RuntimeException e) {
                    RaceTally tally = new RaceTally();
                    tally.fault("victim", e);
                    say("fault " + tally.faults().get(0));
                    delete(queue, args[1]);
                }
            }
        }
    }

    private static void delete(MmapQueue queue, String name) throws IOException {
        say("deletes");
        queue.deleteConsumer(name);
        say("deleted");
    }

    // One write for each line: a pipe takes it whole or not at all.
    private static void say(String line) throws IOException {
        OUT.write((line + "\n").getBytes(StandardCharsets.US_ASCII));
    }

    private static void live(MmapQueue queue, String name, SplittableRandom random) throws Exception {
        Consumer consumer = queue.consumer(name, random.nextBoolean() ? StartAt.EARLIEST : StartAt.LATEST);
        say("has " + consumer.committedOffset());
        for (int round = random.nextInt(4); round > 0; round--) {
            long next = consumer.readOffset();
            List<Message> batch = consumer.popBatch(1 + random.nextInt(50), Long.MAX_VALUE, Duration.ofSeconds(60));
            for (Message message : batch) {
                RaceRecords.check(message, next++);
            }
            RaceRecords.require(!batch.isEmpty(), "record " + next + " does not come");
            consumer.ack(next - 1);
            say("acked " + consumer.committedOffset());
            if (random.nextInt(3) == 0) {
                say("moves");
                try {
                    consumer.seek(
                            random.nextBoolean()
                                    ? StartAt.EARLIEST
                                    : StartAt.offset(Math.max(0, next - random.nextInt(100))));
                } catch (OutOfRangeException e) {
                    RaceRecords.require(e.first() <= e.last() + 1, e.getMessage());
                }
                say("has " + consumer.committedOffset());
            }
        }
        if (random.nextInt(3) == 0) {
            consumer.close();
        } else {
            delete(queue, name);
        }
    }
}
