package org.mmapqueue.powerloss;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongConsumer;
import java.util.function.ToLongFunction;
import org.mmapqueue.Message;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.harness.KillPoint;
import org.mmapqueue.harness.TempQueues;
import org.mmapqueue.harness.TestRecord;
import org.mmapqueue.harness.Violation;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.StorageQueue;

/**
 * A queue on a {@link LossyDisk}, and what must exist after a cut of the power. It executes operations, closes, is
 * killed and loses power. The power may be cut before each call that changes something on the disk.
 */
final class Simulator implements Closeable {
    /** A cut, and what was expected at that moment. */
    private record Cut(String call, Map<Path, byte[]> image, Expected expected) {}

    private final TempQueues directories;
    private final SplittableRandom random;
    private final Map<String, String> config;
    private final boolean mayDrop;
    private final KillPoint killPoint;
    private final Counts counts;
    private final Deque<Cut> cuts = new ArrayDeque<>();
    /** The offset of the log end when it was at a position. */
    private final TreeMap<Long, Long> offsetAt = new TreeMap<>();

    private final Set<String> opened = new HashSet<>();
    private final Expected expected = new Expected();
    private String operation = "open";
    private Path root;
    private LossyDisk disk;
    private StorageQueue queue;
    private int losses;
    private long pushed;

    Simulator(
            TempQueues directories,
            SplittableRandom random,
            Map<String, String> config,
            KillPoint killPoint,
            Counts counts)
            throws IOException {
        this.directories = directories;
        this.random = random;
        this.config = config;
        this.mayDrop = config.containsKey("max_consumer_lag");
        this.killPoint = killPoint;
        this.counts = counts;
        this.root = directories.directory();
        this.disk = new LossyDisk(root);
        disk.watch(this::before);
        open();
    }

    private void before(String call) {
        if (killPoint.isHere()) {
            cut(operation + ": " + call);
        }
    }

    private void cut(String call) {
        counts.cuts.count(call);
        cuts.add(new Cut(call, disk.cut(random), expected.copy()));
    }

    private void begin(String name) {
        operation = name;
        counts.operations.count(name);
    }

    /** Checks what the cuts of the last operation have left. */
    void checkCuts() throws IOException {
        while (!cuts.isEmpty()) {
            Cut cut = cuts.remove();
            try {
                new RecoveryCheck(directories, random, cut.expected, mayDrop, counts, 0).check(cut.image, config);
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("cut at \"" + cut.call + "\": " + e, e);
            }
        }
    }

    /** Cuts the power between two operations. */
    void cutNow() {
        cut("between operations");
    }

    private void open() {
        queue = StorageQueue.open(RandomRun.configAt(config, root), disk);
        opened();
    }

    private void opened() {
        opened.clear();
        offsetAt.clear();
        noteLogEnd();
        expected.consumers.values().forEach(consumer -> consumer.mustExist = true);
    }

    List<String> consumers() {
        return new ArrayList<>(expected.consumers.keySet());
    }

    // ---- the writing side

    /** Pushes a record; false if the ring is full. */
    boolean push(int length, boolean sync) {
        begin(sync ? "sync push" : "push");
        boolean stored = push(List.of(length), records -> queue.push(records.get(0)));
        if (stored && sync) {
            queue.awaitDurable();
            expected.durable = expected.log.end();
        }
        return stored;
    }

    /** Pushes a batch of records of one length, if the ring has room. */
    void pushBatch(int count, int length) {
        begin("batch");
        push(Collections.nCopies(count, length), queue::pushBatch);
    }

    private boolean push(List<Integer> lengths, ToLongFunction<List<byte[]>> call) {
        long key = TestRecord.key(losses, 0, pushed);
        expected.log.begin(0, key, lengths.size());
        try {
            expected.log.returned(0, call.applyAsLong(TestRecord.batch(key, lengths)));
        } catch (FullException e) {
            expected.log.rejected(0);
            noteRecoveryPoint();
            return false;
        }
        pushed += lengths.size();
        noteLogEnd();
        noteRecoveryPoint();
        return true;
    }

    private void noteLogEnd() {
        offsetAt.put(queue.stats().writingPosition(), expected.log.end());
    }

    // Records before the recovery point must exist, whichever call has moved it.
    private void noteRecoveryPoint() {
        Map.Entry<Long, Long> covered = offsetAt.floorEntry(queue.stats().watermarkPosition());
        if (covered != null) {
            expected.durable = Math.max(expected.durable, covered.getValue());
        }
    }

    /** Flushes as the flusher does at the ceiling; guarantees nothing. */
    void flushMost() {
        begin("flush most");
        queue.flushMost();
    }

    void flush() {
        begin("flush");
        queue.flush();
        expected.flushed(queue.committed(), mayDrop);
    }

    void housekeeperStep() {
        begin("housekeeper");
        queue.housekeeperStep();
        noteRecoveryPoint();
    }

    void gc() {
        begin("gc");
        queue.gc();
        noteRecoveryPoint();
    }

    void writeBack() {
        disk.writeBack(random);
    }

    // ---- the consuming side

    private Expected.ConsumerState consumer(String name) {
        Expected.ConsumerState consumer = expected.consumers.get(name);
        if (opened.add(name)) {
            consumer.inFlight.clear();
        }
        return consumer;
    }

    void pop(String name, int count) {
        begin("pop");
        Expected.ConsumerState consumer = consumer(name);
        for (int i = 0; i < count; i++) {
            Message message;
            try {
                message = queue.poll(name);
            } catch (DroppedException e) {
                dropped(consumer, e);
                continue;
            }
            if (message == null) {
                return;
            }
            long offset = message.offset();
            expected.log.learn(offset, TestRecord.of(message).key());
            Violation.unless(
                    mayDrop || !consumer.saved.contains(offset), "%s pops %d, which it has acked", name, offset);
            if (!mayDrop) { // a cut may bring back the acks that a drop forgets
                consumer.acked.remove(offset); // the ack before a cut is lost
            }
            consumer.inFlight.add(offset);
        }
    }

    private void dropped(Expected.ConsumerState consumer, DroppedException e) {
        if (!mayDrop) {
            throw e;
        }
        consumer.committed.add(e.last() + 1);
        consumer.inFlight.clear();
        consumer.current.clear();
        consumer.saved.clear();
    }

    // Calls the queue with one of the records in flight, if there is one.
    private void withRecord(Expected.ConsumerState consumer, LongConsumer call) {
        if (!consumer.inFlight.isEmpty()) {
            List<Long> offsets = new ArrayList<>(consumer.inFlight);
            long offset = offsets.get(random.nextInt(offsets.size()));
            try {
                call.accept(offset);
            } catch (DroppedException e) {
                dropped(consumer, e);
            }
        }
    }

    /** Acks all records up to one of those in flight. */
    void ack(String name) {
        begin("ack");
        Expected.ConsumerState consumer = consumer(name);
        withRecord(consumer, offset -> {
            queue.ackUpTo(name, offset);
            consumer.inFlight.removeIf(each -> each <= offset);
            consumer.committed.add(queue.committedOffset(name));
        });
    }

    void ackSingle(String name) {
        begin("single ack");
        Expected.ConsumerState consumer = consumer(name);
        withRecord(consumer, offset -> {
            queue.ack(name, offset);
            consumer.inFlight.remove(offset);
            consumer.acked.add(offset);
            consumer.current.add(offset);
            consumer.committed.add(queue.committedOffset(name));
        });
    }

    void nack(String name) {
        begin("nack");
        Expected.ConsumerState consumer = consumer(name);
        withRecord(consumer, offset -> {
            queue.nack(name, offset);
            consumer.inFlight.remove(offset);
        });
    }

    void seek(String name) {
        begin("seek");
        Expected.ConsumerState consumer = consumer(name);
        long first = queue.firstOffset();
        long target = first + random.nextInt((int) (expected.log.end() - first) + 1);
        consumer.committed.add(target);
        consumer.current.clear();
        consumer.saved.clear();
        consumer.inFlight.clear();
        try {
            queue.seek(name, StartAt.offset(target));
            consumer.acked.clear();
        } catch (DroppedException e) {
            dropped(consumer, e);
        }
    }

    void createConsumer(String name) {
        begin("create a consumer");
        if (!expected.consumers.containsKey(name)) {
            boolean latest = random.nextBoolean();
            long offset = latest ? expected.log.end() : queue.firstOffset();
            expected.consumers.put(name, new Expected.ConsumerState(Set.of(offset), false));
            queue.createConsumer(name, latest ? StartAt.LATEST : StartAt.EARLIEST);
            expected.consumers.get(name).mustExist = true;
        }
    }

    void deleteConsumer(String name) {
        begin("delete a consumer");
        expected.consumers.get(name).mustExist = false;
        long retainedFrom = expected.retainedWithoutConsumers();
        queue.deleteConsumer(name);
        expected.consumers.remove(name);
        expected.retainedFrom = retainedFrom;
        opened.remove(name);
    }

    void closeConsumer(String name) {
        begin("close a consumer");
        if (opened.contains(name)) {
            queue.closeConsumer(name);
            opened.remove(name);
            Expected.ConsumerState consumer = expected.consumers.get(name);
            consumer.saved.addAll(consumer.current);
        }
    }

    // ---- the end of a process

    void reopen() {
        begin("close");
        Map<String, Long> committed = queue.committed();
        queue.close();
        expected.flushed(committed, mayDrop);
        cut("after a clean close");
        begin("open");
        open();
    }

    /** The process is killed, the page cache remains, and the next process recovers. */
    void kill() throws IOException {
        begin("kill");
        Path next = directories.directory();
        LossyDisk left = disk.afterKill(next);
        close();
        root = next;
        disk = left;
        operation = "recover from a kill";
        expected.consumers.values().forEach(consumer -> consumer.current.clear());
        disk.watch(this::before);
        open();
        Violation.unless(
                queue.endOffset() == expected.log.end(),
                "after a kill the log ends at %d, expected %d",
                queue.endOffset(),
                expected.log.end());
        expected.flushed(queue.committed(), mayDrop);
    }

    /** The power fails, and the run continues with what is left. */
    void losePower() throws IOException {
        begin("loss of power");
        Map<Path, byte[]> image = disk.cut(random);
        new RecoveryCheck(directories, random, expected.copy(), mayDrop, counts, 0).check(image, config);
        close();
        root = directories.directory();
        disk = LossyDisk.of(image, root);
        operation = "recover from a loss";
        expected.consumers.values().forEach(consumer -> consumer.current.clear());
        disk.watch(this::before);
        Set<String> lost = new TreeSet<>(expected.consumers.keySet());
        queue = StorageQueue.open(RandomRun.configAt(config, root), disk);
        checkCuts();
        lost.removeAll(queue.consumers());
        // Earlier records may still be readable, but are not retained.
        expected.retainedFrom = Math.min(expected.retainedWithoutConsumers(), queue.endOffset());
        expected.consumers.keySet().removeAll(lost);
        expected.endsAt(queue.endOffset());
        losses++;
        pushed = 0;
        opened();
        expected.consumers.values().forEach(consumer -> {
            consumer.acked.removeIf(offset -> offset >= expected.log.end());
            consumer.saved.removeIf(offset -> offset >= expected.log.end());
        });
        expected.flushed(queue.committed(), mayDrop);
    }

    @Override
    public void close() throws IOException {
        disk.watch(call -> {});
        queue.close();
        disk.close();
        Directories.delete(root);
    }
}
