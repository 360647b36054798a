package org.mmapqueue.append;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.Records;
import org.mmapqueue.StartAt;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.core.QueueCore;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.FaultyStorage;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** A queue on a disk with faults, and the records that it must hold. */
abstract class FailingAppends {
    static final int SEGMENT = 16_384;

    @TempDir(factory = QuickDirectory.class)
    Path temp;

    final FaultyStorage storage = new FaultyStorage();
    final List<byte[]> expected = new ArrayList<>();
    QueueCore core;

    QueueConfig config(int version) {
        return QueueConfig.builder(temp.resolve("queue"))
                .formatVersion(version)
                .segmentSize(SEGMENT)
                .queueCapacitySegments(20)
                .maxInMemSegments(6)
                .maxEventSize(20_000)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
    }

    void open(int version) {
        core = Cores.open(config(version), storage);
    }

    @AfterEach
    void close() {
        storage.heal();
        if (core != null) {
            core.close();
        }
    }

    void push(int length) {
        byte[] payload = Payload.of(expected.size(), length);
        assertEquals(expected.size(), core.writer().push(payload, 0, length));
        expected.add(payload);
    }

    /** Payloads that fail at the n-th access. */
    static final class FailingBatch implements Records {
        private final Records whole;
        private final Throwable failure;
        private int left;

        FailingBatch(List<byte[]> payloads, int calls, Throwable failure) {
            this.whole = Records.of(payloads);
            this.left = calls;
            this.failure = failure;
        }

        @Override
        public int count() {
            return whole.count();
        }

        @Override
        public byte[] array(int i) {
            return whole.array(i);
        }

        @Override
        public int from(int i) {
            if (left-- == 0) {
                throw FailedAppendTest.<RuntimeException>unchecked(failure);
            }
            return whole.from(i);
        }

        @Override
        public int length(int i) {
            return whole.length(i);
        }
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    static <E extends Throwable> E unchecked(Throwable failure) throws E {
        throw (E) failure;
    }

    void fails(Throwable failure, int calls, byte[]... payloads) {
        assertSame(
                failure,
                assertThrows(
                        failure.getClass(),
                        () -> core.writer().push(new FailingBatch(List.of(payloads), calls, failure))));
        assertEquals(expected.size(), core.writer().endOffset());
    }

    /** Every record and no other: in this process, after a copy is recovered, and after a clean close. */
    void assertOnlyExpected(int version) throws Exception {
        ConsumerCore consumer = core.consumer("default", StartAt.EARLIEST);
        for (int i = (int) consumer.readOffset(); i < expected.size(); i++) {
            Payload.assertMessages(i, expected.subList(i, i + 1), List.of(consumer.poll()));
        }
        assertNull(consumer.poll());
        Path killed = Directories.copy(temp.resolve("queue"), temp.resolve("killed-" + expected.size()));
        try (MmapQueue queue = MmapQueue.open(QueueConfig.builder(killed)
                .maxEventSize(20_000)
                .v1Recover("writing")
                .build())) {
            Payload.assertMessages(0, expected, Payload.drain(queue));
        }
        core.close();
        try (MmapQueue queue = MmapQueue.open(config(version))) {
            Payload.assertMessages(0, expected, Payload.drain(queue));
            assertEquals(expected.size(), queue.push(new byte[8]));
            assertEquals(expected.size(), queue.consumer().poll().offset());
        }
    }

    static List<Message> drain(ConsumerCore consumer) {
        List<Message> all = new ArrayList<>();
        for (Message next = consumer.poll(); next != null; next = consumer.poll()) {
            all.add(next);
        }
        return all;
    }
}
