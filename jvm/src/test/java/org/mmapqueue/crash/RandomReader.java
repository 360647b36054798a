package org.mmapqueue.crash;

import java.util.SplittableRandom;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.harness.TestRecord;

/** Reads records at random. In the writing process it also flushes and deletes free files. */
final class RandomReader extends Actor {
    private final boolean writes;

    RandomReader(int number, Journal journal, SplittableRandom random, boolean writes) {
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
            journal.done(Event.Kind.GET, number, offset, TestRecord.of(message).key());
        } catch (OutOfRangeException e) {
            journal.threw(Event.Kind.GET, number); // the slot has been reused, or the log is empty
        }
    }
}
