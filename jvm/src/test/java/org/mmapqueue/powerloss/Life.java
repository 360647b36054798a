package org.mmapqueue.powerloss;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import org.mmapqueue.Message;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.support.StorageQueue;

/**
 * A queue that does what its caller says, closes, is killed and loses its power, and what must be there after a cut of
 * the power at this moment. Each call that changes something on the disk, inside of an operation, may be cut at.
 */
final class Life implements Closeable {
    /** Says when the power fails; told the operation and the call of the disk. */
    interface Cutter {
        boolean cutsAt(String operation, String call);
    }

    /** A cut, and what was expected at that moment. */
    private record Moment(String place, Map<Path, byte[]> image, Expected expected) {}

    private final Workshop workshop;
    private final SplittableRandom random;
    private final Map<String, String> config;
    private final boolean mayDrop;
    private final Cutter cutter;
    private final Tally tally;
    private final Deque<Moment> moments = new ArrayDeque<>();
    private final TreeMap<Long, Integer> countAt = new TreeMap<>();
    private final Set<String> opened = new HashSet<>();
    private Expected expected = new Expected();
    private String operation = "open";
    private Path root;
    private LossyDisk disk;
    private StorageQueue queue;
    private long nextNumber;

    /** A new queue. */
    Life(Workshop workshop, SplittableRandom random, Map<String, String> config, Cutter cutter, Tally tally)
            throws IOException {
        this.workshop = workshop;
        this.random = random;
        this.config = config;
        this.mayDrop = config.containsKey("max_consumer_lag");
        this.cutter = cutter;
        this.tally = tally;
        this.root = workshop.directory();
        this.disk = new LossyDisk(root);
        disk.watch(this::before);
        open();
    }

    private void before(String call) {
        if (cutter.cutsAt(operation, call)) {
            cut(operation + ": " + call);
        }
    }

    private void cut(String place) {
        tally.cut(place);
        moments.add(new Moment(place, disk.cut(random), expected.copy()));
    }

    private void begin(String name) {
        operation = name;
        tally.operation(name);
    }

    /** Checks what the cuts of the last operation have left. */
    void checkCuts() throws IOException {
        while (!moments.isEmpty()) {
            Moment moment = moments.remove();
            try {
                new Afterwards(workshop, random, moment.expected, mayDrop, tally, 0).check(moment.image, config);
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("cut at \"" + moment.place + "\": " + e, e);
            }
        }
    }

    /** Has the power cut between two operations. */
    void cutNow() {
        cut("between operations");
    }

    private void open() {
        queue = StorageQueue.open(Workshop.at(config, root), disk);
        opened.clear();
        countAt.clear();
        countAt.put(queue.stats().writingPosition(), expected.pushed);
        expected.readers.values().forEach(reader -> reader.isSure = true);
    }

    List<String> readers() {
        return new ArrayList<>(expected.readers.keySet());
    }

    // ---- pushing

    private Record record(int length, boolean batchGoesOn) {
        return new Record(nextNumber++, length, batchGoesOn);
    }

    /** True when there was room. */
    boolean push(int length, boolean sync) {
        begin(sync ? "sync push" : "push");
        Record record = record(length, false);
        expected.records.add(record);
        try {
            queue.push(record.payload());
        } catch (FullException e) {
            expected.records.remove(expected.records.size() - 1);
            noteWatermark();
            return false;
        }
        pushed();
        if (sync) {
            queue.awaitDurable();
            expected.durable = expected.pushed;
        }
        return true;
    }

    void pushBatch(int count, int length) {
        begin("batch");
        List<byte[]> batch = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Record record = record(length, i + 1 < count);
            expected.records.add(record);
            batch.add(record.payload());
        }
        try {
            queue.pushBatch(batch);
            pushed();
        } catch (FullException e) {
            expected.records.subList(expected.pushed, expected.records.size()).clear();
            noteWatermark();
        }
    }

    private void pushed() {
        expected.pushed = expected.records.size();
        countAt.put(queue.stats().writingPosition(), expected.pushed);
        noteWatermark();
    }

    // What the watermark has passed must be there, whoever has moved it.
    private void noteWatermark() {
        Map.Entry<Long, Integer> covered = countAt.floorEntry(queue.stats().watermarkPosition());
        if (covered != null) {
            expected.durable = Math.max(expected.durable, covered.getValue());
        }
    }

    /** Promises nothing. */
    void flushMost() {
        begin("flush most");
        queue.flushMost();
    }

    void flush() {
        begin("flush");
        queue.flush();
        expected.flushed(queue.committed(), mayDrop);
    }

    void keepHouse() {
        begin("keep house");
        queue.housekeeperStep();
        noteWatermark();
    }

    void gc() {
        begin("gc");
        queue.gc();
        noteWatermark();
    }

    void writeBack() {
        disk.writeBack(random);
    }

    // ---- popping

    private Expected.Reader reader(String name) {
        Expected.Reader reader = expected.readers.get(name);
        if (opened.add(name)) {
            reader.out.clear();
        }
        return reader;
    }

    void pop(String name, int count) {
        begin("pop");
        Expected.Reader reader = reader(name);
        for (int i = 0; i < count; i++) {
            Message message;
            try {
                message = queue.poll(name);
            } catch (DroppedException e) {
                dropped(reader, e);
                continue;
            }
            if (message == null) {
                return;
            }
            Record record = expected.records.get((int) message.offset());
            if (!Arrays.equals(record.payload(), message.data())) {
                throw new AssertionError("consumer " + name + " gets a wrong record " + message.offset());
            }
            reader.out.add(message.offset());
        }
    }

    private void dropped(Expected.Reader reader, DroppedException e) {
        if (!mayDrop) {
            throw e;
        }
        reader.places.add(e.last() + 1);
        reader.out.clear();
        reader.acked.clear();
        reader.kept.clear();
    }

    /** Acks everything up to one of the records that are out. */
    void ack(String name) {
        begin("ack");
        Expected.Reader reader = reader(name);
        if (!reader.out.isEmpty()) {
            long offset = pick(reader.out);
            try {
                queue.ack(name, offset);
                reader.out.removeIf(each -> each <= offset);
                reader.places.add(queue.committedOffset(name));
            } catch (DroppedException e) {
                dropped(reader, e);
            }
        }
    }

    void ackSingle(String name) {
        begin("single ack");
        Expected.Reader reader = reader(name);
        if (!reader.out.isEmpty()) {
            long offset = pick(reader.out);
            try {
                queue.ackSingle(name, offset);
                reader.out.remove(offset);
                reader.acked.add(offset);
                reader.kept.add(offset);
                reader.places.add(queue.committedOffset(name));
            } catch (DroppedException e) {
                dropped(reader, e);
            }
        }
    }

    void nack(String name) {
        begin("nack");
        Expected.Reader reader = reader(name);
        if (!reader.out.isEmpty()) {
            long offset = pick(reader.out);
            try {
                queue.nack(name, offset);
                reader.out.remove(offset);
            } catch (DroppedException e) {
                dropped(reader, e);
            }
        }
    }

    private long pick(Set<Long> offsets) {
        List<Long> all = new ArrayList<>(offsets);
        return all.get(random.nextInt(all.size()));
    }

    void seek(String name) {
        begin("seek");
        Expected.Reader reader = reader(name);
        long first = queue.firstOffset();
        long place = first + random.nextInt((int) (expected.pushed - first) + 1);
        reader.places.add(place);
        reader.kept.clear();
        reader.out.clear();
        try {
            queue.seek(name, StartAt.offset(place));
            reader.acked.clear();
        } catch (DroppedException e) {
            dropped(reader, e);
        }
    }

    // ---- consumers

    void make(String name) {
        begin("make a consumer");
        if (!expected.readers.containsKey(name)) {
            boolean latest = random.nextBoolean();
            long place = latest ? expected.pushed : queue.firstOffset();
            expected.readers.put(name, new Expected.Reader(Set.of(place), false));
            queue.createConsumer(name, latest ? StartAt.LATEST : StartAt.EARLIEST);
            expected.readers.get(name).isSure = true;
        }
    }

    void delete(String name) {
        begin("delete a consumer");
        expected.readers.get(name).isSure = false;
        long held = expected.heldWithoutConsumers();
        queue.deleteConsumer(name);
        expected.readers.remove(name);
        expected.held = held;
        opened.remove(name);
    }

    void closeConsumer(String name) {
        begin("close a consumer");
        if (opened.contains(name)) {
            queue.closeConsumer(name);
            opened.remove(name);
        }
    }

    // ---- ends

    /** Closes and opens again. */
    void reopen() {
        begin("close");
        Map<String, Long> committed = queue.committed();
        queue.close();
        expected.flushed(committed, mayDrop);
        expected.readers.values().forEach(reader -> reader.remembersAcks = true);
        cut("behind a clean close");
        // Whoever opens it next takes up what each has left, and a crash forgets that.
        expected.readers.values().forEach(reader -> reader.remembersAcks = false);
        begin("open");
        open();
    }

    /** The process dies, the page cache stays, and the next process recovers. */
    void kill() throws IOException {
        begin("kill");
        Path next = workshop.directory();
        LossyDisk left = disk.afterKill(next);
        abandon();
        root = next;
        disk = left;
        operation = "recover from a kill";
        expected.readers.values().forEach(reader -> reader.kept.clear());
        disk.watch(this::before);
        open();
        if (queue.endOffset() != expected.pushed) {
            throw new AssertionError(
                    "after a kill the log ends with record " + queue.endOffset() + " of " + expected.pushed);
        }
        expected.flushed(queue.committed(), mayDrop);
    }

    /** The power fails, and life goes on with what is left. */
    void lose() throws IOException {
        begin("loss of power");
        Map<Path, byte[]> image = disk.cut(random);
        new Afterwards(workshop, random, expected.copy(), mayDrop, tally, 0).check(image, config);
        abandon();
        root = workshop.directory();
        disk = LossyDisk.of(image, root);
        operation = "recover from a loss";
        expected.readers.values().forEach(reader -> reader.kept.clear());
        disk.watch(this::before);
        Set<String> sure = new TreeSet<>(expected.readers.keySet());
        queue = StorageQueue.open(Workshop.at(config, root), disk);
        checkCuts();
        sure.removeAll(queue.consumers());
        // Records before that may still be readable, and are not kept.
        expected.held = Math.min(expected.heldWithoutConsumers(), queue.endOffset());
        expected.readers.keySet().removeAll(sure);
        expected.endsAt((int) queue.endOffset());
        opened.clear();
        countAt.clear();
        countAt.put(queue.stats().writingPosition(), expected.pushed);
        expected.readers.values().forEach(reader -> {
            reader.isSure = true;
            reader.acked.removeIf(offset -> offset >= expected.pushed);
        });
        expected.flushed(queue.committed(), mayDrop);
    }

    private void abandon() throws IOException {
        disk.watch(call -> {});
        queue.close();
        disk.close();
        workshop.remove(root);
    }

    @Override
    public void close() throws IOException {
        abandon();
    }
}
