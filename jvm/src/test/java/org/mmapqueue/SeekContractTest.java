package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.support.Micros;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.Waiting;

@ForEverySetup
class SeekContractTest extends ContractTest {
    private List<byte[]> payloads;

    private Consumer consumer() {
        return queue.consumer();
    }

    private void push() {
        payloads = new ArrayList<>();
        for (int i = 0; i < 15; i++) {
            payloads.add(setup.tenth(i));
        }
        Payload.pushAll(queue, payloads);
    }

    private void assertReadsFrom(long offset) {
        assertEquals(offset, consumer().readOffset());
        assertEquals(offset, consumer().committedOffset());
        assertEquals(0, consumer().unacked());
        assertEquals(queue.endOffset() - offset, consumer().size());
        Payload.assertMessages(offset, payloads.subList((int) offset, payloads.size()), Payload.drain(queue));
    }

    @Test
    void version1SeeksToCommittedAlone() {
        push();
        queue.consumer().pop();
        if (setup.isV1()) {
            for (StartAt start :
                    List.of(StartAt.EARLIEST, StartAt.LATEST, StartAt.offset(0), StartAt.timestamp(Instant.EPOCH))) {
                ConfigException thrown = assertThrows(
                        ConfigException.class, () -> queue.consumer().seek(start));
                assertEquals("seek", thrown.key());
            }
            assertEquals(1, consumer().unacked());
        }
        queue.consumer().seek(StartAt.COMMITTED);
        assertEquals(0, queue.consumer().pop().offset());
    }

    @Test
    void aSeekToCommittedRequeuesRecordsInFlightAndKeepsAcks() {
        push();
        for (int i = 0; i < 8; i++) {
            queue.consumer().pop();
        }
        queue.consumer().ackUpTo(1);
        consumer().ack(4);
        consumer().nack(6);
        assertEquals(6, queue.consumer().pop().offset());
        queue.consumer().seek(StartAt.COMMITTED);
        assertEquals(2, consumer().committedOffset());
        assertEquals(8, consumer().readOffset());
        assertEquals(0, consumer().unacked());
        for (long offset : new long[] {2, 3, 5, 6, 7}) {
            Message message = queue.consumer().pop();
            assertEquals(offset, message.offset());
            assertEquals(offset == 6 ? 3 : 2, message.attempts());
        }
        assertEquals(5, consumer().unacked());
        assertEquals(8, queue.consumer().pop().offset());
        queue.consumer().seek(StartAt.COMMITTED);
        queue.consumer().ackUpTo(8); // a record popped before the seek can still be acked
        assertEquals(9, consumer().committedOffset());
        assertEquals(9, queue.consumer().pop().offset());
    }

    @Test
    void aSeekReachesAnyRetainedOffset() {
        assumeFalse(setup.isV1(), "format_version 1 seeks to the committed offset alone");
        payloads = setup.payloads(8, 60);
        Payload.pushAll(queue, payloads);
        Payload.drain(queue);
        queue.createConsumer("retaining", StartAt.EARLIEST); // retains every record
        for (int offset = 0; offset <= payloads.size(); offset++) {
            queue.consumer().seek(StartAt.offset(offset));
            assertReadsFrom(offset);
        }
        for (long bad : new long[] {-1, payloads.size() + 1, Long.MAX_VALUE, Long.MIN_VALUE}) {
            OutOfRangeException thrown = assertThrows(
                    OutOfRangeException.class, () -> queue.consumer().seek(StartAt.offset(bad)));
            assertEquals(bad, thrown.requested());
            assertEquals(0, thrown.first());
            assertEquals(payloads.size() - 1, thrown.last());
        }
        assertEquals(payloads.size(), consumer().committedOffset());
    }

    @Test
    void earliestIsTheOldestRecordThatAConsumerHasNotAcked() {
        assumeFalse(setup.isV1(), "format_version 1 seeks to the committed offset alone");
        push();
        queue.createConsumer("slow", StartAt.offset(3));
        Payload.drain(queue);
        queue.consumer().ackUpTo(payloads.size() - 1);
        queue.consumer().seek(StartAt.EARLIEST);
        assertReadsFrom(3);
        OutOfRangeException gone =
                assertThrows(OutOfRangeException.class, () -> queue.consumer().seek(StartAt.offset(2)));
        assertEquals(3, gone.first());
    }

    @Test
    void latestSkipsEveryRecord() {
        assumeFalse(setup.isV1(), "format_version 1 seeks to the committed offset alone");
        push();
        queue.consumer().pop();
        queue.consumer().seek(StartAt.LATEST);
        assertReadsFrom(payloads.size());
        assertNull(queue.consumer().poll());
        assertEquals(0, consumer().lag());
        long offset = queue.push(setup.tenth(1));
        Payload.assertMessages(offset, List.of(setup.tenth(1)), Payload.drain(queue));
    }

    @Test
    void aSeekForgetsEarlierPops() {
        assumeFalse(setup.isV1(), "format_version 1 seeks to the committed offset alone");
        push();
        for (int i = 0; i < 6; i++) {
            queue.consumer().pop();
        }
        consumer().nack(2);
        consumer().ack(4);
        queue.consumer().seek(StartAt.offset(1));
        assertThrows(OutOfRangeException.class, () -> queue.consumer().ackUpTo(1));
        assertThrows(OutOfRangeException.class, () -> consumer().ack(4));
        assertThrows(OutOfRangeException.class, () -> consumer().nack(2));
        for (int offset = 1; offset < 7; offset++) {
            Message message = queue.consumer().pop();
            assertEquals(offset, message.offset());
            assertEquals(1, message.attempts());
        }
        queue.consumer().ackUpTo(0); // before the seek: it counts as acked
        assertEquals(1, consumer().committedOffset());
    }

    @Test
    void aSeekForwardFreesSpaceAndASeekBackHoldsIt() {
        assumeFalse(setup.isV1(), "format_version 1 seeks to the committed offset alone");
        queue.createConsumer("other", StartAt.EARLIEST);
        int count = fill().size();
        queue.consumer().seek(StartAt.LATEST);
        assertThrows(FullException.class, () -> queue.push(setup.tenth(1)));
        queue.consumer().seek(StartAt.offset(count / 2));
        queue.deleteConsumer("other");
        int more = fill().size();
        assertTrue(more > 0 && more < count, more + " of " + count);
        assertThrows(OutOfRangeException.class, () -> queue.consumer().seek(StartAt.offset(count / 2 - 1)));
        assertEquals(count - count / 2 + more, Payload.drain(queue).size());
    }

    @Test
    void aWaitingPushIsWokenByASeek() throws Exception {
        assumeFalse(setup.isV1(), "format_version 1 seeks to the committed offset alone");
        int count = fill().size();
        Waiting.Running<Long> pushing =
                Waiting.start(() -> queue.push(setup.tenth(1), Waiting.LONG)).untilItWaits();
        queue.consumer().seek(StartAt.LATEST);
        assertEquals(count, pushing.result());
    }

    @Test
    void aWaitingPopIsWokenByASeek() throws Exception {
        assumeFalse(setup.isV1(), "format_version 1 seeks to the committed offset alone");
        queue.createConsumer("retaining", StartAt.EARLIEST);
        push();
        queue.consumer().seek(StartAt.LATEST);
        Waiting.Running<Message> waitingPop =
                Waiting.start(() -> queue.consumer().pop(Waiting.LONG)).untilItWaits();
        queue.consumer().seek(StartAt.EARLIEST);
        assertEquals(0, waitingPop.result().offset());
    }

    @Test
    void aSeekSurvivesAReopening() {
        assumeFalse(setup.isV1(), "format_version 1 seeks to the committed offset alone");
        push();
        Payload.drain(queue);
        queue.consumer().seek(StartAt.offset(5));
        reopen();
        assertReadsFrom(5);
    }

    @Test
    void aSeekToATimestampFindsTheFirstRecordSince() {
        assumeFalse(setup.isV1(), "format_version 1 seeks to the committed offset alone");
        push();
        queue.createConsumer("retaining", StartAt.EARLIEST);
        if (!setup.timestamps) {
            ConfigException thrown =
                    assertThrows(ConfigException.class, () -> queue.consumer().seek(StartAt.timestamp(Instant.EPOCH)));
            assertEquals("timestamps", thrown.key());
            return;
        }
        long middle = queue.get(payloads.size() / 2).timestampMicros();
        long expected = queue.getMany(0, payloads.size()).stream()
                .filter(message -> message.timestampMicros() >= middle)
                .findFirst()
                .orElseThrow()
                .offset();
        queue.consumer().seek(StartAt.timestamp(Micros.instant(middle)));
        assertReadsFrom(expected);
        queue.consumer().seek(StartAt.timestamp(Instant.EPOCH));
        assertReadsFrom(0);
        queue.consumer().seek(StartAt.timestamp(Instant.MAX));
        assertReadsFrom(payloads.size());
    }
}
