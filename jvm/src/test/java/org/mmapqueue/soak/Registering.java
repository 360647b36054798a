package org.mmapqueue.soak;

import static org.mmapqueue.soak.RaceRecords.require;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import org.mmapqueue.Consumer;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.OutOfRangeException;

/**
 * Makes consumers at all kinds of places, reads a while, seeks back, gives them up, takes them up again, deletes them.
 * Beside one of its own name, which it knows all about, it fights for one that others want, too. A thread of the
 * writer's process, or a process.
 */
final class Registering {
    static final String SHARED = "shared";
    private static final Duration SLICE = Duration.ofMillis(300);
    private static final long UNKNOWN = -1;

    private final MmapQueue queue;
    private final String own;
    private final String wanted;
    private final SplittableRandom random;
    private final RaceTally tally;
    /** Where the own consumer was given up. */
    private long givenUpAt = UNKNOWN;

    /**
     * Begins with nothing.
     *
     * @param own the name of a consumer that nobody else uses
     * @param wanted that of one which other processes want, too; threads of one process would share it
     */
    Registering(MmapQueue queue, String own, String wanted, long seed, RaceTally tally) {
        this.queue = queue;
        this.own = own;
        this.wanted = wanted;
        this.random = new SplittableRandom(seed);
        this.tally = tally;
    }

    /** Arguments: directory, own name, seed, how often. */
    public static void main(String[] args) throws Exception {
        RaceTally tally = new RaceTally();
        try (MmapQueue queue = MmapQueue.open(RaceRecords.reader(Path.of(args[0])))) {
            new Registering(queue, args[1], SHARED, Long.parseLong(args[2]), tally).run(Integer.parseInt(args[3]));
        }
        tally.say();
    }

    void run(int times) throws InterruptedException {
        for (int i = 0; i < times && tally.faults().isEmpty(); i++) {
            // What was given up holds its place in the ring: others would wait for it for ever.
            boolean shared = givenUpAt == UNKNOWN && random.nextInt(4) == 0;
            String name = shared ? wanted : own;
            try {
                once(name, shared);
            } catch (LockedException e) {
                if (!shared) {
                    fault(name, e);
                }
                tally.count("locked by another");
            } catch (RuntimeException e) {
                fault(name, e);
            }
        }
        delete(own);
    }

    private void fault(String name, RuntimeException fault) {
        tally.fault(own, fault);
        givenUpAt = UNKNOWN;
        delete(name);
    }

    private void delete(String name) {
        try {
            if (queue.consumers().contains(name)) {
                queue.deleteConsumer(name);
            }
        } catch (RuntimeException e) {
            tally.fault(own + " when it deletes " + name, e);
        }
    }

    private void once(String name, boolean shared) throws InterruptedException {
        StartAt start = place();
        long endBefore = queue.endOffset();
        if (shared && random.nextInt(3) == 0) {
            create(name, start);
        }
        Consumer consumer;
        try {
            consumer = queue.consumer(name, start);
        } catch (OutOfRangeException e) {
            checkRange(e);
            tally.count("made, out of range");
            return;
        }
        if (givenUpAt != UNKNOWN) {
            require(
                    consumer.committedOffset() == givenUpAt,
                    "given up at " + givenUpAt + ", taken up at " + consumer.committedOffset());
            givenUpAt = UNKNOWN;
            tally.count("taken up again");
        } else if (!shared) {
            checkBegin(start, consumer.readOffset(), endBefore);
            tally.count("made at " + start.kind());
        }
        read(consumer);
        if (random.nextInt(4) == 0) {
            checkStats(consumer);
        }
        if (!shared && random.nextInt(3) == 0) {
            givenUpAt = consumer.committedOffset();
            consumer.close();
        } else {
            queue.deleteConsumer(name);
            tally.count("deleted");
        }
    }

    private void checkStats(Consumer consumer) {
        ConsumerStats found = null;
        for (ConsumerStats each : queue.consumerStats()) {
            require(each.lagRecords() >= 0 && each.lagBytes() >= 0 && each.lagMicros() >= 0, each.toString());
            found = each.name().equals(consumer.name()) ? each : found;
        }
        require(
                found != null
                        && found.committedOffset() == consumer.committedOffset()
                        && found.unacked() == consumer.unacked(),
                consumer.name() + " stands at " + consumer.committedOffset() + " with " + consumer.unacked()
                        + " unacked, but " + found);
        tally.count("looks at statistics");
    }

    private void create(String name, StartAt start) {
        try {
            queue.createConsumer(name, start);
        } catch (OutOfRangeException e) {
            checkRange(e);
        }
    }

    private void read(Consumer consumer) throws InterruptedException {
        for (int round = random.nextInt(6); round > 0; round--) {
            // Who waits for records must not hold so many that they fill the ring.
            if (consumer.unacked() > 0) {
                consumer.ack(consumer.readOffset() - 1);
            }
            pop(consumer, 1 + random.nextInt(60));
            if (random.nextBoolean()) {
                consumer.ack(consumer.readOffset() - 1);
            }
            if (random.nextInt(3) == 0) {
                seek(consumer);
            }
        }
    }

    private void pop(Consumer consumer, int count) throws InterruptedException {
        long next = consumer.readOffset();
        for (int left = count; left > 0; ) {
            List<Message> batch = await(consumer, left);
            if (batch.isEmpty()) {
                throw new IllegalStateException("record " + next + " does not come; " + queue.consumerStats());
            }
            for (Message message : batch) {
                RaceRecords.check(message, next++);
            }
            left -= batch.size();
        }
        tally.add("records read", count);
    }

    // All that wanted the same one at the same moment may have been refused, and left it there, full of records.
    private List<Message> await(Consumer consumer, int most) throws InterruptedException {
        long deadline = System.nanoTime() + RaceWriter.PATIENCE.toNanos();
        List<Message> batch = consumer.popBatch(most, Long.MAX_VALUE, SLICE);
        while (batch.isEmpty() && System.nanoTime() - deadline < 0) {
            if (!consumer.name().equals(wanted)) {
                deleteWanted();
            }
            batch = consumer.popBatch(most, Long.MAX_VALUE, SLICE);
        }
        return batch;
    }

    private void deleteWanted() {
        try {
            queue.deleteConsumer(wanted);
            tally.count("deleted for others");
        } catch (LockedException | ConfigException e) {
            tally.count("nothing to delete for others");
        }
    }

    private void seek(Consumer consumer) {
        long committed = consumer.committedOffset();
        long read = consumer.readOffset();
        StartAt to = random.nextBoolean() ? StartAt.offset(Math.max(0, committed - random.nextInt(150))) : place();
        long endBefore = queue.endOffset();
        try {
            consumer.seek(to);
        } catch (OutOfRangeException e) {
            checkRange(e);
            require(
                    consumer.readOffset() == read && consumer.committedOffset() == committed,
                    "a seek that was refused has moved the consumer");
            tally.count("seek, out of range");
            return;
        }
        checkBegin(to, consumer.readOffset(), endBefore);
        require(
                to.kind() != StartAt.Kind.EARLIEST || consumer.readOffset() <= committed,
                "EARLIEST is " + consumer.readOffset() + ", but the consumer itself held " + committed);
        tally.count(consumer.readOffset() < committed ? "seek back" : "seek forward");
    }

    private StartAt place() {
        return switch (random.nextInt(5)) {
            case 0 -> StartAt.LATEST;
            case 1 -> StartAt.timestamp(System.currentTimeMillis() * 1000 - random.nextInt(8000));
            case 2, 3 -> {
                long first = queue.firstOffset();
                yield StartAt.offset(Math.max(0, first - 3 + random.nextLong(queue.endOffset() - first + 6)));
            }
            default -> StartAt.EARLIEST;
        };
    }

    private void checkBegin(StartAt place, long begin, long endBefore) {
        if (place.kind() == StartAt.Kind.OFFSET) {
            require(begin == place.value(), "begins at " + begin + ", was to begin at " + place.value());
        }
        require(
                place.kind() != StartAt.Kind.LATEST || begin >= endBefore,
                "the latest is " + begin + ", but the end was " + endBefore);
    }

    private static void checkRange(OutOfRangeException e) {
        require(
                e.first() <= e.last() + 1 && (e.requested() < e.first() || e.requested() > e.last()),
                "a range that makes no sense: " + e.getMessage());
    }
}
