package org.mmapqueue.powerloss;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.mmapqueue.Message;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.harness.Delivery;
import org.mmapqueue.harness.KillPoint;
import org.mmapqueue.harness.ReferenceReader;
import org.mmapqueue.harness.TempQueues;
import org.mmapqueue.harness.TestRecord;
import org.mmapqueue.harness.Violation;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.StorageQueue;

/**
 * Opens what a cut of the power has left, compares it with what is expected, and then pushes and pops. The power fails
 * again during that open, and right after it.
 */
final class RecoveryCheck {
    private static final int MAX_CUTS = 2;
    private static final int NEW_ROUND = 30_000;
    private static final int NEW_RECORDS = 12;

    private final TempQueues directories;
    private final SplittableRandom random;
    private final Expected expected;
    private final boolean mayDrop;
    private final Counts counts;
    private final int depth;

    /**
     * Opens nothing yet.
     *
     * @param mayDrop whether max_consumer_lag is set
     * @param depth how many cuts came before this one with nothing but an open between them
     */
    RecoveryCheck(
            TempQueues directories,
            SplittableRandom random,
            Expected expected,
            boolean mayDrop,
            Counts counts,
            int depth) {
        this.directories = directories;
        this.random = random;
        this.expected = expected;
        this.mayDrop = mayDrop;
        this.counts = counts;
        this.depth = depth;
    }

    /**
     * Checks what a cut has left; returns the log end.
     *
     * @throws Violation if something is lost, wrong or out of order
     */
    long check(Map<Path, byte[]> image, Map<String, String> config) throws IOException {
        Path root = directories.directory();
        int cutAt = depth < MAX_CUTS ? random.nextInt(12) : -1;
        Map<Path, byte[]> second;
        Map<Path, byte[]> third = null;
        Expected after = null;
        long end;
        Settled settled;
        try (LossyDisk disk = LossyDisk.of(image, root)) {
            Optional<ReferenceReader.Found> before = ReferenceReader.read(root);
            Cut cut = new Cut(disk, cutAt, random.split());
            disk.watch(cut);
            try (StorageQueue queue = StorageQueue.open(RandomRun.configAt(config, root), disk)) {
                disk.watch(call -> {});
                second = cut.image;
                end = queue.endOffset();
                checkLog(queue, end);
                before.ifPresent(found -> checkPrediction(found, queue));
                if (depth < MAX_CUTS) {
                    third = disk.cut(random);
                    after = expected.copy();
                    after.endsAt(end);
                    after.retainedFrom = expected.retainedWithoutConsumers();
                }
                checkConsumers(queue, end, after);
                pushAndPop(queue, end);
                settled = Settled.of(queue);
            }
            ReferenceReader.read(root).ifPresent(found -> settled.check(found, mayDrop));
        } finally {
            Directories.delete(root);
        }
        if (second != null) {
            counts.cuts.count("opening again");
            long again = next(expected.copy()).check(second, config);
            Violation.unless(
                    again == end, "the log ends at %d after a recovery, and at %d after a cut during it", end, again);
        }
        if (third != null) {
            counts.cuts.count("right after an open");
            next(after).check(third, config);
        }
        return end;
    }

    private RecoveryCheck next(Expected then) {
        return new RecoveryCheck(directories, random, then, mayDrop, counts, depth + 1);
    }

    // The recovery keeps what the reader has found before it. The reader has no answer for a directory without
    // meta.dat,
    // and for retained records that were acked and never fsynced.
    private void checkPrediction(ReferenceReader.Found found, StorageQueue queue) {
        if (found.error() == null) {
            counts.predictions.count("right");
            // Retention counts from the log end, which may be before the stored one.
            long first = Math.max(queue.firstOffset(), found.first());
            found.check("before a recovery", first, queue.endOffset(), offset -> List.of(queue.get(offset)));
        } else {
            counts.predictions.count("none");
        }
    }

    /** What a queue holds when it is closed. */
    private record Settled(List<Message> records, long first, long end, Map<String, Long> committed) {
        static Settled of(StorageQueue queue) {
            long first = queue.firstOffset();
            List<Message> records = new ArrayList<>();
            for (long offset = first; offset < queue.endOffset(); offset++) {
                records.add(queue.get(offset));
            }
            Map<String, Long> committed = new TreeMap<>();
            queue.consumers().forEach(name -> committed.put(name, queue.committedOffset(name)));
            return new Settled(records, first, queue.endOffset(), committed);
        }

        void check(ReferenceReader.Found found, boolean mayDrop) {
            found.check("after a close", first, end, offset -> List.of(records.get((int) (offset - first))));
            Violation.unless(
                    mayDrop || found.consumers().equals(committed),
                    "consumers have committed %s, for the reference reader %s",
                    committed,
                    found.consumers());
        }
    }

    private static final class Cut implements LossyDisk.Watcher {
        private final LossyDisk disk;
        private final SplittableRandom random;
        private final KillPoint killPoint;
        private Map<Path, byte[]> image;

        Cut(LossyDisk disk, int number, SplittableRandom random) {
            this.disk = disk;
            this.killPoint = KillPoint.at(number);
            this.random = random;
        }

        @Override
        public void before(String call) {
            if (killPoint.isHere()) {
                image = disk.cut(random);
            }
        }
    }

    private void checkLog(StorageQueue queue, long end) {
        List<String> consumers = queue.consumers();
        // A batch may be cut if all consumers had acked its beginning, or were dropped: recovery begins after that.
        boolean mayEndInBatch = mayDrop
                || expected.consumers.entrySet().stream()
                        .filter(each -> consumers.contains(each.getKey()))
                        .allMatch(each -> each.getValue().maxCommitted() >= end);
        Violation.unless(
                end >= expected.durable && end <= expected.log.maxEnd(),
                "the log ends at %d, expected %d to %d; consumers may have committed %s",
                end,
                expected.durable,
                expected.log.maxEnd(),
                expected.committedOffsets());
        long first = queue.firstOffset();
        if (consumers.isEmpty() && !mayDrop) {
            long from = expected.retainedWithoutConsumers();
            Violation.unless(
                    first <= from, "without consumers the log starts at %d, but is retained from %d on", first, from);
        }
        expected.log.check(
                first,
                TestRecord.readAll(first, end, offset -> List.of(queue.get(offset))),
                expected.durable,
                mayEndInBatch);
    }

    private void checkConsumers(StorageQueue queue, long end, Expected after) {
        List<String> found = queue.consumers();
        for (String name : found) {
            Violation.unless(expected.consumers.containsKey(name), "consumer %s exists, and was deleted", name);
        }
        for (Map.Entry<String, Expected.ConsumerState> each : expected.consumers.entrySet()) {
            String name = each.getKey();
            if (found.contains(name)) {
                long committed = drain(queue, name, each.getValue(), end);
                if (after != null) {
                    Expected.ConsumerState state = after.consumers.get(name);
                    if (!mayDrop) {
                        state.committed.clear(); // else the drop is reported once more
                    }
                    state.committed.add(committed);
                    state.mustExist = true;
                }
            } else {
                Violation.unless(!each.getValue().mustExist, "consumer %s does not exist", name);
                if (after != null) {
                    after.consumers.remove(name);
                }
            }
        }
    }

    // Returns the offset from which the consumer has popped.
    private long drain(StorageQueue queue, String name, Expected.ConsumerState state, long end) {
        long committed = queue.committedOffset(name);
        boolean acksAreSaved = true;
        Message message;
        try {
            message = queue.poll(name);
            Violation.unless(
                    mayHaveCommitted(state, committed, end),
                    "consumer %s has committed %d, expected one of %s; the log ends at %d",
                    name,
                    committed,
                    state.committed,
                    end);
        } catch (DroppedException e) {
            Violation.unless(
                    mayDrop && state.committed.contains(e.first()),
                    "consumer %s may have committed %s: %s",
                    name,
                    state.committed,
                    e);
            committed = e.last() + 1;
            acksAreSaved = false; // a dropped consumer forgets them
            message = queue.poll(name);
        }
        List<Long> popped = new ArrayList<>();
        for (; message != null; message = queue.poll(name)) {
            popped.add(message.offset());
            expected.log.learn(message.offset(), TestRecord.of(message).key());
        }
        boolean isSaved = acksAreSaved;
        new Delivery(name, state.acked::contains, offset -> isSaved && state.saved.contains(offset))
                .check(popped, committed, end);
        return committed;
    }

    // A consumer that had committed a lost record continues at the log end.
    private boolean mayHaveCommitted(Expected.ConsumerState state, long offset, long end) {
        return state.committed.contains(offset)
                || offset == end && state.maxCommitted() > end
                || mayDrop
                        && offset <= end
                        && offset >= state.committed.iterator().next();
    }

    // New records get the offsets of the lost ones, and every consumer gets them.
    private void pushAndPop(StorageQueue queue, long end) {
        if (queue.consumers().isEmpty()) {
            queue.createConsumer("first", StartAt.LATEST); // else retained records may fill the ring
        }
        for (String name : queue.consumers()) {
            if (queue.readOffset(name) > 0) {
                queue.ackUpTo(name, queue.readOffset(name) - 1); // makes room
            }
        }
        List<byte[]> records = new ArrayList<>();
        for (int i = 0; i < NEW_RECORDS; i++) {
            byte[] record = new TestRecord(TestRecord.key(NEW_ROUND, depth, i), 1, 0).bytes(40 * i);
            long offset = i % 4 == 3 ? queue.pushBatch(List.of(record)) : queue.push(record);
            Violation.unless(offset == end + i, "a push returns offset %d, expected %d", offset, end + i);
            records.add(record);
        }
        for (String name : queue.consumers()) {
            for (int i = 0; i < NEW_RECORDS; i++) {
                Message message = queue.poll(name);
                Violation.unless(
                        message != null
                                && message.offset() == end + i
                                && message.attempts() == 1
                                && Arrays.equals(records.get(i), message.data()),
                        "consumer %s pops %s, expected the new record at offset %d",
                        name,
                        message == null
                                ? "nothing"
                                : "offset " + message.offset() + ", attempt " + message.attempts() + ", "
                                        + message.data().length + " bytes",
                        end + i);
            }
        }
        queue.createConsumer("last", StartAt.EARLIEST);
        queue.deleteConsumer("last");
    }
}
