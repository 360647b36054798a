package org.mmapqueue.soak;

import static org.mmapqueue.soak.RaceRecords.require;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.harness.Tally;

/** A process that acks every record of a queue: one by one in any order, several, all up to one, or after a nack. */
final class AckedRecords {
    private static final int HELD = 100;

    private final Consumer consumer;
    private final long total;
    private final SplittableRandom random;
    private final Tally tally;
    private final BitSet done = new BitSet();
    private final BitSet requeued = new BitSet();
    private final List<Long> held = new ArrayList<>();
    private long seen;

    private AckedRecords(Consumer consumer, long total, long seed, Tally tally) {
        this.consumer = consumer;
        this.total = total;
        this.random = new SplittableRandom(seed);
        this.tally = tally;
    }

    /** Arguments: directory, consumer, number of records, seed. */
    public static void main(String[] args) throws Exception {
        Tally tally = new Tally();
        try (MmapQueue queue = MmapQueue.open(RaceRecords.reader(Path.of(args[0])))) {
            new AckedRecords(
                            queue.consumer(args[1], StartAt.EARLIEST),
                            Long.parseLong(args[2]),
                            Long.parseLong(args[3]),
                            tally)
                    .run();
        } catch (RuntimeException e) {
            tally.fault(args[1], e);
        }
        tally.print();
    }

    private void run() throws InterruptedException {
        while (done.cardinality() < total) {
            // If nothing is held, a record must come: only held records can fill the ring.
            Duration wait = held.isEmpty() ? RaceWriter.LIMIT : Duration.ZERO;
            List<Message> batch = consumer.popBatch(1 + random.nextInt(40), Long.MAX_VALUE, wait);
            require(!batch.isEmpty() || !held.isEmpty(), "no record comes after " + seen);
            batch.forEach(this::hold);
            int left = batch.isEmpty() ? 0 : HELD;
            while (held.size() > left) {
                ackOne();
            }
        }
        require(
                consumer.committedOffset() == total && consumer.unacked() == 0 && seen == total,
                "all is acked, but committed is " + consumer.committedOffset() + " of " + total);
        tally.add("records acked", total);
    }

    private void hold(Message message) {
        long offset = message.offset();
        RaceRecords.check(message, offset);
        require(!done.get((int) offset) && !held.contains(offset), offset + " is redelivered");
        boolean again = requeued.get((int) offset);
        require(again == message.attempts() > 1, offset + " comes with attempts = " + message.attempts());
        require(again || offset == seen, offset + " comes, expected " + seen);
        seen = Math.max(seen, offset + 1);
        held.add(offset);
    }

    private void ackOne() {
        int at = random.nextInt(held.size());
        long offset = held.get(at);
        switch (random.nextInt(8)) {
            case 0 -> {
                consumer.nack(offset);
                held.remove(at);
                requeued.set((int) offset);
                tally.count("nacks");
            }
            case 1 -> {
                List<Long> some = new ArrayList<>(held.subList(at, held.size()));
                consumer.ack(some.stream().mapToLong(Long::longValue).toArray());
                some.forEach(this::done);
                tally.count("acks of several");
            }
            case 2 -> {
                // Acks requeued records as well, unless they are later.
                consumer.ackUpTo(offset);
                done.set(0, (int) offset + 1);
                held.removeIf(each -> each <= offset);
                tally.count("acks of all up to one");
            }
            default -> {
                consumer.ack(offset);
                done(offset);
                tally.count("acks of one");
            }
        }
    }

    private void done(long offset) {
        done.set((int) offset);
        held.remove(offset);
    }
}
