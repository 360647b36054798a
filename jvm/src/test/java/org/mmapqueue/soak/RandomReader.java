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
import org.mmapqueue.harness.Tally;
import org.mmapqueue.support.Micros;

/** A process that reads by offset and by time, without a consumer, while the writer overwrites what it reads. */
final class RandomReader {
    private final MmapQueue queue;
    private final SplittableRandom random;
    private final Tally tally;
    private long first;
    private long end;

    private RandomReader(MmapQueue queue, long seed, Tally tally) {
        this.queue = queue;
        this.random = new SplittableRandom(seed);
        this.tally = tally;
    }

    /** Arguments: directory, seed, number of calls. */
    public static void main(String[] args) {
        Tally tally = new Tally();
        try (MmapQueue queue = MmapQueue.open(RaceRecords.reader(Path.of(args[0])))) {
            RandomReader reader = new RandomReader(queue, Long.parseLong(args[1]), tally);
            for (int i = 0; i < Integer.parseInt(args[2]) && tally.faults().isEmpty(); i++) {
                try {
                    reader.once();
                } catch (RuntimeException e) {
                    tally.fault("random reader", e);
                }
            }
        }
        tally.print();
    }

    private void once() {
        try {
            switch (random.nextInt(6)) {
                case 0 -> {
                    long offset = anyOffset();
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
                    "the range contradicts itself: " + e.getMessage());
            sawFirst(e.first());
            sawEnd(e.last() + 1);
            tally.count("get, out of range");
        }
    }

    private long anyOffset() {
        return Math.max(0, first - 2 + random.nextLong(end - first + 5));
    }

    private void getMany() {
        long offset = anyOffset();
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
        OptionalLong found = queue.find(Micros.instant(micros));
        if (found.isPresent()) {
            long offset = found.getAsLong();
            require(offset >= first, "found " + offset + ", but the first one was " + first);
            Message message = queue.get(offset);
            RaceRecords.check(message, offset);
            require(message.timestampMicros() >= micros, "found " + message.timestampMicros() + " for " + micros);
        }
        tally.count("find");
    }

    // No consumer seeks back in this race.
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
