package org.mmapqueue.powerloss;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.mmapqueue.Message;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.support.StorageQueue;

/**
 * Opens what a cut has left and compares it with what is expected; then goes on pushing and popping. The power fails
 * again in the middle of that opening, and right behind it.
 */
final class Afterwards {
    private static final int MOST_CUTS = 2;
    private static final long NEW_NUMBERS = 1L << 50;

    private final Workshop workshop;
    private final SplittableRandom random;
    private final Expected expected;
    private final boolean mayDrop;
    private final Tally tally;
    private final int depth;

    /**
     * @param depth how many cuts came before this one without anything but an opening in between
     */
    Afterwards(Workshop workshop, SplittableRandom random, Expected expected, boolean mayDrop, Tally tally, int depth) {
        this.workshop = workshop;
        this.random = random;
        this.expected = expected;
        this.mayDrop = mayDrop;
        this.tally = tally;
        this.depth = depth;
    }

    /** Raises AssertionError when something is lost, wrong or out of order; returns where the log ends. */
    long check(Map<Path, byte[]> image, Map<String, String> config) throws IOException {
        Path root = workshop.directory();
        int cutAt = depth < MOST_CUTS ? random.nextInt(12) : -1;
        Map<Path, byte[]> second = null;
        Map<Path, byte[]> third = null;
        Expected after = null;
        long end;
        try (LossyDisk disk = LossyDisk.of(image, root)) {
            Cut cut = new Cut(disk, cutAt, random.split());
            disk.watch(cut);
            try (StorageQueue queue = StorageQueue.open(Workshop.at(config, root), disk)) {
                disk.watch(call -> {});
                second = cut.image;
                end = checkEnd(queue.endOffset(), queue.consumers());
                if (depth < MOST_CUTS) {
                    third = disk.cut(random);
                    after = expected.copy();
                    after.endsAt((int) end);
                    after.held = expected.heldWithoutConsumers();
                }
                checkRetained(queue, end);
                checkReaders(queue, end, after);
                goOn(queue, end);
            }
        } finally {
            workshop.remove(root);
        }
        if (second != null) {
            tally.cut("opening again");
            long again = next(expected.copy()).check(second, config);
            demand(
                    again == end,
                    "the first recovery ends with record %d, the one behind a cut in it with %d",
                    end,
                    again);
        }
        if (third != null) {
            tally.cut("right behind an opening");
            next(after).check(third, config);
        }
        return end;
    }

    // The first opening has ended the clean close.
    private Afterwards next(Expected then) {
        then.readers.values().forEach(reader -> reader.remembersAcks = false);
        return new Afterwards(workshop, random, then, mayDrop, tally, depth + 1);
    }

    private static final class Cut implements LossyDisk.Watcher {
        private final LossyDisk disk;
        private final SplittableRandom random;
        private int left;
        private Map<Path, byte[]> image;

        Cut(LossyDisk disk, int left, SplittableRandom random) {
            this.disk = disk;
            this.left = left;
            this.random = random;
        }

        @Override
        public void before(String call) {
            if (left-- == 0) {
                image = disk.cut(random);
            }
        }
    }

    private static void demand(boolean isTrue, String message, Object... values) {
        if (!isTrue) {
            throw new AssertionError(String.format(message, values));
        }
    }

    private long checkEnd(long end, List<String> consumers) {
        demand(end >= expected.durable, "the log ends with record %d, durable are %d", end, expected.durable);
        demand(
                end <= expected.records.size(),
                "the log ends with record %d, pushed are %d",
                end,
                expected.records.size());
        // Where everybody had acked the beginning of a batch, or it was dropped, recovery begins behind that.
        boolean isAcked = mayDrop
                || expected.readers.entrySet().stream()
                        .filter(reader -> consumers.contains(reader.getKey()))
                        .allMatch(reader -> reader.getValue().places.stream().anyMatch(place -> place >= end));
        demand(
                end == 0 || isAcked || !expected.records.get((int) end - 1).batchContinues(),
                "the log ends with record %d, in the middle of a batch; consumers may stand at %s",
                end,
                expected.places());
        return end;
    }

    // What can be read without a consumer is there without a gap.
    private void checkRetained(StorageQueue queue, long end) {
        if (queue.consumers().isEmpty() && !mayDrop) {
            long held = expected.heldWithoutConsumers();
            demand(
                    queue.firstOffset() <= held,
                    "without a consumer the log begins with record %d, and is to be kept" + " from %d on",
                    queue.firstOffset(),
                    held);
        }
        for (long offset = queue.firstOffset(); offset < end; offset++) {
            demand(
                    Arrays.equals(
                            expected.records.get((int) offset).payload(),
                            queue.get(offset).data()),
                    "get gives a wrong record %d",
                    offset);
        }
    }

    private void checkReaders(StorageQueue queue, long end, Expected after) {
        for (String name : queue.consumers()) {
            demand(expected.readers.containsKey(name), "consumer %s was deleted and is there", name);
        }
        for (Map.Entry<String, Expected.Reader> each : expected.readers.entrySet()) {
            String name = each.getKey();
            if (queue.consumers().contains(name)) {
                long place = read(queue, name, each.getValue(), end);
                if (after != null) {
                    Expected.Reader stands = after.readers.get(name);
                    if (!mayDrop) {
                        stands.places.clear(); // else the drop is found once more
                    }
                    stands.places.add(place);
                    stands.isSure = true;
                }
            } else {
                demand(!each.getValue().isSure, "consumer %s is not there", name);
                if (after != null) {
                    after.readers.remove(name);
                }
            }
        }
    }

    private long read(StorageQueue queue, String name, Expected.Reader reader, long end) {
        long place = queue.committedOffset(name);
        boolean remembersAcks = reader.remembersAcks;
        Message message;
        try {
            message = queue.poll(name);
            demand(
                    mayStandAt(reader, place, end),
                    "consumer %s stands at %d, may at %s, the log ends with %d",
                    name,
                    place,
                    reader.places,
                    end);
        } catch (DroppedException e) {
            demand(mayDrop, "%s", e);
            demand(reader.places.contains(e.first()), "%s, may stand at %s", e, reader.places);
            place = e.last() + 1;
            remembersAcks = false; // it was closed without a place to note them from
            message = queue.poll(name);
        }
        for (long offset = place; offset < end; offset++) {
            if (message != null && message.offset() == offset) {
                demand(
                        !remembersAcks || !reader.kept.contains(offset),
                        "consumer %s gets record %d again, which it had acked before a clean close",
                        name,
                        offset);
                demand(
                        Arrays.equals(expected.records.get((int) offset).payload(), message.data()),
                        "consumer %s gets a wrong record %d",
                        name,
                        offset);
                message = queue.poll(name);
            } else {
                demand(
                        reader.acked.contains(offset),
                        "consumer %s at %d does not get record %d of %d, but %s",
                        name,
                        place,
                        offset,
                        end,
                        message == null ? "nothing" : Long.toString(message.offset()));
            }
        }
        demand(message == null, "consumer %s gets a record beyond the end %d", name, end);
        return place;
    }

    // Behind the end is nothing: who stood there goes on at the end.
    private boolean mayStandAt(Expected.Reader reader, long place, long end) {
        if (reader.places.contains(place)) {
            return true;
        }
        long furthest = reader.places.stream().mapToLong(Long::longValue).max().orElse(0);
        return place == end && furthest > end
                || mayDrop && place <= end && place >= reader.places.iterator().next();
    }

    // New records get the numbers of those that are lost, and every consumer gets them.
    private void goOn(StorageQueue queue, long end) {
        Map<Long, byte[]> records = new HashMap<>();
        if (queue.consumers().isEmpty()) {
            queue.createConsumer("first", StartAt.LATEST); // what is kept without one may be all that there is room for
        }
        for (String name : queue.consumers()) {
            if (queue.readOffset(name) > 0) {
                queue.ack(name, queue.readOffset(name) - 1); // there must be room
            }
        }
        for (int i = 0; i < 12; i++) {
            byte[] record = new Record(NEW_NUMBERS + i, 40 * i, false).payload();
            long offset = i % 4 == 3 ? queue.pushBatch(List.of(record)) : queue.push(record);
            demand(offset == end + i, "a push gets offset %d, expected %d", offset, end + i);
            records.put(offset, record);
        }
        for (String name : queue.consumers()) {
            for (long offset = end; offset < end + records.size(); offset++) {
                Message message = queue.poll(name);
                demand(
                        message != null && message.offset() == offset,
                        "consumer %s gets %s, expected the new record %d",
                        name,
                        message == null ? "nothing" : Long.toString(message.offset()),
                        offset);
                demand(
                        Arrays.equals(records.get(offset), message.data()),
                        "consumer %s gets a wrong new record %d",
                        name,
                        offset);
                demand(
                        message.attempts() == 1,
                        "consumer %s gets the new record %d for the %d. time",
                        name,
                        offset,
                        message.attempts());
            }
        }
        queue.createConsumer("afterwards", StartAt.EARLIEST);
        queue.deleteConsumer("afterwards");
    }
}
