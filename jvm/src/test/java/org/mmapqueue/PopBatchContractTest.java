package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

@ForEverySetup
class PopBatchContractTest extends ContractTest {
    private static final long ANY = Long.MAX_VALUE;

    private List<byte[]> payloads;

    /** Ten records of 100 bytes. */
    @BeforeEach
    void push() {
        payloads = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            payloads.add(Payload.of(i, 100));
        }
        Payload.pushAll(queue, payloads);
    }

    private List<Message> popBatch(int maxRecords, long maxBytes) throws InterruptedException {
        return queue.consumer().popBatch(maxRecords, maxBytes, Duration.ZERO);
    }

    @Test
    void maxRecordsLimitsABatch() throws InterruptedException {
        Payload.assertMessages(0, payloads.subList(0, 4), popBatch(4, ANY));
        Payload.assertMessages(4, payloads.subList(4, 5), popBatch(1, ANY));
        Payload.assertMessages(5, payloads.subList(5, 10), popBatch(100, ANY));
        assertEquals(List.of(), popBatch(100, ANY));
    }

    @Test
    void maxBytesLimitsABatch() throws InterruptedException {
        Payload.assertMessages(0, payloads.subList(0, 2), popBatch(100, 299));
        Payload.assertMessages(2, payloads.subList(2, 5), popBatch(100, 300));
        Payload.assertMessages(5, payloads.subList(5, 6), popBatch(100, 199));
        Payload.assertMessages(6, payloads.subList(6, 10), popBatch(100, 400));
    }

    @Test
    void aBatchHasAtLeastOneRecordOfAnySize() throws InterruptedException {
        Payload.assertMessages(0, payloads.subList(0, 1), popBatch(100, 1));
        Payload.assertMessages(1, payloads.subList(1, 2), popBatch(1, 99));
    }

    @Test
    void emptyRecordsFitAnyByteLimit() throws InterruptedException {
        popBatch(100, ANY);
        List<byte[]> more = List.of(new byte[0], new byte[5], new byte[0], new byte[0]);
        Payload.pushAll(queue, more);
        Payload.assertMessages(10, more, popBatch(100, 5));
    }

    @Test
    void pollBatchDoesNotWait() {
        Consumer consumer = queue.consumer();
        Payload.assertMessages(0, payloads.subList(0, 2), consumer.pollBatch(100, 299));
        Payload.assertMessages(2, payloads.subList(2, 6), consumer.pollBatch(4, ANY));
        Payload.assertMessages(6, payloads.subList(6, 10), consumer.pollBatch(100, ANY));
        assertEquals(List.of(), consumer.pollBatch(100, ANY));
        assertThrows(IllegalArgumentException.class, () -> consumer.pollBatch(0, ANY));
        assertThrows(IllegalArgumentException.class, () -> consumer.pollBatch(1, 0));
        consumer.ackUpTo(9);
        assertEquals(0, consumer.unacked());
    }

    @Test
    void limitsBelowOneThrow() {
        assertThrows(IllegalArgumentException.class, () -> popBatch(0, ANY));
        assertThrows(IllegalArgumentException.class, () -> popBatch(1, 0));
        assertThrows(IllegalArgumentException.class, () -> popBatch(-1, -1));
        assertEquals(0, queue.consumer().readOffset());
    }

    @Test
    void popBatchWaitsForTheFirstRecordOnly() throws Exception {
        popBatch(100, ANY);
        Waiting.Running<List<Message>> waitingPop = Waiting.start(
                        () -> queue.consumer().popBatch(5, ANY, Waiting.LONG))
                .untilItWaits();
        assertFalse(waitingPop.isDone());
        queue.push(Payload.of(10, 7));
        Payload.assertMessages(10, List.of(Payload.of(10, 7)), waitingPop.result());
    }

    @Test
    void aTimeoutReturnsAnEmptyList() throws InterruptedException {
        popBatch(100, ANY);
        assertEquals(List.of(), queue.consumer().popBatch(5, ANY, Duration.ofMillis(20)));
        assertEquals(List.of(), queue.consumer().popBatch(5, ANY, Duration.ofMillis(-20)));
    }

    @Test
    void aHandlerReceivesTheBatch() throws InterruptedException {
        List<Message> got = new ArrayList<>();
        MessageHandler handler = (offset, timestamp, buffer, start, length, attempts) ->
                got.add(new Message(offset, timestamp, Arrays.copyOfRange(buffer, start, start + length), attempts));
        assertEquals(3, queue.consumer().popBatch(3, ANY, Duration.ZERO, handler));
        assertEquals(2, queue.consumer().popBatch(10, 250, Duration.ZERO, handler));
        Payload.assertMessages(0, payloads.subList(0, 5), got);
        assertEquals(5, queue.consumer().readOffset());
    }

    @Test
    void recordsBeforeAThrowingHandlerCallArePopped() {
        List<Long> got = new ArrayList<>();
        assertThrows(
                IllegalStateException.class,
                () -> queue.consumer().popBatch(10, ANY, Duration.ZERO, (offset, time, buffer, at, length, times) -> {
                    if (offset == 3) {
                        throw new IllegalStateException();
                    }
                    got.add(offset);
                }));
        assertEquals(List.of(0L, 1L, 2L), got);
        Payload.assertMessages(3, payloads.subList(3, 10), Payload.drain(queue));
    }

    @Test
    void batchesSpanManySegments() throws InterruptedException {
        popBatch(100, ANY);
        queue.consumer().ackUpTo(9);
        List<byte[]> mixed = setup.payloads(77, 300);
        Payload.pushAll(queue, mixed);
        List<Message> got = new ArrayList<>();
        for (List<Message> batch = popBatch(7, setup.maxEvent); !batch.isEmpty(); batch = popBatch(7, setup.maxEvent)) {
            long bytes =
                    batch.stream().mapToLong(message -> message.data().length).sum();
            assertEquals(true, batch.size() <= 7 && bytes <= setup.maxEvent);
            got.addAll(batch);
        }
        Payload.assertMessages(10, mixed, got);
    }
}
