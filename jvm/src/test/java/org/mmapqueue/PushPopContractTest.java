package org.mmapqueue;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.mmapqueue.config.ConfigKey;
import org.mmapqueue.errors.EmptyException;
import org.mmapqueue.errors.TooLargeException;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

@ForEverySetup
class PushPopContractTest extends ContractTest {

    @Test
    void recordsComeBackInOrderWithDenseOffsets() {
        List<byte[]> payloads = setup.payloads(1, 200);
        assertEquals(0, Payload.pushAll(queue, payloads));
        assertEquals(payloads.size(), queue.endOffset());
        Payload.assertMessages(0, payloads, Payload.drain(queue));
        assertNull(queue.consumer().poll());
    }

    @Test
    void pushAndPopAlternateOverManyGenerations() {
        long next = 0;
        for (int round = 0; round < 6; round++) {
            List<byte[]> payloads = setup.payloads(100 + round, 60);
            assertEquals(next, Payload.pushAll(queue, payloads));
            Payload.assertMessages(next, payloads, Payload.drain(queue));
            next += payloads.size();
            queue.consumer().ackUpTo(next - 1);
        }
        assertEquals(0, queue.consumer().lag());
    }

    @Test
    void everyLengthAroundASegmentsEnd() {
        long offset = 0;
        int middle = Math.min(setup.maxEvent, setup.segmentSize - 64) - 20;
        for (int length = middle - 20; length <= middle + 20; length++) {
            byte[] payload = Payload.of(length, length);
            assertEquals(offset, queue.push(payload));
            assertEquals(offset + 1, queue.push(new byte[0]));
            Message message = queue.consumer().pop();
            assertArrayEquals(payload, message.data(), "length " + length);
            assertEquals(offset, message.offset());
            assertEquals(0, queue.consumer().pop().data().length);
            queue.consumer().ackUpTo(offset + 1);
            offset += 2;
        }
    }

    @Test
    void zeroLengthRecordsAreRecords() {
        List<byte[]> payloads = new ArrayList<>();
        for (int i = 0; i < 600; i++) {
            payloads.add(new byte[0]);
        }
        Payload.pushAll(queue, payloads);
        Payload.assertMessages(0, payloads, Payload.drain(queue));
    }

    @Test
    void theLargestRecordIsStoredAndALargerOneThrows() {
        byte[] largest = Payload.of(1, setup.maxEvent);
        assertEquals(0, queue.push(largest));
        TooLargeException thrown =
                assertThrows(TooLargeException.class, () -> queue.push(new byte[setup.maxEvent + 1]));
        assertTrue(thrown.getMessage().contains("max_event_size = " + setup.maxEvent), thrown.getMessage());
        assertThrows(TooLargeException.class, () -> queue.push(new byte[setup.maxEvent + 1], Duration.ofMillis(1)));
        assertThrows(TooLargeException.class, () -> queue.pushSync(new byte[setup.maxEvent + 1], Duration.ofMillis(1)));
        assertThrows(TooLargeException.class, () -> queue.push(ByteBuffer.allocate(setup.maxEvent + 1)));
        assertThrows(TooLargeException.class, () -> queue.push(new byte[2 * setup.maxEvent], 1, setup.maxEvent + 1));
        assertEquals(1, queue.endOffset());
        assertArrayEquals(largest, queue.consumer().pop().data());
        assertNull(queue.consumer().poll());
    }

    @Test
    void aPartOfAnArrayIsPushed() {
        byte[] array = Payload.of(3, 300);
        queue.push(array, 100, 50);
        queue.push(array, 0, 0);
        queue.push(array, 250, 50);
        Payload.assertMessages(
                0,
                List.of(Arrays.copyOfRange(array, 100, 150), new byte[0], Arrays.copyOfRange(array, 250, 300)),
                Payload.drain(queue));
    }

    @Test
    void aRangeOutsideTheArrayThrowsAndTheQueueStaysUsable() {
        byte[] array = Payload.of(4, 100);
        assertThrows(IndexOutOfBoundsException.class, () -> queue.push(array, 50, 51));
        assertThrows(IndexOutOfBoundsException.class, () -> queue.push(array, -1, 10));
        assertThrows(IndexOutOfBoundsException.class, () -> queue.push(array, 0, -1));
        assertEquals(0, queue.push(array));
        Payload.assertMessages(0, List.of(array), Payload.drain(queue));
    }

    @Test
    void theCallersArrayIsCopied() {
        byte[] array = Payload.of(5, 100);
        byte[] before = array.clone();
        queue.push(array);
        Arrays.fill(array, (byte) 0);
        assertArrayEquals(before, queue.consumer().peek().data());
        Message message = queue.consumer().pop();
        Arrays.fill(message.data(), (byte) 1);
        queue.consumer().ackUpTo(0);
        queue.push(before);
        assertArrayEquals(before, queue.consumer().pop().data());
    }

    @Test
    void byteBuffersOfEveryKindArePushedFromPositionToLimit() throws InterruptedException {
        byte[] bytes = Payload.of(6, 200);
        byte[] expected = Arrays.copyOfRange(bytes, 30, 170);
        ByteBuffer heap = ByteBuffer.wrap(bytes);
        ByteBuffer slice = ByteBuffer.wrap(bytes, 10, 180).slice();
        ByteBuffer direct = ByteBuffer.allocateDirect(200).put(bytes);
        List<ByteBuffer> buffers = List.of(
                heap.position(30).limit(170),
                heap.asReadOnlyBuffer(),
                slice.position(20).limit(160),
                direct.position(30).limit(170),
                direct.asReadOnlyBuffer());
        List<byte[]> all = new ArrayList<>();
        for (ByteBuffer buffer : buffers) {
            queue.push(buffer.duplicate(), Duration.ZERO);
            queue.push(buffer);
            assertEquals(buffer.limit(), buffer.position(), "the position moves to the limit");
            all.add(expected);
            all.add(expected);
        }
        Payload.assertMessages(0, all, Payload.drain(queue));
    }

    @Test
    void aByteBufferOfAFailedPushKeepsItsPosition() {
        ByteBuffer buffer = ByteBuffer.allocate(setup.maxEvent + 2).position(1);
        assertThrows(TooLargeException.class, () -> queue.push(buffer));
        assertEquals(1, buffer.position());
    }

    @Test
    void peekDoesNotPop() {
        assertNull(queue.consumer().peek());
        byte[] payload = Payload.of(7, setup.maxEvent);
        queue.push(payload);
        for (int i = 0; i < 3; i++) {
            assertArrayEquals(payload, queue.consumer().peek().data());
            assertEquals(0, queue.consumer().peek().offset());
        }
        assertEquals(0, queue.consumer().readOffset());
        assertArrayEquals(payload, queue.consumer().pop().data());
        assertNull(queue.consumer().peek());
    }

    @Test
    void anEmptyQueueHasNoRecord() throws InterruptedException {
        assertNull(queue.consumer().poll());
        assertThrows(EmptyException.class, queue.consumer()::pop);
        assertThrows(EmptyException.class, () -> queue.consumer().pop(Duration.ofMillis(20)));
        assertThrows(EmptyException.class, () -> queue.consumer().pop(Duration.ofSeconds(-1)));
        assertEquals(List.of(), queue.consumer().popBatch(10, 1000, Duration.ofMillis(1)));
        assertFalse(queue.consumer().poll((offset, timestamp, buffer, start, length, attempts) -> {}));
        queue.push(new byte[3]);
        queue.consumer().pop();
        assertThrows(EmptyException.class, queue.consumer()::pop);
    }

    @Test
    void aWaitingPopIsWokenByAPush() throws Exception {
        for (int i = 0; i < 3; i++) {
            byte[] payload = setup.tenth(i);
            Waiting.Running<Message> waitingPop =
                    Waiting.start(() -> queue.consumer().pop(Waiting.LONG)).untilItWaits();
            assertFalse(waitingPop.isDone());
            queue.push(payload);
            assertArrayEquals(payload, waitingPop.result().data());
        }
    }

    @Test
    void aPopWaitsForItsWholeTimeout() {
        long start = System.nanoTime();
        assertThrows(EmptyException.class, () -> queue.consumer().pop(Duration.ofMillis(60)));
        assertTrue(System.nanoTime() - start >= MILLISECONDS.toNanos(60));
    }

    @Test
    void aHandlerReceivesEachRecordOnce() {
        List<byte[]> payloads = setup.payloads(8, 60);
        Payload.pushAll(queue, payloads);
        List<Message> got = new ArrayList<>();
        MessageHandler handler = (offset, timestamp, buffer, start, length, attempts) ->
                got.add(new Message(offset, timestamp, Arrays.copyOfRange(buffer, start, start + length), attempts));
        while (queue.consumer().poll(handler)) {
            assertEquals(got.size(), queue.consumer().readOffset());
        }
        Payload.assertMessages(0, payloads, got);
    }

    @Test
    void aRecordWhoseHandlerThrowsIsNotPopped() {
        byte[] payload = Payload.of(9, setup.maxEvent);
        queue.push(payload);
        for (int i = 0; i < 3; i++) {
            IllegalStateException thrown = assertThrows(
                    IllegalStateException.class,
                    () -> queue.consumer().poll((offset, timestamp, buffer, start, length, attempts) -> {
                        throw new IllegalStateException("handler");
                    }));
            assertEquals("handler", thrown.getMessage());
        }
        assertEquals(1, queue.consumer().size());
        Payload.assertMessages(0, List.of(payload), Payload.drain(queue));
    }

    @Test
    void aHandlerMayPushPopAndAck() {
        queue.push(new byte[1]);
        assertTrue(
                queue.consumer().poll((offset, timestamp, buffer, start, length, attempts) -> queue.push(new byte[2])));
        queue.push(new byte[3]);
        List<Message> inner = new ArrayList<>();
        assertTrue(queue.consumer().poll((offset, timestamp, buffer, start, length, attempts) -> {
            inner.add(queue.consumer().poll());
            queue.consumer().ackUpTo(2);
            inner.add(new Message(offset, timestamp, Arrays.copyOfRange(buffer, start, start + length), attempts));
        }));
        Payload.assertMessages(2, List.of(new byte[3]), inner.subList(0, 1));
        Payload.assertMessages(1, List.of(new byte[2]), inner.subList(1, 2));
        assertEquals(3, queue.consumer().committedOffset());
    }

    @Test
    void timestampsAreOfThePushAndNeverDecrease() {
        long before = System.currentTimeMillis() * 1000;
        List<byte[]> payloads = setup.payloads(10, 100);
        Payload.pushAll(queue, payloads);
        long after = System.currentTimeMillis() * 1000;
        long last = before;
        for (Message message : Payload.drain(queue)) {
            assertNotNull(message.data());
            assertEquals(1, message.attempts());
            if (setup.timestamps) {
                assertTrue(message.timestampMicros() >= last && message.timestampMicros() <= after);
                last = message.timestampMicros();
            } else {
                assertEquals(0, message.timestampMicros());
            }
        }
    }

    @Test
    void statisticsFollowPushesPopsAndAcks() {
        QueueStats fresh = queue.stats();
        assertEquals(0, fresh.endOffset());
        assertEquals(0, fresh.segmentsInUse());
        assertEquals(setup.capacity, fresh.capacitySegments());
        assertEquals(setup.segmentSize, fresh.segmentSize());
        Payload.pushAll(queue, setup.payloads(11, 50));
        QueueStats pushed = queue.stats();
        assertEquals(queue.endOffset(), pushed.endOffset());
        assertTrue(pushed.writingPosition() > 0);
        assertTrue(pushed.segmentsInUse() >= 1 && pushed.segmentsInUse() <= setup.capacity);
        assertTrue(pushed.mappedSegments() >= 1 && pushed.mappedSegments() <= setup.maxInMem);
        Payload.drain(queue);
        assertEquals(queue.endOffset(), queue.consumer().lag());
        queue.consumer().ackUpTo(queue.endOffset() - 1);
        QueueStats acked = queue.stats();
        assertEquals(acked.writingPosition(), acked.lowWatermark());
        assertEquals(0, acked.segmentsInUse());
        assertTrue(acked.peakMappedSegments() <= setup.maxInMem);
        Map<String, String> effective = queue.config().asMap();
        Map<String, String> set = setup.config(directory)
                .v1Recover("watermark")
                .readOnly(false)
                .timestamps(setup.timestamps)
                .flushCeilingNum(10_000)
                .build()
                .asMap();
        set.forEach((key, value) -> assertEquals(value, effective.get(key), key));
        for (ConfigKey key : ConfigKey.values()) {
            assertTrue(effective.containsKey(key.keyName()), key.keyName());
        }
    }
}
