package org.mmapqueue.crash;

import java.util.SplittableRandom;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.OutOfRangeException;

/** Creates consumers, pops a little with them, closes and deletes them. */
final class ConsumerChurn extends Actor {
    private final Plan plan;

    ConsumerChurn(int number, Journal journal, SplittableRandom random, Plan plan) {
        super(number, journal, random);
        this.plan = plan;
    }

    @Override
    void step(MmapQueue queue) throws InterruptedException {
        int index = plan.churns().get(random.nextInt(plan.churns().size()));
        String name = Plan.NAMES.get(index);
        boolean exists = queue.consumers().contains(name);
        if (!exists && oneIn(3)) {
            journal.begin(Event.Kind.CREATE_CONSUMER, number, index);
            try {
                queue.createConsumer(name, start(queue));
                journal.done(Event.Kind.CREATE_CONSUMER, number, index);
                exists = true;
            } catch (OutOfRangeException e) {
                journal.threw(Event.Kind.CREATE_CONSUMER, number, index);
            }
        } else {
            exists = use(queue, index) || exists;
        }
        if (exists && !oneIn(4)) {
            journal.begin(Event.Kind.DELETE_CONSUMER, number, index);
            queue.deleteConsumer(name);
            journal.done(Event.Kind.DELETE_CONSUMER, number, index);
        }
        pause(2000);
    }

    private boolean use(MmapQueue queue, int index) throws InterruptedException {
        journal.begin(Event.Kind.OPEN_CONSUMER, number, index);
        Consumer consumer;
        try {
            consumer = queue.consumer(Plan.NAMES.get(index), start(queue));
        } catch (OutOfRangeException e) {
            journal.threw(Event.Kind.OPEN_CONSUMER, number, index);
            return false;
        }
        journal.done(Event.Kind.OPEN_CONSUMER, number, index, consumer.committedOffset());
        Popper popper = new Popper(number, journal, random, plan, index, consumer);
        for (int i = random.nextInt(6); i > 0; i--) {
            popper.step(queue);
        }
        popper.ackAll(); // else the ring would stay full
        if (oneIn(2)) {
            journal.begin(Event.Kind.CLOSE_CONSUMER, number, index);
            consumer.close();
            journal.done(Event.Kind.CLOSE_CONSUMER, number, index);
        }
        return true;
    }

    private StartAt start(MmapQueue queue) {
        return switch (random.nextInt(3)) {
            case 0 -> StartAt.EARLIEST;
            case 1 -> StartAt.LATEST;
            default -> StartAt.offset(queue.firstOffset() + random.nextInt(20)); // OutOfRange: nothing is created
        };
    }
}
