package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.lookup.RangeReader;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** A batch that fails half way delivers the records before the error; the next call throws. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PopErrorTest {
    private static final int SEGMENT = 4096;
    private static final int RECORDS = 100;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final FaultyStorage storage = new FaultyStorage();
    private QueueCore core;
    private ConsumerCore consumer;
    private final List<Long> seen = new ArrayList<>();

    @BeforeEach
    void open() {
        core = Cores.open(
                QueueConfig.builder(temp.resolve("queue"))
                        .segmentSize(SEGMENT)
                        .queueCapacitySegments(64)
                        .maxInMemSegments(4)
                        .build(),
                storage);
        for (int i = 0; i < RECORDS; i++) {
            byte[] payload = Payload.of(i, 500);
            core.writer().push(payload, 0, payload.length);
        }
        consumer = core.consumer("default", StartAt.EARLIEST);
    }

    @AfterEach
    void close() {
        storage.heal();
        core.close();
    }

    private int popAll() {
        return core.poll(
                consumer, RECORDS, Long.MAX_VALUE, false, (offset, timestamp, buffer, start, length, attempts) -> {
                    assertEquals(1, attempts);
                    seen.add(offset);
                });
    }

    private void failMapping(Error error) {
        storage.failWhen((call, path) -> {
            boolean fails = call == FaultyStorage.Call.MAP && path.endsWith("3_segment.dat");
            if (fails && error != null) {
                throw error;
            }
            return fails;
        });
    }

    private void assertContinuesAfter(int popped) {
        assertTrue(popped > 0 && popped < RECORDS, popped + " of " + RECORDS);
        assertEquals(LongStream.range(0, popped).boxed().toList(), seen);
        storage.heal();
        assertEquals(RECORDS - popped, popAll());
        assertEquals(LongStream.range(0, RECORDS).boxed().toList(), seen);
        core.ackUpTo(consumer, RECORDS - 1);
        assertEquals(RECORDS, consumer.committedOffset());
    }

    @Test
    void anInputOutputErrorIsRaisedByTheNextPop() {
        failMapping(null);
        int popped = popAll();
        assertThrows(MmapQueueException.class, this::popAll);
        assertContinuesAfter(popped);
    }

    @Test
    void anOutOfMemoryErrorIsRaisedByTheNextPop() {
        OutOfMemoryError error = new OutOfMemoryError("injected");
        failMapping(error);
        int popped = popAll();
        assertSame(error, assertThrows(OutOfMemoryError.class, this::popAll));
        assertContinuesAfter(popped);
    }

    @Test
    void aReadReturnsTheRecordsBeforeTheError() {
        failMapping(null);
        int read = core.log()
                .randomAccess()
                .get(
                        0,
                        RECORDS,
                        Long.MAX_VALUE,
                        (offset, timestamp, buffer, start, length, attempts) -> seen.add(offset));
        assertTrue(read > 0 && read < RECORDS);
        assertThrows(MmapQueueException.class, () -> core.log().randomAccess().get(read, 1, Long.MAX_VALUE));
        RangeReader reader = core.log().reader(0, RECORDS, false, () -> false);
        assertEquals(read, read(reader));
        assertThrows(MmapQueueException.class, () -> read(reader));
        storage.heal();
        assertEquals(RECORDS - read, read(reader));
    }

    private static int read(RangeReader reader) {
        return reader.read(RECORDS, Long.MAX_VALUE, true, (offset, timestamp, data, start, length, attempts) -> {});
    }
}
