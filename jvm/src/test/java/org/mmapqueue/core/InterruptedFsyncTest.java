package org.mmapqueue.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.PoisonedException;
import org.mmapqueue.support.Cores;
import org.mmapqueue.support.FailingFsyncs;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/** An fsync fails whose thread is interrupted: before the fsync, or during it. */
@Timeout(120)
class InterruptedFsyncTest {
    @TempDir(factory = QuickDirectory.class)
    Path temp;

    private final FailingFsyncs disk = new FailingFsyncs();
    private QueueCore core;

    @BeforeEach
    void open() {
        QueueConfig config = QueueConfig.builder(temp.resolve("queue"))
                .segmentSize(4096)
                .queueCapacitySegments(20)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
        core = Cores.open(config, disk);
        core.consumer("named", StartAt.EARLIEST);
        push(0);
        core.writer().flush();
        for (int i = 1; i < 10; i++) {
            push(i); // into new files
        }
        core.ackUpTo(
                core.consumer("named", StartAt.EARLIEST),
                core.poll(core.consumer("named", StartAt.EARLIEST)).offset());
    }

    @AfterEach
    void close() {
        Thread.interrupted();
        core.close();
    }

    private void push(int number) {
        core.writer().push(Payload.of(number, 1000), 0, 1000);
    }

    @ParameterizedTest
    @CsvSource({"1_segment.dat", "2_segment.dat", "meta.dat", "named.dat", "queue"})
    void anInterruptDuringTheFsyncDoesNotHideItsFailure(String name) {
        long durable = core.stats().watermarkPosition();
        disk.failNext(name, FailingFsyncs::interruptCaller);
        assertPoisons(name, durable);
        assertTrue(Thread.interrupted(), "the interrupt stays pending");
    }

    @ParameterizedTest
    @CsvSource({"1_segment.dat", "2_segment.dat", "meta.dat", "named.dat", "queue"})
    void aPendingInterruptDoesNotHideAFailure(String name) {
        long durable = core.stats().watermarkPosition();
        disk.failNext(name, () -> {});
        Thread.currentThread().interrupt();
        assertPoisons(name, durable);
        assertTrue(Thread.interrupted(), "the interrupt stays pending");
    }

    private void assertPoisons(String name, long durable) {
        PoisonedException first =
                assertThrows(PoisonedException.class, () -> core.writer().flush());
        assertTrue(first.getMessage().contains("Input/output error"), first.getMessage());
        assertEquals(1, disk.failures());
        PoisonedException later =
                assertThrows(PoisonedException.class, () -> core.writer().flush());
        assertSame(first.getCause(), later.getCause());
        if (!name.equals("meta.dat")) { // it holds the recovery point, and comes after all that this point passes
            assertEquals(durable, core.stats().watermarkPosition());
        }
        if (name.equals("named.dat")) { // the acks of the consumer cannot be saved
            assertThrows(MmapQueueException.class, core::close);
        }
    }
}
