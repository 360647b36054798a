package org.mmapqueue.crash;

import java.util.SplittableRandom;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.errors.OutOfRangeException;

/** Reads at random and, in the process that writes, flushes and deletes free files. */
final class Keeper extends Actor {
    private final boolean writes;

    Keeper(int number, Journal journal, SplittableRandom random, boolean writes) {
        super(number, journal, random);
        this.writes = writes;
    }

    @Override
    void step(MmapQueue queue) {
        switch (writes ? random.nextInt(6) : 5) {
            case 0 -> {
                journal.begin(Event.Kind.FLUSH, number);
                queue.flush();
                journal.done(Event.Kind.FLUSH, number);
            }
            case 1 -> {
                journal.begin(Event.Kind.GC, number);
                queue.gc();
                journal.done(Event.Kind.GC, number);
            }
            default -> get(queue);
        }
        pause(5000);
    }

    private void get(MmapQueue queue) {
        long first = queue.firstOffset();
        long offset = first + random.nextLong(Math.max(1, queue.endOffset() - first));
        journal.begin(Event.Kind.GET, number);
        try {
            Message message = queue.get(offset);
            journal.done(
                    Event.Kind.GET,
                    number,
                    offset,
                    Numbered.of(offset, message.data()).key());
        } catch (OutOfRangeException e) {
            journal.refused(Event.Kind.GET, number); // the writer has used its slot again, or there is none yet
        }
    }
}
