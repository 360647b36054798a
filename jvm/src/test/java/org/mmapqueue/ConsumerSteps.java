package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.errors.UnackedLimitException;

/** Steps of one open consumer of a {@link QueueModel}, each compared with its {@link ConsumerModel}. */
final class ConsumerSteps {
    private final Consumer handle;
    private final ConsumerModel model;
    private final List<byte[]> log;
    private final int zero;
    private final List<byte[]> dead;

    /**
     * Makes the steps of one consumer.
     *
     * @param log every record that was pushed, by number
     * @param zero the number of the record with offset 0
     * @param dead the expected content of the dead-letter queue, to which steps add
     */
    ConsumerSteps(Consumer handle, ConsumerModel model, List<byte[]> log, int zero, List<byte[]> dead) {
        this.handle = handle;
        this.model = model;
        this.log = log;
        this.zero = zero;
        this.dead = dead;
    }

    boolean isAtEnd() {
        return model.find(log.size()) == ConsumerModel.NONE;
    }

    private void assertIs(int number, int attempts, Message message) {
        assertEquals(number - zero, message.offset());
        assertArrayEquals(log.get(number), message.data(), "record " + number);
        assertEquals(attempts, message.attempts(), "attempts of record " + number);
    }

    private void deadLetter() {
        model.deadLetter().forEach(number -> dead.add(log.get(number)));
    }

    void pop() {
        int number = model.find(log.size());
        if (number == ConsumerModel.NONE) {
            assertNull(handle.poll());
        } else if (model.exceedsLimit(number)) {
            assertThrows(UnackedLimitException.class, () -> handle.poll());
        } else {
            assertIs(number, model.attempts(number), handle.poll());
            model.pop(number);
        }
        deadLetter();
    }

    void popBatch(int records, int bytes) throws InterruptedException {
        List<Message> batch = new ArrayList<>();
        boolean thrown = false;
        try {
            batch.addAll(handle.popBatch(records, bytes, Duration.ZERO));
        } catch (UnackedLimitException e) {
            thrown = true;
        }
        int count = 0;
        long sum = 0;
        boolean expectThrow = false;
        while (count < records) {
            int number = model.find(log.size());
            if (number == ConsumerModel.NONE) {
                break;
            }
            if (model.exceedsLimit(number)) {
                expectThrow = count == 0;
                break;
            }
            sum += log.get(number).length;
            if (count > 0 && sum > bytes) {
                break;
            }
            assertTrue(count < batch.size(), "record " + number + " was not popped");
            assertIs(number, model.attempts(number), batch.get(count++));
            model.pop(number);
        }
        assertEquals(count, batch.size());
        assertEquals(expectThrow, thrown);
        deadLetter();
    }

    void peek() {
        int number = model.find(log.size());
        Message message = handle.peek();
        if (number == ConsumerModel.NONE) {
            assertNull(message);
        } else {
            assertIs(number, model.attempts(number), message);
        }
    }

    // From a little before the committed record to a little after the record popped last.
    private int pick(int choice) {
        return model.committed() - 3 + choice % (model.next() - model.committed() + 6);
    }

    private boolean isPopped(int number) {
        return number >= zero && model.wasPopped(number);
    }

    void ack(int which) {
        int number = pick(which);
        if (isPopped(number)) {
            handle.ackUpTo((long) number - zero);
            model.ack(number);
        } else {
            assertThrows(OutOfRangeException.class, () -> handle.ackUpTo((long) number - zero));
        }
    }

    void ackAll() {
        if (model.next() > model.committed()) {
            handle.ackUpTo(model.next() - 1L - zero);
            model.ack(model.next() - 1);
        }
    }

    void ackSingle(List<Integer> which) {
        // Mostly popped records: one that was not popped makes the whole call throw.
        int popped = Math.max(1, model.next() - model.committed());
        List<Integer> numbers = which.stream()
                .map(each -> each % 11 == 0 ? pick(each) : model.committed() + each % popped)
                .toList();
        long[] offsets =
                numbers.stream().mapToLong(number -> (long) number - zero).toArray();
        if (numbers.stream().allMatch(number -> isPopped(number))) {
            handle.ack(offsets);
            numbers.forEach(model::ackSingle);
        } else {
            assertThrows(OutOfRangeException.class, () -> handle.ack(offsets));
        }
    }

    void nack(int which) {
        int number = pick(which);
        if (isPopped(number) && !model.isAcked(number)) {
            handle.nack((long) number - zero);
            if (model.nack(number)) {
                deadLetter();
            }
        } else {
            assertThrows(OutOfRangeException.class, () -> handle.nack((long) number - zero));
        }
    }

    /** Requeues every record in flight. */
    void seekCommitted() {
        handle.seek(StartAt.COMMITTED);
        model.nackAll();
        deadLetter();
    }

    /** Compares everything that can be read without a change. */
    void check() {
        assertEquals(model.next() - zero, handle.readOffset());
        assertEquals(model.committed() - zero, handle.committedOffset());
        assertEquals(model.lag(log.size()), handle.lag());
        assertEquals(model.unacked(), handle.unacked());
        assertEquals(model.size(log.size()), handle.size());
    }
}
