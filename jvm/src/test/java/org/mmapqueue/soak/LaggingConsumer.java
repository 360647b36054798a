package org.mmapqueue.soak;

import static org.mmapqueue.soak.RaceRecords.require;

import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.harness.Tally;

/** A process with a consumer that repeatedly lags by more than max_consumer_lag. */
final class LaggingConsumer {
    private LaggingConsumer() {}

    /** Arguments: directory, consumer, seed, number of drops before it ends. */
    public static void main(String[] args) throws Exception {
        Tally tally = new Tally();
        SplittableRandom random = new SplittableRandom(Long.parseLong(args[2]));
        try (MmapQueue queue = MmapQueue.open(RaceRecords.reader(Path.of(args[0])))) {
            Consumer consumer = queue.consumer(args[1], StartAt.EARLIEST);
            // Dropped before it was opened: the first pop reports it.
            tally.add("drops found at the opening", skipFirst(consumer));
            while (tally.of("dropped") < Long.parseLong(args[3])) {
                once(queue, consumer, random, tally);
            }
        } catch (RuntimeException e) {
            tally.fault(args[1], e);
        }
        tally.print();
    }

    private static int skipFirst(Consumer consumer) {
        long committed = consumer.committedOffset();
        try {
            consumer.peek();
            return 0;
        } catch (DroppedException e) {
            require(
                    e.first() == 0 && e.last() + 1 >= committed,
                    "committed 0 and " + committed + ": " + e.getMessage());
            return 1;
        }
    }

    private static void once(MmapQueue queue, Consumer consumer, SplittableRandom random, Tally tally)
            throws InterruptedException {
        long next = consumer.readOffset();
        long committed = consumer.committedOffset();
        // An ack that meets a drop throws and takes effect: the records that it acks are not dropped.
        long acked = committed;
        try {
            List<Message> batch = consumer.popBatch(1 + random.nextInt(200), Long.MAX_VALUE, RaceWriter.LIMIT);
            require(!batch.isEmpty(), "no record comes after " + next);
            for (Message message : batch) {
                RaceRecords.check(message, next++);
            }
            tally.add("records read", batch.size());
            if (random.nextBoolean()) {
                acked = next - random.nextInt(batch.size());
                consumer.ackUpTo(acked - 1);
                committed = consumer.committedOffset();
            }
        } catch (DroppedException e) {
            require(
                    (e.first() == committed || e.first() == acked) && e.first() <= e.last(),
                    "committed " + committed + ", acked before " + acked + ": " + e.getMessage());
            require(
                    consumer.readOffset() == e.last() + 1 && consumer.committedOffset() == e.last() + 1,
                    "reads at " + consumer.readOffset() + " after: " + e.getMessage());
            tally.count("dropped");
            tally.add("records dropped", e.last() - e.first() + 1);
        }
        long until = queue.endOffset() + (random.nextInt(4) == 0 ? random.nextInt(2 * RaceRecords.GENERATION) : 0);
        while (queue.endOffset() < until) {
            Thread.sleep(1);
        }
    }
}
