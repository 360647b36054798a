package org.mmapqueue.crash;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

import org.mmapqueue.errors.FullException;
import org.mmapqueue.queue.MmapQueue;

/** Pushes records and batches, some of them synced. */
final class Producer extends Actor {
    private static final Duration PATIENCE = Duration.ofMillis(20);

    private final Plan plan;
    private final int round;
    private long next;

    Producer(int number, Journal journal, SplittableRandom random, Plan plan, int round) {
        super(number, journal, random);
        this.plan = plan;
        this.round = round;
    }

    @Override
    void step(MmapQueue queue) throws InterruptedException {
        List<byte[]> batch = batch();
        long key = Numbered.key(round, number, next);
        journal.begin(Event.Kind.PUSH, number, key, batch.size());
        try {
            long offset = batch.size() > 1 ? queue.pushBatch(batch, PATIENCE)
                    : oneIn(20) ? queue.pushSync(batch.get(0), PATIENCE) : queue.push(batch.get(0), PATIENCE);
            journal.done(Event.Kind.PUSH, number, offset);
            next += batch.size();
        } catch (FullException e) {
            journal.refused(Event.Kind.PUSH, number);
        }
        pause(plan.pauseMicros());
    }

    private List<byte[]> batch() {
        List<Integer> lengths = new ArrayList<>(List.of(plan.length(random)));
        int left = plan.mostBatchBytes() - lengths.get(0);
        int most = oneIn(3) ? 1 + random.nextInt(plan.maxBatch()) : 1;
        while (lengths.size() < most) {
            int length = plan.length(random);
            left -= length + 24;
            if (left < 0) {
                break;
            }
            lengths.add(length);
        }
        List<byte[]> batch = new ArrayList<>();
        for (int i = 0; i < lengths.size(); i++) {
            Numbered record = new Numbered(Numbered.key(round, number, next + i), lengths.size(), i);
            batch.add(record.bytes(lengths.get(i)));
        }
        return batch;
    }
}
