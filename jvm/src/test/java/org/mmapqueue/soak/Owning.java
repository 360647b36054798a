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

/** A process that deals with every record of a queue: acks one by one in any order, several, all, or gives back. */
final class Owning {
    private static final int HELD = 100;

    private final Consumer consumer;
    private final long total;
    private final SplittableRandom random;
    private final RaceTally tally;
    private final BitSet done = new BitSet();
    private final BitSet givenBack = new BitSet();
    private final List<Long> held = new ArrayList<>();
    private long seen;

    private Owning(Consumer consumer, long total, long seed, RaceTally tally) {
        this.consumer = consumer;
        this.total = total;
        this.random = new SplittableRandom(seed);
        this.tally = tally;
    }

    /** Arguments: directory, consumer, number of records, seed. */
    public static void main(String[] args) throws Exception {
        RaceTally tally = new RaceTally();
        try (MmapQueue queue = MmapQueue.open(RaceRecords.reader(Path.of(args[0])))) {
            new Owning(
                            queue.consumer(args[1], StartAt.EARLIEST),
                            Long.parseLong(args[2]),
                            Long.parseLong(args[3]),
                            tally)
                    .run();
        } catch (RuntimeException e) {
            tally.fault(args[1], e);
        }
        tally.say();
    }

    private void run() throws InterruptedException {
        while (done.cardinality() < total) {
            // With nothing in hand there must come something: only what is held can keep the writer from pushing.
            Duration patience = held.isEmpty() ? RaceWriter.PATIENCE : Duration.ZERO;
            List<Message> batch = consumer.popBatch(1 + random.nextInt(40), Long.MAX_VALUE, patience);
            require(!batch.isEmpty() || !held.isEmpty(), "nothing comes behind " + seen);
            batch.forEach(this::take);
            int left = batch.isEmpty() ? 0 : HELD;
            while (held.size() > left) {
                deal();
            }
        }
        require(
                consumer.committedOffset() == total && consumer.unacked() == 0 && seen == total,
                "all is acked, but committed is " + consumer.committedOffset() + " of " + total);
        tally.add("records acked", total);
    }

    private void take(Message message) {
        long offset = message.offset();
        RaceRecords.check(message, offset);
        require(!done.get((int) offset) && !held.contains(offset), offset + " comes again");
        boolean again = givenBack.get((int) offset);
        require(again == message.attempts() > 1, offset + " comes with attempts = " + message.attempts());
        require(again || offset == seen, offset + " comes, " + seen + " was to come");
        seen = Math.max(seen, offset + 1);
        held.add(offset);
    }

    private void deal() {
        int at = random.nextInt(held.size());
        long offset = held.get(at);
        switch (random.nextInt(8)) {
            case 0 -> {
                consumer.nack(offset);
                held.remove(at);
                givenBack.set((int) offset);
                tally.count("given back");
            }
            case 1 -> {
                List<Long> some = new ArrayList<>(held.subList(at, held.size()));
                consumer.ackSingle(some.stream().mapToLong(Long::longValue).toArray());
                some.forEach(this::done);
                tally.count("acks of several");
            }
            case 2 -> {
                // What was given back is acked so, too, unless it is beyond.
                consumer.ack(offset);
                done.set(0, (int) offset + 1);
                held.removeIf(each -> each <= offset);
                tally.count("acks of all up to one");
            }
            default -> {
                consumer.ackSingle(offset);
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
