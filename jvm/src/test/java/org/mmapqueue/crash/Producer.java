package org.mmapqueue.crash;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.Records;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.harness.TestRecord;

/** Pushes records and batches, some of them synced, some of them idempotent. */
final class Producer extends Actor {
    private static final Duration WAIT = Duration.ofMillis(20);

    private final Plan plan;
    private final int round;
    private long next;
    private long sequence = -1;

    Producer(int number, Journal journal, SplittableRandom random, Plan plan, int round) {
        super(number, journal, random);
        this.plan = plan;
        this.round = round;
    }

    @Override
    void step(MmapQueue queue) throws InterruptedException {
        List<byte[]> batch = batch();
        if (plan.version() == 2 && oneIn(4)) {
            pushOnce(queue, batch);
        } else {
            push(queue, batch);
        }
        pause(plan.pauseMicros());
    }

    private void push(MmapQueue queue, List<byte[]> batch) throws InterruptedException {
        long key = TestRecord.key(round, number, next);
        journal.begin(Event.Kind.PUSH, number, key, batch.size());
        try {
            long offset = batch.size() > 1
                    ? queue.pushBatch(batch, WAIT)
                    : oneIn(20) ? queue.pushSync(batch.get(0), WAIT) : queue.push(batch.get(0), WAIT);
            journal.done(Event.Kind.PUSH, number, offset);
            next += batch.size();
        } catch (FullException e) {
            journal.threw(Event.Kind.PUSH, number);
        }
    }

    // The first sequence is the last one of the process before, pushed again.
    private void pushOnce(MmapQueue queue, List<byte[]> batch) throws InterruptedException {
        String name = ProducerModel.name(number);
        if (sequence < 0) {
            sequence = queue.lastSequence(name).orElse(0);
        } else if (!oneIn(3)) {
            sequence += 1 + random.nextInt(3);
        }
        journal.begin(
                Event.Kind.IDEMPOTENT_PUSH,
                number,
                TestRecord.key(round, number, next),
                batch.size(),
                number,
                sequence);
        try {
            long offset = queue.pushOnce(name, sequence, Records.of(batch), WAIT, oneIn(5))
                    .orElse(-1);
            journal.done(Event.Kind.IDEMPOTENT_PUSH, number, offset);
            next += offset < 0 ? 0 : batch.size();
        } catch (FullException e) {
            journal.threw(Event.Kind.IDEMPOTENT_PUSH, number);
        }
    }

    private List<byte[]> batch() {
        List<Integer> lengths = new ArrayList<>(List.of(plan.length(random)));
        int left = plan.maxBatchBytes() - lengths.get(0);
        int most = oneIn(3) ? 1 + random.nextInt(plan.maxBatch()) : 1;
        while (lengths.size() < most) {
            int length = plan.length(random);
            left -= length + 24;
            if (left < 0) {
                break;
            }
            lengths.add(length);
        }
        return TestRecord.batch(TestRecord.key(round, number, next), lengths);
    }
}
