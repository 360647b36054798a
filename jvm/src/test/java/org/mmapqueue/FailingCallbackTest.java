package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Callbacks that throw: no record is consumed or stored. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailingCallbackTest extends Callbacks {
    /** A handler or sink that throws has consumed neither its record nor the later ones. */
    @ParameterizedTest
    @EnumSource(
            value = Caller.class,
            names = {"POP_BATCH", "GET_MANY", "READ_TO_SINK", "READ_TO_HANDLER"})
    void aCallbackThatThrowsConsumesNoRecord(Caller caller) throws Exception {
        IllegalStateException failure = new IllegalStateException("callback");
        Consumer consumer = queue.consumer();
        assertSame(
                failure,
                assertThrows(
                        IllegalStateException.class,
                        () -> caller.call(
                                queue,
                                consumer,
                                () -> {
                                    throw failure;
                                },
                                new ArrayList<>())));
        List<Long> seen = new ArrayList<>();
        caller.call(queue, consumer, () -> {}, seen);
        assertEquals(range(0, RECORDS), seen);
    }

    @Test
    void aReaderContinuesAtTheRecordWhoseSinkThrew() {
        RecordReader reader = queue.reader(0, RECORDS);
        List<Long> seen = new ArrayList<>();
        for (int fails = 3; fails < RECORDS; fails += 7) {
            int at = fails;
            assertThrows(
                    IllegalStateException.class,
                    () -> reader.read(RECORDS, Long.MAX_VALUE, (offset, timestamp, data) -> {
                        if (offset == at) {
                            throw new IllegalStateException("sink");
                        }
                        seen.add(offset);
                    }));
            assertEquals(at, reader.offset());
        }
        while (reader.read(2, Long.MAX_VALUE, (offset, timestamp, data) -> seen.add(offset)) > 0) {
            assertTrue(reader.offset() <= RECORDS);
        }
        assertEquals(range(0, RECORDS), seen);
    }

    /** {@code Records.array} throws within a batch over several segments: nothing is stored, nothing is poisoned. */
    @ParameterizedTest
    @EnumSource(
            value = Caller.class,
            names = {"PUSH_ARRAY", "IDEMPOTENT_ARRAY"})
    void aBatchWhosePayloadsFailStoresNothing(Caller caller) throws Exception {
        OutOfMemoryError failure = new OutOfMemoryError("injected");
        assertSame(
                failure,
                assertThrows(
                        OutOfMemoryError.class,
                        () -> caller.call(
                                queue,
                                queue.consumer(),
                                () -> {
                                    throw failure;
                                },
                                new ArrayList<>())));
        assertEquals(RECORDS, queue.endOffset());
        List<Long> seen = new ArrayList<>();
        caller.call(queue, queue.consumer(), () -> {}, seen);
        assertEquals(List.of((long) RECORDS), seen);
        assertEquals(RECORDS + 3, queue.endOffset());
    }
}
