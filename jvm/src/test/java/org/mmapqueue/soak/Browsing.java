package org.mmapqueue.soak;

import static org.mmapqueue.soak.RaceRecords.require;

import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueStats;
import org.mmapqueue.errors.OutOfRangeException;

/** A process that reads by number and by time, without a consumer, while all that it reads may be overwritten. */
final class Browsing {
    private final MmapQueue queue;
    private final SplittableRandom random;
    private final RaceTally tally;
    private long first;
    private long end;

    private Browsing(MmapQueue queue, long seed, RaceTally tally) {
        this.queue = queue;
        this.random = new SplittableRandom(seed);
        this.tally = tally;
    }

    /** Arguments: directory, seed, number of calls. */
    public static void main(String[] args) {
        RaceTally tally = new RaceTally();
        try (MmapQueue queue = MmapQueue.open(RaceRecords.reader(Path.of(args[0])))) {
            Browsing browsing = new Browsing(queue, Long.parseLong(args[1]), tally);
            for (int i = 0; i < Integer.parseInt(args[2]) && tally.faults().isEmpty(); i++) {
                try {
                    browsing.once();
                } catch (RuntimeException e) {
                    tally.fault("browsing", e);
                }
            }
        }
        tally.say();
    }

    private void once() {
        try {
            switch (random.nextInt(6)) {
                case 0 -> {
                    long offset = somewhere();
                    RaceRecords.check(queue.get(offset), offset);
                    tally.count("get");
                }
                case 1, 2 -> getMany();
                case 3 -> find();
                case 4 -> {
                    sawFirst(queue.firstOffset());
                    sawEnd(queue.endOffset());
                }
                default -> {
                    QueueStats stats = queue.stats();
                    sawFirst(stats.firstOffset());
                    sawEnd(stats.endOffset());
                    require(stats.firstOffset() <= stats.endOffset(), stats.toString());
                }
            }
        } catch (OutOfRangeException e) {
            require(
                    e.first() <= e.last() + 1 && (e.requested() < e.first() || e.requested() > e.last()),
                    "a range that makes no sense: " + e.getMessage());
            sawFirst(e.first());
            sawEnd(e.last() + 1);
            tally.count("get, out of range");
        }
    }

    private long somewhere() {
        return Math.max(0, first - 2 + random.nextLong(end - first + 5));
    }

    private void getMany() {
        long offset = somewhere();
        int most = 1 + random.nextInt(80);
        List<Message> found = queue.getMany(offset, most);
        require(!found.isEmpty() && found.size() <= most, found.size() + " records of " + most);
        for (int i = 0; i < found.size(); i++) {
            RaceRecords.check(found.get(i), offset + i);
        }
        tally.add("records read", found.size());
    }

    private void find() {
        long micros = System.currentTimeMillis() * 1000 - random.nextInt(6000);
        OptionalLong found = queue.find(micros);
        if (found.isPresent()) {
            long offset = found.getAsLong();
            require(offset >= first, "found " + offset + ", but the first one was " + first);
            Message message = queue.get(offset);
            RaceRecords.check(message, offset);
            require(message.timestampMicros() >= micros, "found " + message.timestampMicros() + " for " + micros);
        }
        tally.count("find");
    }

    // No consumer moves back in this race.
    private void sawFirst(long offset) {
        require(offset >= first, "the first offset was " + first + " and is " + offset);
        first = offset;
        end = Math.max(end, first);
    }

    private void sawEnd(long offset) {
        require(offset >= end, "the end was " + end + " and is " + offset);
        end = offset;
    }
}
