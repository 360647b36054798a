package org.mmapqueue.queue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;

import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A process is killed at any moment, again and again in one directory. What push had returned is there, whole, in its
 * order; what ack had returned does not come back; a batch is whole or not there. crash.rounds and crash.seed in the
 * system properties make it longer, or other.
 */
@Timeout(value = 3600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CrashTest {
    static final int THREADS = 3;

    @TempDir(factory = QuickDirectory.class)
    Path temp;
    private Path directory;
    private int version;

    /** Of each thread, how many records are known to be in the log: the number of its next one. */
    private final long[] next = new long[THREADS];
    /** What push has returned, by offset: thread and number. */
    private final TreeMap<Long, long[]> returned = new TreeMap<>();
    private long acked = -1;
    private long pushes;

    /** Thread, number, size of the batch, place in it; then bytes that follow from all of them. */
    static byte[] payload(int thread, long number, int batch, int place, int length) {
        byte[] bytes = Payload.of(thread * 1_000_003L + number, Math.max(20, length));
        ByteBuffer.wrap(bytes).putInt(thread).putLong(number).putInt(batch).putInt(place);
        return bytes;
    }

    @ParameterizedTest
    @CsvSource({"2, 40", "1, 10"})
    void nothingIsLostAndNothingComesBack(int format, int defaultRounds) throws Exception {
        version = format;
        directory = temp.resolve("queue");
        int rounds = Integer.getInteger("crash.rounds", defaultRounds);
        long seed = Long.getLong("crash.seed", 20_240_607L);
        System.out.println("crash test: format " + format + ", " + rounds + " rounds, seed " + seed);
        SplittableRandom random = new SplittableRandom(seed);
        for (int round = 0; round < rounds; round++) {
            try {
                round(random);
            } catch (Throwable e) {
                throw new AssertionError("round " + round + " of seed " + seed, e);
            }
        }
        assertTrue(pushes > 10L * rounds, "only " + pushes + " pushes came back in " + rounds + " rounds");
        assertTrue(acked > 0, "nothing was acked");
    }

    private void round(SplittableRandom random) throws Exception {
        long first = firstOffset();
        List<String> lines;
        try (ChildJvm child = new ChildJvm(CrashChild.class, directory, random.nextLong(),
                Arrays.stream(next).mapToObj(Long::toString).collect(Collectors.joining(",")), version)) {
            boolean whileItOpens = random.nextInt(5) == 0;
            if (!whileItOpens) {
                child.expect("ready");
            }
            // Read while it runs, or the pipe fills up and nothing is killed in the middle of work.
            Waiting.Running<List<String>> reading = Waiting.start(lines(child));
            Thread.sleep(whileItOpens ? 100 + random.nextInt(300)
                    : random.nextInt(5) == 0 ? random.nextInt(10) : random.nextInt(250));
            child.kill();
            lines = reading.result();
        }
        for (String line : lines) {
            understand(line, first);
        }
        if (random.nextInt(3) == 0) {
            compare(Directories.copy(directory, temp.resolve("look")));
            Directories.delete(temp.resolve("look"));
        }
        compare(directory);
    }

    private static Callable<List<String>> lines(ChildJvm child) {
        return () -> {
            List<String> lines = new ArrayList<>();
            for (String line = child.line(); line != null; line = child.line()) {
                lines.add(line);
            }
            return lines;
        };
    }

    /** Version 1 counts anew at each open. */
    private long firstOffset() {
        return version == 1 ? acked + 1 : 0;
    }

    private void understand(String line, long first) {
        String[] words = line.split(" ");
        switch (words[0]) {
            case "p" -> {
                pushes++;
                int thread = Integer.parseInt(words[1]);
                long offset = Long.parseLong(words[2]) + first;
                for (int i = 0; i < Integer.parseInt(words[3]); i++) {
                    long[] before = returned.put(offset + i, new long[] {thread, next[thread]++});
                    assertEquals(null, before, "offset " + (offset + i) + " was given twice");
                }
            }
            case "a" -> acked = Math.max(acked, Long.parseLong(words[1]) + first);
            case "b", "ready" -> { }
            default -> throw new AssertionError("the child says: " + line);
        }
    }

    private void compare(Path at) throws Exception {
        try (MmapQueue queue = MmapQueue.open(CrashChild.config(at, version))) {
            long first = queue.consumer().readOffset();
            List<Message> messages = Payload.drain(queue);
            // The ack under way at the kill may have been done; then its records were popped before, so they are there.
            long zero = version == 1 ? offsetOfFirst(messages) : first;
            assertTrue(zero > acked, "offset " + acked + " was acked, but " + zero + " is delivered");
            long[] number = new long[THREADS];
            Arrays.fill(number, -1);
            int left = 0;
            for (int i = 0; i < messages.size(); i++) {
                assertEquals(first + i, messages.get(i).offset());
                ByteBuffer head = ByteBuffer.wrap(messages.get(i).data());
                int thread = head.getInt();
                long counted = head.getLong();
                int batch = head.getInt();
                int place = head.getInt();
                assertArrayEquals(payload(thread, counted, batch, place, head.capacity()), head.array());
                assertKnown(zero + i, thread, counted);
                assertTrue(number[thread] == -1 || counted == number[thread] + 1, "the order of thread " + thread);
                number[thread] = counted;
                if (i > 0) {
                    assertEquals(left > 0 ? batch - left : 0, place, "a batch in one piece at offset " + (zero + i));
                }
                left = batch - place - 1;
            }
            assertEquals(0, left, "the last batch is whole");
            long end = zero + messages.size();
            assertTrue(returned.isEmpty() || end > returned.lastKey(), "the log ends at " + end + ", but "
                    + (returned.isEmpty() ? "" : returned.lastKey()) + " was returned");
            if (at.equals(directory)) {
                acked = zero - 1;
                if (!messages.isEmpty()) {
                    // Half of what is left is acked here, so that the ring turns.
                    acked += 1 + messages.size() / 2;
                    queue.ack(acked - zero + first);
                }
                returned.headMap(acked, true).clear();
            }
        }
    }

    private void assertKnown(long offset, int thread, long counted) {
        long[] expected = returned.get(offset);
        if (expected != null) {
            assertEquals(thread + "/" + counted, expected[0] + "/" + expected[1], "at offset " + offset);
            return;
        }
        // Stored, but the kill came before push could say so: at the thread's end.
        assertTrue(counted >= next[thread], "offset " + offset + " was never returned");
        returned.put(offset, new long[] {thread, counted});
        next[thread] = counted + 1;
    }

    /** Version 1 stores no numbers: a record that is known says which ones the others are. */
    private long offsetOfFirst(List<Message> messages) {
        for (int i = 0; i < messages.size(); i++) {
            ByteBuffer head = ByteBuffer.wrap(messages.get(i).data());
            int thread = head.getInt();
            long counted = head.getLong();
            for (Map.Entry<Long, long[]> entry : returned.entrySet()) {
                if (entry.getValue()[0] == thread && entry.getValue()[1] == counted) {
                    return entry.getKey() - i;
                }
            }
        }
        // All that was returned has been acked, and perhaps more.
        return Math.max(acked, returned.isEmpty() ? -1 : returned.lastKey()) + 1;
    }
}
