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
import org.mmapqueue.harness.Tally;
import org.mmapqueue.support.Micros;

/**
 * Consumer churn: creates consumers at any offset, reads, seeks, closes, opens again, deletes. It has a consumer of its
 * own with a known state, and contends for a shared one. It runs as a thread of the writer's process, or as a
 * process.
 */
final class ConsumerChurn {
    static final String SHARED = "shared";
    private static final Duration SLICE = Duration.ofMillis(300);
    private static final long UNKNOWN = -1;

    private final MmapQueue queue;
    private final String own;
    private final String contended;
    private final SplittableRandom random;
    private final Tally tally;
    /** The committed offset at which the own consumer was closed. */
    private long closedAt = UNKNOWN;

    /**
     * Creates no consumer yet.
     *
     * @param own the name of a consumer that no other thread uses
     * @param contended the name of a consumer that other processes use as well; threads of one process would share it
     */
    ConsumerChurn(MmapQueue queue, String own, String contended, long seed, Tally tally) {
        this.queue = queue;
        this.own = own;
        this.contended = contended;
        this.random = new SplittableRandom(seed);
        this.tally = tally;
    }

    /** Arguments: directory, own name, seed, rounds. */
    public static void main(String[] args) throws Exception {
        Tally tally = new Tally();
        try (MmapQueue queue = MmapQueue.open(RaceRecords.reader(Path.of(args[0])))) {
            new ConsumerChurn(queue, args[1], SHARED, Long.parseLong(args[2]), tally).run(Integer.parseInt(args[3]));
        }
        tally.print();
    }

    void run(int times) throws InterruptedException {
        for (int i = 0; i < times && tally.faults().isEmpty(); i++) {
            // A closed consumer retains its records: others would wait for it without end.
            boolean shared = closedAt == UNKNOWN && random.nextInt(4) == 0;
            String name = shared ? contended : own;
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
        closedAt = UNKNOWN;
        delete(name);
    }

    private void delete(String name) {
        try {
            if (queue.consumers().contains(name)) {
                queue.deleteConsumer(name);
            }
        } catch (RuntimeException e) {
            tally.fault(own + ", deleting " + name, e);
        }
    }

    private void once(String name, boolean shared) throws InterruptedException {
        StartAt start = anyStart();
        long endBefore = queue.endOffset();
        if (shared && random.nextInt(3) == 0) {
            create(name, start);
        }
        Consumer consumer;
        try {
            consumer = queue.consumer(name, start);
        } catch (OutOfRangeException e) {
            checkRange(e);
            tally.count("created, out of range");
            return;
        }
        if (closedAt != UNKNOWN) {
            require(
                    consumer.committedOffset() == closedAt,
                    "closed at " + closedAt + ", opened at " + consumer.committedOffset());
            closedAt = UNKNOWN;
            tally.count("opened again");
        } else if (!shared) {
            checkStart(start, consumer.readOffset(), endBefore);
            tally.count("created at " + start.kind());
        }
        read(consumer);
        if (random.nextInt(4) == 0) {
            checkStats(consumer);
        }
        if (!shared && random.nextInt(3) == 0) {
            closedAt = consumer.committedOffset();
            consumer.close();
        } else {
            queue.deleteConsumer(name);
            tally.count("deleted");
        }
    }

    private void checkStats(Consumer consumer) {
        ConsumerStats found = null;
        for (ConsumerStats each : queue.consumerStats()) {
            require(
                    each.lagRecords() >= 0
                            && each.lagBytes() >= 0
                            && !each.lagTime().orElse(Duration.ZERO).isNegative(),
                    each.toString());
            found = each.name().equals(consumer.name()) ? each : found;
        }
        require(
                found != null
                        && found.committedOffset() == consumer.committedOffset()
                        && found.unacked() == consumer.unacked(),
                consumer.name() + " has committed " + consumer.committedOffset() + " with " + consumer.unacked()
                        + " unacked, but " + found);
        tally.count("reads statistics");
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
            // A thread that waits for records must not retain a full ring.
            if (consumer.unacked() > 0) {
                consumer.ackUpTo(consumer.readOffset() - 1);
            }
            pop(consumer, 1 + random.nextInt(60));
            if (random.nextBoolean()) {
                consumer.ackUpTo(consumer.readOffset() - 1);
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
                throw new IllegalStateException("record " + next + " has not come; " + queue.consumerStats());
            }
            for (Message message : batch) {
                RaceRecords.check(message, next++);
            }
            left -= batch.size();
        }
        tally.add("records read", count);
    }

    // If all threads found the contended consumer locked, it still exists and retains a full ring.
    private List<Message> await(Consumer consumer, int most) throws InterruptedException {
        long deadline = System.nanoTime() + RaceWriter.LIMIT.toNanos();
        List<Message> batch = consumer.popBatch(most, Long.MAX_VALUE, SLICE);
        while (batch.isEmpty() && System.nanoTime() - deadline < 0) {
            if (!consumer.name().equals(contended)) {
                deleteContended();
            }
            batch = consumer.popBatch(most, Long.MAX_VALUE, SLICE);
        }
        return batch;
    }

    private void deleteContended() {
        try {
            queue.deleteConsumer(contended);
            tally.count("deleted for others");
        } catch (LockedException | ConfigException e) {
            tally.count("nothing to delete for others");
        }
    }

    private void seek(Consumer consumer) {
        long committed = consumer.committedOffset();
        long read = consumer.readOffset();
        StartAt to = random.nextBoolean() ? StartAt.offset(Math.max(0, committed - random.nextInt(150))) : anyStart();
        long endBefore = queue.endOffset();
        try {
            consumer.seek(to);
        } catch (OutOfRangeException e) {
            checkRange(e);
            require(
                    consumer.readOffset() == read && consumer.committedOffset() == committed,
                    "a seek that threw has moved the consumer");
            tally.count("seek, out of range");
            return;
        }
        checkStart(to, consumer.readOffset(), endBefore);
        require(
                to.kind() != StartAt.Kind.EARLIEST || consumer.readOffset() <= committed,
                "EARLIEST is " + consumer.readOffset() + ", but the consumer itself held " + committed);
        tally.count(consumer.readOffset() < committed ? "seek back" : "seek forward");
    }

    private StartAt anyStart() {
        return switch (random.nextInt(5)) {
            case 0 -> StartAt.LATEST;
            case 1 -> StartAt.timestamp(Micros.instant(System.currentTimeMillis() * 1000 - random.nextInt(8000)));
            case 2, 3 -> {
                long first = queue.firstOffset();
                yield StartAt.offset(Math.max(0, first - 3 + random.nextLong(queue.endOffset() - first + 6)));
            }
            default -> StartAt.EARLIEST;
        };
    }

    private void checkStart(StartAt start, long offset, long endBefore) {
        if (start.kind() == StartAt.Kind.OFFSET) {
            require(offset == start.value(), "starts at " + offset + ", expected " + start.value());
        }
        require(
                start.kind() != StartAt.Kind.LATEST || offset >= endBefore,
                "the latest is " + offset + ", but the end was " + endBefore);
    }

    private static void checkRange(OutOfRangeException e) {
        require(
                e.first() <= e.last() + 1 && (e.requested() < e.first() || e.requested() > e.last()),
                "the range contradicts itself: " + e.getMessage());
    }
}
