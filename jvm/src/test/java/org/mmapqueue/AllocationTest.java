package org.mmapqueue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;

/**
 * A push and a pop allocate nothing. The JVM counts the bytes that a thread allocates exactly, also in the interpreter.
 * All records fit into one segment, because a roll allocates.
 */
class AllocationTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int SEGMENT = 16 << 20;
    private static final int RECORDS = 1000;
    private static final int RUNS = 10;
    private static final int ACK_EVERY = 100;
    private static final int BATCH = 50;

    @TempDir(factory = QuickDirectory.class)
    Path directory;

    private final byte[] record = Payload.of(1, 1000);
    private final byte[] buffer = new byte[record.length];
    private final CopyOut copyOut = new CopyOut(buffer);
    private MmapQueue queue;

    /** A handler that copies into the caller's buffer. Not a lambda: one that captures would be allocated anew. */
    private static final class CopyOut implements MessageHandler {
        private final byte[] buffer;
        private long last;
        private int count;

        CopyOut(byte[] buffer) {
            this.buffer = buffer;
        }

        @Override
        public void onMessage(long offset, long timestampMicros, byte[] bytes, int start, int length, int attempts) {
            System.arraycopy(bytes, start, buffer, 0, length);
            last = offset;
            count++;
        }
    }

    @BeforeEach
    void open() {
        queue = MmapQueue.open(QueueConfig.builder(directory.resolve("queue"))
                .segmentSize(SEGMENT)
                .queueCapacitySegments(4)
                .maxInMemSegments(4)
                .build());
    }

    @AfterEach
    void close() {
        queue.close();
    }

    /**
     * Bytes that one run of the code allocates: the least of several runs, because the JVM may link call sites and load
     * classes in this thread at any time. An allocation of each run is always counted.
     */
    private static long allocated(Runnable code) {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < RUNS; i++) {
            long before = THREADS.getCurrentThreadAllocatedBytes();
            code.run();
            least = Math.min(least, THREADS.getCurrentThreadAllocatedBytes() - before);
        }
        return least;
    }

    private void fill() {
        for (int i = 0; i < RUNS; i++) {
            push();
        }
    }

    private void push() {
        for (int i = 0; i < RECORDS; i++) {
            queue.push(record);
        }
    }

    private void popAndAck(Consumer consumer, int records) {
        for (int i = 0; i < records; i++) {
            if (!consumer.poll(copyOut)) {
                throw new AssertionError("empty after " + i + " records of " + records);
            }
            if (i % ACK_EVERY == ACK_EVERY - 1) {
                consumer.ackUpTo(copyOut.last);
            }
        }
    }

    private void popBatches(Consumer consumer, int records) {
        try {
            for (int taken = 0; taken < records; ) {
                taken += consumer.popBatch(BATCH, Long.MAX_VALUE, Duration.ZERO, copyOut);
                consumer.ackUpTo(copyOut.last);
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @SuppressWarnings("ReturnValueIgnored") // the allocation is what counts
    @Test
    void theCounterSeesAnAllocation() {
        long bytes = allocated(() -> buffer.clone());
        assertTrue(bytes >= buffer.length, () -> "a copy of " + buffer.length + " bytes counts as " + bytes);
    }

    @Test
    void aPushAllocatesNoMoreThanTheStateOfAChecksum() {
        long state = allocated(CRC32C::new);
        long bytes = allocated(this::push);
        assertTrue(bytes <= RECORDS * state, () -> bytes + " bytes for " + RECORDS + " pushes");
        assertEquals(RUNS * RECORDS, queue.endOffset());
    }

    // The compiler removes even the state of the checksum.
    @Test
    void aCompiledPushAllocatesNothing() throws IOException, InterruptedException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xbatch",
                        "-Xmx128m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        AllocationChild.class.getName(),
                        directory.resolve("child").toString())
                .redirectErrorStream(true)
                .start();
        List<String> rounds =
                process.inputReader(StandardCharsets.US_ASCII).lines().toList();
        assertEquals(0, process.waitFor(), () -> rounds.toString());
        assertEquals(
                "0",
                rounds.get(rounds.size() - 1),
                () -> "bytes in each round of " + AllocationChild.RECORDS + " pushes: " + rounds);
    }

    @Test
    void aPopIntoTheCallersBufferAllocatesNothing() {
        fill();
        Consumer consumer = queue.consumer();
        assertEquals(0, allocated(() -> popAndAck(consumer, RECORDS)), "bytes for " + RECORDS + " pops and their acks");
        assertEquals(RUNS * RECORDS, copyOut.count);
    }

    @Test
    void aBatchPoppedIntoTheCallersBufferAllocatesNothing() {
        fill();
        Consumer consumer = queue.consumer();
        assertEquals(
                0,
                allocated(() -> popBatches(consumer, RECORDS)),
                "bytes for " + RECORDS + " records in batches of " + BATCH + " and their acks");
        assertEquals(RUNS * RECORDS, copyOut.count);
    }
}
