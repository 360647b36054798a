package org.mmapqueue.crash;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.mmapqueue.Message;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.harness.TestRecord;
import org.mmapqueue.support.StorageQueue;

/**
 * A fixed sequence of calls that does every operation on files once, on segments of 4 KiB. It is the same each time, so
 * it can be interrupted at each of its file operations in turn. For one thread.
 */
final class Scenario {
    /** Consumers, by their index in {@link Plan#NAMES}. */
    static final int DEFAULT = 0;

    static final int NAMED = 1;
    static final int SHORT_LIVED = 4;

    private static final int CAPACITY = 7;
    private static final int MAX_EVENT = 9000;
    private static final int PRODUCER = 1;

    private final Journal journal;
    private final int part;
    private final QueueConfig config;
    private final StorageQueue.Step step;
    private StorageQueue queue;
    private long next;

    /**
     * Opens nothing yet.
     *
     * @param part 0 creates the queue and uses it; 1 opens what an interruption has left, and uses it a little
     */
    Scenario(Path directory, int part, Journal journal, StorageQueue.Step step) {
        this.journal = journal;
        this.part = part;
        this.config = plan().config(directory);
        this.step = step;
    }

    static Plan plan() {
        return new Plan(
                2,
                4096,
                CAPACITY,
                8,
                MAX_EVENT,
                true,
                600_000,
                1_000_000,
                0,
                0,
                "park",
                1,
                List.of(1, 1, 0, 0, 0, 0),
                List.of(SHORT_LIVED),
                false,
                MAX_EVENT,
                1,
                0,
                0);
    }

    void run() {
        open();
        if (part == 0) {
            workFromStart();
        } else {
            workAfterRecovery();
        }
        close();
    }

    private void workFromStart() {
        openConsumer(DEFAULT);
        openConsumer(NAMED);
        push(600);
        push(20, 700, 16);
        push(MAX_EVENT);
        push(3000, 16, 5000);
        queue.awaitDurable();
        List<Long> popped = pop(DEFAULT, 6);
        nack(DEFAULT, popped.get(1));
        ackSingle(DEFAULT, popped.get(4), popped.get(2));
        pop(DEFAULT, 1);
        ack(DEFAULT, popped.get(2));
        flush();
        gc();
        wrap(4);
        pushIdempotent();
        create(SHORT_LIVED);
        openConsumer(SHORT_LIVED);
        pop(SHORT_LIVED, 2);
        closeConsumer(SHORT_LIVED);
        wrap(4);
        push(100, 100, 100);
        pushOnce(1, 3, false, 200);
        ack(NAMED, pop(NAMED, 3).get(1));
        seek(NAMED, StartAt.LATEST, Event.ANYWHERE);
        seek(NAMED, StartAt.EARLIEST, Event.ANYWHERE);
        delete(SHORT_LIVED);
        catchUp(NAMED);
        gc();
        wrap(4);
        wrap(4);
        reopenWithRecordsInFlight();
    }

    private void pushIdempotent() {
        pushOnce(0, 0, false, 300);
        pushOnce(0, 2, true, 100, 100);
        pushOnce(0, 2, true, 100);
        pushOnce(0, 3, true, 4000, 50);
        pushOnce(0, 4, false, 16);
        flush();
        pushOnce(0, 5, false, 16, 16);
        pushOnce(0, 6, false, 5000);
        pushOnce(0, 7, false, 16);
        queue.awaitDurable();
        pushOnce(0, 8, true, 16);
        catchUp(DEFAULT);
        catchUp(NAMED);
        forget(0);
        pushOnce(0, 1, true, 16);
    }

    // A clean close saves what was acked out of order; the next open reads it.
    private void reopenWithRecordsInFlight() {
        push(100, 100, 100);
        List<Long> popped = pop(DEFAULT, 3);
        ackSingle(DEFAULT, popped.get(1));
        close();
        open();
        openConsumer(DEFAULT);
        openConsumer(NAMED);
        popped = pop(DEFAULT, 2);
        ack(DEFAULT, popped.get(0));
        delete(DEFAULT);
        openConsumer(DEFAULT);
        wrap(4);
    }

    private void workAfterRecovery() {
        openConsumer(DEFAULT);
        openConsumer(NAMED);
        if (queue.consumers().contains(name(SHORT_LIVED))) {
            delete(SHORT_LIVED); // else it would retain slots that are reused below
        }
        catchUp(DEFAULT);
        catchUp(NAMED);
        push(3000);
        retry();
        push(20, 6000);
        wrap(4);
        close();
        open();
        openConsumer(NAMED);
        catchUp(NAMED);
        openConsumer(DEFAULT);
        pop(DEFAULT, 1);
        push(700);
        gc();
    }

    /** Almost one generation: slots are preallocated and reused. */
    private void wrap(int times) {
        for (int i = 0; i < times; i++) {
            push(2000, 3500);
            queue.housekeeperStep();
            catchUp(DEFAULT);
            catchUp(NAMED);
        }
        flush();
    }

    private void catchUp(int consumer) {
        for (List<Long> popped = pop(consumer, 8); !popped.isEmpty(); popped = pop(consumer, 8)) {
            ack(consumer, popped.get(popped.size() - 1));
        }
    }

    // ---- calls, each of them with its events

    private static String name(int consumer) {
        return Plan.NAMES.get(consumer);
    }

    private void open() {
        journal.begin(Event.Kind.OPEN, 0);
        queue = StorageQueue.open(config, step);
        journal.done(Event.Kind.OPEN, 0, queue.endOffset(), -1);
    }

    private void close() {
        journal.begin(Event.Kind.CLOSE, 0);
        queue.close();
        journal.done(Event.Kind.CLOSE, 0);
    }

    private List<byte[]> records(int... lengths) {
        return TestRecord.batch(
                TestRecord.key(part, PRODUCER, next),
                Arrays.stream(lengths).boxed().toList());
    }

    private void push(int... lengths) {
        List<byte[]> records = records(lengths);
        journal.begin(Event.Kind.PUSH, 0, TestRecord.key(part, PRODUCER, next), lengths.length);
        journal.done(Event.Kind.PUSH, 0, records.size() > 1 ? queue.pushBatch(records) : queue.push(records.get(0)));
        next += lengths.length;
    }

    private void pushOnce(int producer, long sequence, boolean sync, int... lengths) {
        List<byte[]> records = records(lengths);
        journal.begin(
                Event.Kind.IDEMPOTENT_PUSH,
                0,
                TestRecord.key(part, PRODUCER, next),
                lengths.length,
                producer,
                sequence);
        long offset = queue.pushOnce(ProducerModel.name(producer), sequence, records, sync);
        journal.done(Event.Kind.IDEMPOTENT_PUSH, 0, offset);
        next += offset < 0 ? 0 : lengths.length;
    }

    // A producer that was killed pushes its last sequence again, and continues.
    private void retry() {
        for (int producer = 0; producer < 2; producer++) {
            long last = queue.lastSequence(ProducerModel.name(producer)).orElse(0);
            pushOnce(producer, last, true, 100, 16);
            pushOnce(producer, last + 1, true, 3000);
        }
    }

    private void forget(int producer) {
        journal.begin(Event.Kind.FORGET, 0, producer);
        queue.forgetProducer(ProducerModel.name(producer));
        journal.done(Event.Kind.FORGET, 0, producer);
    }

    private void openConsumer(int consumer) {
        journal.begin(Event.Kind.OPEN_CONSUMER, 0, consumer);
        journal.done(Event.Kind.OPEN_CONSUMER, 0, consumer, queue.committedOffset(name(consumer)));
    }

    private void closeConsumer(int consumer) {
        journal.begin(Event.Kind.CLOSE_CONSUMER, 0, consumer);
        queue.closeConsumer(name(consumer));
        journal.done(Event.Kind.CLOSE_CONSUMER, 0, consumer);
    }

    private void create(int consumer) {
        journal.begin(Event.Kind.CREATE_CONSUMER, 0, consumer);
        queue.createConsumer(name(consumer), StartAt.EARLIEST);
        journal.done(Event.Kind.CREATE_CONSUMER, 0, consumer);
    }

    private void delete(int consumer) {
        journal.begin(Event.Kind.DELETE_CONSUMER, 0, consumer);
        queue.deleteConsumer(name(consumer));
        journal.done(Event.Kind.DELETE_CONSUMER, 0, consumer);
    }

    private List<Long> pop(int consumer, int most) {
        journal.begin(Event.Kind.POP, 0, consumer);
        List<Message> popped = queue.pop(name(consumer), most);
        long[] values = new long[1 + 2 * popped.size()];
        values[0] = consumer;
        for (int i = 0; i < popped.size(); i++) {
            values[1 + 2 * i] = popped.get(i).offset();
            values[2 + 2 * i] = TestRecord.of(popped.get(i)).key();
        }
        journal.done(Event.Kind.POP, 0, values);
        return popped.stream().map(Message::offset).toList();
    }

    private void ack(int consumer, long offset) {
        journal.begin(Event.Kind.ACK, 0, consumer, offset);
        queue.ackUpTo(name(consumer), offset);
        journal.done(Event.Kind.ACK, 0, consumer, offset);
    }

    private void ackSingle(int consumer, long... offsets) {
        long[] values = new long[1 + offsets.length];
        values[0] = consumer;
        System.arraycopy(offsets, 0, values, 1, offsets.length);
        journal.begin(Event.Kind.ACK_SINGLE, 0, values);
        queue.ack(name(consumer), offsets);
        journal.done(Event.Kind.ACK_SINGLE, 0, values);
    }

    private void nack(int consumer, long offset) {
        journal.begin(Event.Kind.NACK, 0, consumer, offset);
        queue.nack(name(consumer), offset);
        journal.done(Event.Kind.NACK, 0, consumer, offset);
    }

    private void seek(int consumer, StartAt target, long value) {
        journal.begin(Event.Kind.SEEK, 0, consumer, value);
        queue.seek(name(consumer), target);
        journal.done(Event.Kind.SEEK, 0, consumer, value, queue.committedOffset(name(consumer)));
    }

    private void flush() {
        journal.begin(Event.Kind.FLUSH, 0);
        queue.flush();
        journal.done(Event.Kind.FLUSH, 0);
    }

    private void gc() {
        journal.begin(Event.Kind.GC, 0);
        queue.gc();
        journal.done(Event.Kind.GC, 0);
    }
}
