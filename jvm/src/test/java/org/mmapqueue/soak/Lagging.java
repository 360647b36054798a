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

/** A process whose consumer falls behind further than max_consumer_lag allows, again and again. */
final class Lagging {
    private Lagging() {}

    /** Arguments: directory, consumer, seed, how often records are dropped for it before it ends. */
    public static void main(String[] args) throws Exception {
        RaceTally tally = new RaceTally();
        SplittableRandom random = new SplittableRandom(Long.parseLong(args[2]));
        try (MmapQueue queue = MmapQueue.open(RaceRecords.reader(Path.of(args[0])))) {
            Consumer consumer = queue.consumer(args[1], StartAt.EARLIEST);
            // Dropped before it was opened: what it had committed is behind what it stands at.
            tally.add("drops found at the opening", skipFirst(consumer));
            while (tally.of("dropped") < Long.parseLong(args[3])) {
                once(queue, consumer, random, tally);
            }
        } catch (RuntimeException e) {
            tally.fault(args[1], e);
        }
        tally.say();
    }

    private static int skipFirst(Consumer consumer) {
        long committed = consumer.committedOffset();
        try {
            consumer.peek();
            return 0;
        } catch (DroppedException e) {
            require(e.first() == 0 && e.last() + 1 >= committed, "stood at 0 and " + committed + ": " + e.getMessage());
            return 1;
        }
    }

    private static void once(MmapQueue queue, Consumer consumer, SplittableRandom random, RaceTally tally)
            throws InterruptedException {
        long next = consumer.readOffset();
        long committed = consumer.committedOffset();
        // What an ack commits that meets the drop is not dropped: the ack raises it, and has taken effect.
        long acked = committed;
        try {
            List<Message> batch = consumer.popBatch(1 + random.nextInt(200), Long.MAX_VALUE, RaceWriter.PATIENCE);
            require(!batch.isEmpty(), "nothing comes behind " + next);
            for (Message message : batch) {
                RaceRecords.check(message, next++);
            }
            tally.add("records read", batch.size());
            if (random.nextBoolean()) {
                acked = next - random.nextInt(batch.size());
                consumer.ack(acked - 1);
                committed = consumer.committedOffset();
            }
        } catch (DroppedException e) {
            require(
                    (e.first() == committed || e.first() == acked) && e.first() <= e.last(),
                    "stood at " + committed + ", acked before " + acked + ": " + e.getMessage());
            require(
                    consumer.readOffset() == e.last() + 1 && consumer.committedOffset() == e.last() + 1,
                    "stands at " + consumer.readOffset() + " after: " + e.getMessage());
            tally.count("dropped");
            tally.add("records dropped", e.last() - e.first() + 1);
        }
        long until = queue.endOffset() + (random.nextInt(4) == 0 ? random.nextInt(2 * RaceRecords.LAP) : 0);
        while (queue.endOffset() < until) {
            Thread.sleep(1);
        }
    }
}
