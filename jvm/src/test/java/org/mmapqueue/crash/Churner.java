package org.mmapqueue.crash;

import java.util.SplittableRandom;
import org.mmapqueue.Consumer;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.OutOfRangeException;

/** Makes consumers, pops a little with them, gives them up, and deletes them. */
final class Churner extends Actor {
    private final Plan plan;

    Churner(int number, Journal journal, SplittableRandom random, Plan plan) {
        super(number, journal, random);
        this.plan = plan;
    }

    @Override
    void step(MmapQueue queue) throws InterruptedException {
        int index = plan.churns().get(random.nextInt(plan.churns().size()));
        String name = Plan.NAMES.get(index);
        boolean isThere = queue.consumers().contains(name);
        if (!isThere && oneIn(3)) {
            journal.begin(Event.Kind.CREATE, number, index);
            try {
                queue.createConsumer(name, somewhere(queue));
                journal.done(Event.Kind.CREATE, number, index);
                isThere = true;
            } catch (OutOfRangeException e) {
                journal.refused(Event.Kind.CREATE, number, index);
            }
        } else {
            isThere = use(queue, index) || isThere;
        }
        if (isThere && !oneIn(4)) {
            journal.begin(Event.Kind.DELETE, number, index);
            queue.deleteConsumer(name);
            journal.done(Event.Kind.DELETE, number, index);
        }
        pause(2000);
    }

    private boolean use(MmapQueue queue, int index) throws InterruptedException {
        journal.begin(Event.Kind.TAKE, number, index);
        Consumer consumer;
        try {
            consumer = queue.consumer(Plan.NAMES.get(index), somewhere(queue));
        } catch (OutOfRangeException e) {
            journal.refused(Event.Kind.TAKE, number, index);
            return false;
        }
        journal.done(Event.Kind.TAKE, number, index, consumer.committedOffset());
        Popper popper = new Popper(number, journal, random, plan, index, consumer);
        for (int i = random.nextInt(6); i > 0; i--) {
            popper.step(queue);
        }
        popper.ackAll(); // or a full ring would know no end
        if (oneIn(2)) {
            journal.begin(Event.Kind.RELEASE, number, index);
            consumer.close();
            journal.done(Event.Kind.RELEASE, number, index);
        }
        return true;
    }

    private StartAt somewhere(MmapQueue queue) {
        return switch (random.nextInt(3)) {
            case 0 -> StartAt.EARLIEST;
            case 1 -> StartAt.LATEST;
            default -> StartAt.offset(queue.firstOffset() + random.nextInt(20)); // or OutOfRange: nothing is made
        };
    }
}
