package org.mmapqueue.crash;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.TreeSet;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.harness.TestRecord;

/** Pops and acks, in order and out of it, and nacks. It also seeks if it is the consumer's only thread. */
final class Popper extends Actor {
    private static final Duration WAIT = Duration.ofMillis(5);
    private static final int MAX = 100;

    private final Plan plan;
    private final int index;
    private final Consumer consumer;
    /** The records in flight that this thread has popped. */
    private final TreeSet<Long> inFlight = new TreeSet<>();

    Popper(int number, Journal journal, SplittableRandom random, Plan plan, int index, Consumer consumer) {
        super(number, journal, random);
        this.plan = plan;
        this.index = index;
        this.consumer = consumer;
    }

    @Override
    void step(MmapQueue queue) throws InterruptedException {
        pop();
        if (!inFlight.isEmpty()) {
            switch (random.nextInt(6)) {
                case 0, 1 -> ack(oneIn(2) ? inFlight.last() : any());
                case 2 -> ackSingle();
                case 3 -> nack();
                default -> {}
            }
        }
        if (plan.version() == 2 && plan.isSolo(index) && oneIn(40)) {
            seek(queue);
        }
    }

    private long any() {
        return new ArrayList<>(inFlight).get(random.nextInt(inFlight.size()));
    }

    void pop() throws InterruptedException {
        journal.begin(Event.Kind.POP, number, index);
        List<Message> batch = consumer.popBatch(1 + random.nextInt(oneIn(4) ? MAX : 8), 1 << 20, WAIT);
        long[] values = new long[1 + 2 * batch.size()];
        values[0] = index;
        for (int i = 0; i < batch.size(); i++) {
            long offset = batch.get(i).offset();
            values[1 + 2 * i] = offset;
            values[2 + 2 * i] = TestRecord.of(batch.get(i)).key();
            inFlight.add(offset);
        }
        journal.done(Event.Kind.POP, number, values);
    }

    void ackAll() {
        if (!inFlight.isEmpty()) {
            ack(inFlight.last());
        }
    }

    private void ack(long offset) {
        journal.begin(Event.Kind.ACK, number, index, offset);
        consumer.ackUpTo(offset);
        journal.done(Event.Kind.ACK, number, index, offset);
        inFlight.headSet(offset, true).clear();
    }

    private void ackSingle() {
        List<Long> some = inFlight.stream().filter(each -> oneIn(3)).limit(MAX).toList();
        if (some.isEmpty()) {
            return;
        }
        long[] values = new long[1 + some.size()];
        values[0] = index;
        for (int i = 0; i < some.size(); i++) {
            values[1 + i] = some.get(i);
        }
        long[] offsets = some.stream().mapToLong(each -> each).toArray();
        journal.begin(Event.Kind.ACK_SINGLE, number, values);
        if (offsets.length == 1) {
            consumer.ack(offsets[0]);
        } else {
            consumer.ack(offsets);
        }
        journal.done(Event.Kind.ACK_SINGLE, number, values);
        inFlight.removeAll(some);
    }

    private void nack() {
        long offset = any();
        journal.begin(Event.Kind.NACK, number, index, offset);
        try {
            consumer.nack(offset);
            journal.done(Event.Kind.NACK, number, index, offset);
        } catch (OutOfRangeException e) {
            if (plan.isSolo(index)) {
                throw e;
            }
            journal.threw(Event.Kind.NACK, number, index, offset); // another thread has acked it
        }
        inFlight.remove(offset);
    }

    private void seek(MmapQueue queue) {
        long first = queue.firstOffset();
        long offset = first + random.nextLong(Math.max(1, queue.endOffset() - first + 1));
        StartAt target = switch (random.nextInt(5)) {
            case 0 -> StartAt.EARLIEST;
            case 1 -> StartAt.LATEST;
            case 2 -> StartAt.COMMITTED;
            default -> StartAt.offset(offset);
        };
        long value = target.kind() == StartAt.Kind.OFFSET
                ? offset
                : target.kind() == StartAt.Kind.COMMITTED ? Event.COMMITTED : Event.ANYWHERE;
        journal.begin(Event.Kind.SEEK, number, index, value);
        try {
            consumer.seek(target);
            journal.done(Event.Kind.SEEK, number, index, value, consumer.committedOffset());
            inFlight.clear();
        } catch (OutOfRangeException e) {
            journal.threw(Event.Kind.SEEK, number, index, value); // the writer was faster; the consumer has not moved
        }
    }
}
