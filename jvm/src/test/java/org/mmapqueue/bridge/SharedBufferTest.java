package org.mmapqueue.bridge;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.TooLargeException;
import org.mmapqueue.support.Waiting;

/** Pushes and pops through a shared buffer; a repeated call takes effect once. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SharedBufferTest {
    private static final int SIZE = 1 << 16;
    private static final String SMALL =
            String.join("\0", "segment_size", "4096", "capacity", "32768", "max_event_size", "4000");

    @TempDir
    private Path directory;

    private QueueHandle queue;
    private SharedBuffer buffer;
    private int consumer;
    private int call;

    @BeforeEach
    void open() {
        queue = Bridge.open("queue_dir\0" + directory.resolve("queue") + '\0' + SMALL);
        buffer = queue.heapBuffer(SIZE);
        consumer = queue.consumer("default", "earliest");
    }

    @AfterEach
    void close() {
        queue.close();
    }

    private void write(List<byte[]> records) {
        int bytes = records.stream().mapToInt(record -> record.length).sum();
        int column = SharedBufferLayout.aligned(SharedBufferLayout.PAYLOAD + bytes);
        ByteBuffer memory =
                ByteBuffer.allocate(column + records.size() * Integer.BYTES).order(ByteOrder.nativeOrder());
        memory.position(SharedBufferLayout.PAYLOAD);
        records.forEach(memory::put);
        memory.position(column);
        records.forEach(record -> memory.putInt(record.length));
        buffer.write(0, memory.array());
    }

    private List<byte[]> read(long count) {
        ByteBuffer memory = ByteBuffer.wrap(buffer.read(0, SIZE)).order(ByteOrder.nativeOrder());
        assertEquals(count, memory.getInt(SharedBufferLayout.COUNT));
        int bytes = memory.getInt(SharedBufferLayout.BYTES);
        List<byte[]> records = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int column = SharedBufferLayout.aligned(SharedBufferLayout.PAYLOAD + bytes) + i * Integer.BYTES;
            int from = count == 1 ? SharedBufferLayout.PAYLOAD : memory.getInt(column);
            byte[] record = new byte[count == 1 ? bytes : memory.getInt(column + Integer.BYTES) - from];
            memory.get(from, record);
            records.add(record);
        }
        return records;
    }

    private List<byte[]> pop(int most) {
        return read(buffer.pop(++call, consumer, most, Integer.MAX_VALUE, 0));
    }

    private static byte[] record(String text) {
        return text.getBytes(UTF_8);
    }

    private static List<byte[]> records(int count, int length) {
        List<byte[]> records = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] record = new byte[length];
            record[0] = (byte) i;
            records.add(record);
        }
        return records;
    }

    private static void assertRecords(List<byte[]> expected, List<byte[]> found) {
        assertArrayEquals(expected.toArray(), found.toArray());
    }

    @Test
    void aRepeatedCallTakesEffectOnce() {
        write(List.of(record("one")));
        assertEquals(0, buffer.push(1, 3, 0, 0));
        assertEquals(0, buffer.push(1, 3, 0, 0));
        assertEquals(1, buffer.push(2, 3, 0, 0));
        write(records(3, 5));
        assertEquals(3, buffer.pushMany(3, 15, 3, 0, 0));
        assertEquals(3, buffer.pushMany(3, 15, 3, 0, 0));
        assertEquals(0, buffer.load(4, 1, 15, 3));
        assertEquals(0, buffer.load(4, 1, 15, 3));
        assertEquals(5, buffer.pushLoaded(5, 0, 0));
        assertEquals(5, buffer.pushLoaded(5, 0, 0));
        assertEquals(8, queue.size(consumer));

        assertEquals(2, buffer.pop(6, consumer, 2, 1000, 0));
        assertEquals(2, buffer.pop(6, consumer, 1, 1, 0));
        assertRecords(List.of(record("one"), record("one")), read(2));
        assertEquals(6, queue.size(consumer));
    }

    /** The recovery point reaches the log end. */
    @Test
    void loadedRecordsArePushedDurably() {
        for (int count = 1; count <= 3; count++) {
            write(records(count, 5));
            assertEquals(0, buffer.load(++call, 1, 5 * count, count));
            long end = queue.endOffset();
            assertEquals(end, buffer.pushLoaded(++call, 0, 1));
            assertEquals(end + count, queue.endOffset());
            Map<String, String> stats = Arrays.stream(queue.stats().split("\n"))
                    .map(line -> line.split("="))
                    .collect(Collectors.toMap(line -> line[0], line -> line.length > 1 ? line[1] : ""));
            assertEquals(stats.get("writingPosition"), stats.get("watermarkPosition"));
        }
    }

    private static void assertInterrupted(Executable call) {
        Thread.currentThread().interrupt();
        MmapQueueException thrown = assertThrows(MmapQueueException.class, call);
        assertTrue(thrown.getMessage().contains("interrupted"), thrown.getMessage());
        assertTrue(thrown.getCause() instanceof InterruptedException);
        assertFalse(Thread.interrupted(), "the exception reports the interrupt");
    }

    /** An interrupt is reported neither as Full nor as Empty. */
    @Test
    void anInterruptThrowsAndNothingIsPushedOrPopped() {
        write(List.of(record("one")));
        assertInterrupted(() -> buffer.push(1, 3, 0, 1));
        assertInterrupted(() -> buffer.pushMany(2, 3, 1, 0, 0));
        assertEquals(0, buffer.load(3, 1, 3, 1));
        assertInterrupted(() -> buffer.pushLoaded(4, 0, 1));
        assertInterrupted(() -> buffer.pushLoadedOnce(5, 0, 0, "p", 1));
        write(records(2, 5));
        assertEquals(0, buffer.load(6, 1, 10, 2));
        assertInterrupted(() -> buffer.pushLoaded(7, 0, 0));
        assertEquals(0, queue.size(consumer));
        assertEquals(0, buffer.pushLoaded(8, 0, 0));
        assertInterrupted(() -> buffer.pop(9, consumer, 2, 100, 0));
        assertEquals(2, queue.size(consumer));
        assertEquals(2, buffer.pop(10, consumer, 2, 100, 0));
    }

    /** The interrupt arrives during the wait. */
    @Test
    void anInterruptEndsAWaitForRoom() throws Exception {
        write(records(16, 3000));
        long answer = 1;
        while (answer > 0) {
            answer = buffer.pushMany(++call, 16 * 3000, 16, 0, 0);
        }
        assertInterruptedWhileItWaits(() -> buffer.pushMany(++call, 16 * 3000, 16, 0, 60_000));
        write(records(1, 3000));
        assertInterruptedWhileItWaits(() -> buffer.push(++call, 3000, 60_000, 0));
    }

    private static void assertInterruptedWhileItWaits(Executable push) throws Exception {
        Waiting.Running<MmapQueueException> pushing = Waiting.start(() -> assertThrows(MmapQueueException.class, push))
                .untilItWaits();
        pushing.thread().interrupt();
        assertTrue(pushing.result().getCause() instanceof InterruptedException);
    }

    @Test
    void aFailedCallCanBeRepeated() {
        write(records(1, 4001));
        assertThrows(TooLargeException.class, () -> buffer.push(1, 4001, 0, 0));
        write(records(1, 4000));
        assertEquals(0, buffer.push(1, 4000, 0, 0));
    }

    @Test
    void pushManyPushesWhatFitsAndTheRestLater() {
        List<byte[]> all = records(50, 900);
        write(all);
        long first = buffer.pushMany(++call, 50 * 900, 50, 0, 0);
        assertTrue(first > 25 && first < 40, "of 50: " + first);
        assertEquals(0, buffer.pushMany(++call, 50 * 900, 50, (int) first, 10));
        SharedBuffer pushing = buffer;
        buffer = queue.heapBuffer(SIZE);
        assertRecords(all.subList(0, (int) first), pop(50));
        queue.ackUpTo(consumer, first - 1);
        assertEquals(50 - first, pushing.pushMany(++call, 50 * 900, 50, (int) first, 0));
        assertRecords(all.subList((int) first, 50), pop(50));
    }

    @Test
    void aRecordThatIsTooLargeStopsPushManyBeforeIt() {
        List<byte[]> all = new ArrayList<>(records(5, 10));
        all.add(new byte[4001]);
        all.addAll(records(5, 10));
        write(all);
        assertEquals(5, buffer.pushMany(1, 4101, 11, 0, 0));
        assertThrows(TooLargeException.class, () -> buffer.pushMany(2, 4101, 11, 5, 0));
        assertEquals(5, buffer.pushMany(3, 4101, 11, 6, 0));
        assertRecords(
                List.of(new byte[] {0}, new byte[] {4}),
                List.of(new byte[] {pop(10).get(0)[0]}, new byte[] {read(10).get(9)[0]}));
    }

    @Test
    void aRecordLargerThanTheBufferIsLoadedInParts() {
        buffer = queue.heapBuffer(1024);
        byte[] large = new byte[3500];
        for (int i = 0; i < large.length; i++) {
            large[i] = (byte) (i * 7);
        }
        int most = buffer.payloadLimit();
        for (int at = 0; at < large.length; at += most) {
            int length = Math.min(most, large.length - at);
            ByteBuffer part = ByteBuffer.allocate(length + 2 * Long.BYTES).order(ByteOrder.nativeOrder());
            part.put(large, at, length);
            part.putInt(SharedBufferLayout.aligned(length), large.length);
            buffer.write(SharedBufferLayout.PAYLOAD, part.array());
            buffer.load(++call, at == 0 ? 1 : 0, length, at == 0 ? 1 : 0);
        }
        assertEquals(0, buffer.pushLoaded(++call, 0, 0));
        assertEquals(1, buffer.pop(++call, consumer, 10, Integer.MAX_VALUE, 0));
        ByteBuffer whole = ByteBuffer.allocate(large.length);
        while (whole.hasRemaining()) {
            int length = buffer.fetch(whole.position());
            whole.put(buffer.read(SharedBufferLayout.PAYLOAD, length));
        }
        assertArrayEquals(large, whole.array());
    }

    @Test
    void emptyFullAndClosedAreNumbers() {
        assertEquals(Status.EMPTY, buffer.pop(++call, consumer, 1, 1, 0));
        assertEquals(Status.EMPTY, buffer.peek(consumer));
        write(records(1, 3000));
        long answer = 0;
        while (answer >= 0) {
            answer = buffer.push(++call, 3000, 0, 0);
        }
        assertEquals(Status.FULL, answer);
        assertEquals(Status.FULL, buffer.push(++call, 3000, 20, 0));
        assertEquals(Status.FULL, buffer.push(++call, 3000, 20, 1));
        queue.close();
        assertEquals(Status.CLOSED, buffer.push(++call, 1, 0, 0));
        assertEquals(Status.CLOSED, buffer.pushMany(++call, 1, 1, 0, 0));
        assertEquals(Status.CLOSED, buffer.pop(++call, consumer, 1, 1, 0));
        assertEquals(Status.CLOSED, buffer.peek(consumer));
    }

    @Test
    void anUnknownStartThrows() {
        assertThrows(ConfigException.class, () -> queue.consumer("name", "middle"));
    }

    @Test
    void theVersionIsThatOfTheBuild() {
        assertTrue(Bridge.version().matches("\\d+\\.\\d+\\.\\d+.*"), Bridge.version());
    }

    @Test
    void aSyncedPushThatWaitedIsDurableOrFull() throws Exception {
        QueueConfig config = QueueConfig.builder(directory.resolve("late"))
                .segmentSize(4096)
                .queueCapacitySegments(8)
                .flushPeriod(Duration.ofMinutes(10))
                .build();
        QueueHandle late =
                Bridge.open("queue_dir\0" + directory.resolve("late") + "\0flush_period\000600000\0" + SMALL);
        try (MmapQueue java = MmapQueue.open(config)) {
            buffer = late.heapBuffer(SIZE);
            byte[] record = new byte[3000];
            write(List.of(record));
            java.consumer();
            while (buffer.push(++call, record.length, 0, 0) >= 0) {
                // until the queue is full
            }
            FutureTask<Void> room = new FutureTask<>(() -> {
                Thread.sleep(1500);
                for (Message next = java.consumer().poll();
                        next != null;
                        next = java.consumer().poll()) {
                    java.consumer().ackUpTo(next.offset());
                }
                return null;
            });
            new Thread(room).start();
            long answer = buffer.push(++call, record.length, 1000, 1);
            room.get();
            assertTrue(
                    answer == Status.FULL
                            || java.stats().watermarkPosition() == java.stats().writingPosition(),
                    "answer " + answer + ", " + java.stats());
        } finally {
            late.close();
        }
    }

    @Test
    void moreAcksThanTheBufferHasRoomForAreAnError() {
        for (int count : new int[] {SIZE / Long.BYTES, Integer.MAX_VALUE, -1}) {
            IllegalArgumentException e =
                    assertThrows(IllegalArgumentException.class, () -> buffer.ackMany(consumer, count));
            assertTrue(e.getMessage().contains("count = " + count), e.getMessage());
        }
        buffer.ackMany(consumer, 0);
    }
}
