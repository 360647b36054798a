package org.mmapqueue.append;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.Records;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.PoisonedException;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.PowerLossStorage;

/** A thread that fails between locking the log end and publishing its record. */
@Tag("long-form")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailedAppendTest extends FailingAppends {
    /** The kernel has written the failed record back: on the disk it would follow the log end. */
    @Test
    void theZerosOverAnUndoneAppendReachTheDisk() throws Exception {
        PowerLossStorage disk = new PowerLossStorage();
        SplittableRandom random = new SplittableRandom(1);
        Path directory = temp.resolve("queue");
        core = Cores.open(config(2), disk);
        push(100);
        core.writer().flush(); // from now on parts are fsynced, and not the whole file
        // It ends with a page, so that its fsync does not cover the bytes after it.
        int length = 8192 - 2 * RecordDescriptor.SMALLEST - new Geometry(Format.V2, SEGMENT, 20).dataStart() - 104;
        Records batch = Records.of(List.of(new byte[length], Payload.of(1, 500), Payload.of(2, 500)));
        RuntimeException failure = new RuntimeException("injected");
        Records failing = new Records() {
            @Override
            public int count() {
                return batch.count();
            }

            @Override
            public byte[] array(int i) {
                if (i == 2) {
                    for (int pages = 0; pages < 50; pages++) {
                        disk.writeBack(directory, random);
                    }
                    throw failure;
                }
                return batch.array(i);
            }

            @Override
            public int from(int i) {
                return batch.from(i);
            }

            @Override
            public int length(int i) {
                return batch.length(i);
            }
        };
        assertSame(
                failure,
                assertThrows(RuntimeException.class, () -> core.writer().push(failing)));
        push(length);
        assertEquals(8192, core.stats().writingPosition());
        core.close();
        Path lost = disk.lose(directory, temp.resolve("lost"), random, 0);
        try (MmapQueue queue =
                MmapQueue.open(QueueConfig.builder(lost).maxEventSize(20_000).build())) {
            Payload.assertMessages(0, expected, Payload.drain(queue));
        }
    }

    static List<Throwable> failures() {
        return List.of(
                new ArrayIndexOutOfBoundsException("injected"),
                new OutOfMemoryError("injected"),
                new StackOverflowError("injected"),
                new Error("injected"));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aBatchThatFailsAtAnyRecordStoresNothing(int version) throws Exception {
        open(version);
        push(100);
        for (Throwable failure : failures()) {
            for (int calls = 0; calls < (version == 1 ? 3 : 6); calls++) {
                // Bytes that are not zeros, so that what is left of them would be taken for a header.
                fails(failure, calls, Payload.of(1, 700), Payload.of(2, 700), Payload.of(3, 700));
                push(24);
                assertNotNull(core.consumer("default", StartAt.EARLIEST).poll());
            }
        }
        assertOnlyExpected(version);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aBatchThatFailsBeforeItsRollIsRolledBack(int version) throws Exception {
        open(version);
        push(100);
        for (Throwable failure : failures()) {
            fails(failure, 0, Payload.of(1, 15_000), Payload.of(2, 15_000));
            fails(failure, version == 1 ? 1 : 2, Payload.of(1, 9000), Payload.of(2, 15_000));
            push(24);
        }
        push(15_900);
        push(3000);
        assertOnlyExpected(version);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aBatchThatFailsAfterItsRollIsRolledBack(int version) throws Exception {
        open(version);
        push(100);
        for (Throwable failure : failures()) {
            for (int round = 0; round < 2; round++) {
                fails(failure, version == 1 ? 1 : 3, new byte[17_000], new byte[9]);
                fails(failure, version == 1 ? 2 : 5, Payload.of(1, 17_000), Payload.of(2, 18_000), new byte[9]);
                push(24);
                push(round == 0 ? 9000 : 20_000);
                assertNotNull(core.consumer("default", StartAt.EARLIEST).poll());
            }
        }
        assertOnlyExpected(version);
    }

    /** The log end is the end of its segment, so that the whole batch is in later ones. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aBatchThatBeginsWithItsRollIsRolledBack(int version) throws Exception {
        open(version);
        push(whole(version));
        for (Throwable failure : failures()) {
            fails(failure, version == 1 ? 1 : 3, Payload.of(1, 17_000), new byte[9]);
            fails(failure, version == 1 ? 1 : 3, Payload.of(1, 9), new byte[9]);
        }
        push(24);
        assertOnlyExpected(version);
    }

    /** The bytes of a record that fills a segment. */
    private static int whole(int version) {
        return version == 1
                ? SEGMENT - Long.BYTES
                : SEGMENT - new Geometry(Format.V2, SEGMENT, 20).dataStart() - RecordDescriptor.SMALLEST;
    }

    @ParameterizedTest
    @CsvSource({"-1, 10", "95, 10", "200, 1"})
    void aRangeOutsideOfItsArrayLeavesNothing(int from, int length) throws Exception {
        open(2);
        push(100);
        assertThrows(IndexOutOfBoundsException.class, () -> core.writer().push(new byte[100], from, length));
        push(50);
        assertOnlyExpected(2);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void aRollbackThatCannotBeFsyncedPoisons(int version) {
        open(version);
        push(100);
        storage.failWhen((call, path) -> call == FaultyStorage.Call.SYNC);
        Runnable push = () ->
                core.writer().push(new FailingBatch(List.of(new byte[9]), 0, new IllegalStateException("no payload")));
        if (version == 1) {
            assertThrows(IllegalStateException.class, push::run); // nothing is wiped
            push(7);
        } else {
            PoisonedException poisoned = assertThrows(PoisonedException.class, push::run);
            assertEquals("injected: SYNC of 0_segment.dat", poisoned.getCause().getMessage());
        }
    }
}
