package org.mmapqueue.queue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
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
            child.expect("ready");
            // Read while it runs, or the pipe fills up and nothing is killed in the middle of work.
            Waiting.Running<List<String>> reading = Waiting.start(lines(child));
            Thread.sleep(random.nextInt(5) == 0 ? random.nextInt(10) : random.nextInt(250));
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
            case "b" -> { }
            default -> throw new AssertionError("the child says: " + line);
        }
    }

    private void compare(Path at) throws Exception {
        boolean last = at.equals(directory);
        try (MmapQueue queue = MmapQueue.open(CrashChild.config(at, version))) {
            long first = queue.consumer().readOffset();
            // The ack under way at the kill may have been done; then its records were popped before, so they are there.
            long zero = version == 1 ? offsetOfHead(queue) : first;
            assertTrue(zero > acked, "offset " + acked + " was acked, but " + zero + " is delivered");
            long offset = zero;
            long[] number = new long[THREADS];
            Arrays.fill(number, -1);
            int left = 0;
            for (Message message = queue.poll(); message != null; message = queue.poll()) {
                ByteBuffer head = ByteBuffer.wrap(message.data());
                int thread = head.getInt();
                long counted = head.getLong();
                int batch = head.getInt();
                int place = head.getInt();
                assertEquals(offset - zero + first, message.offset());
                assertArrayEquals(payload(thread, counted, batch, place, message.data().length), message.data());
                long[] expected = returned.get(offset);
                if (expected != null) {
                    assertEquals(thread + "/" + counted, expected[0] + "/" + expected[1], "at offset " + offset);
                } else {
                    // Stored, but the kill came before push could say so: at the thread's end, a whole batch.
                    assertTrue(counted >= next[thread], "offset " + offset + " was never returned");
                    returned.put(offset, new long[] {thread, counted});
                    next[thread] = counted + 1;
                }
                assertTrue(number[thread] == -1 || counted == number[thread] + 1, "the order of thread " + thread);
                number[thread] = counted;
                if (offset > zero) {
                    assertEquals(left > 0 ? batch - left : 0, place, "a batch in one piece at offset " + offset);
                }
                left = batch - place - 1;
                offset++;
            }
            assertEquals(0, left, "the last batch is whole");
            assertTrue(returned.isEmpty() || offset > returned.lastKey(),
                    "the log ends at " + offset + ", but " + (returned.isEmpty() ? "" : returned.lastKey())
                            + " was returned");
            if (last) {
                // Half of what is left is acked here, so that the ring turns.
                if (offset > zero) {
                    long upTo = zero + (offset - zero) / 2;
                    queue.ack(upTo - zero + first);
                    acked = Math.max(acked, upTo);
                } else {
                    acked = Math.max(acked, zero - 1);
                }
                returned.headMap(acked, true).clear();
            }
        }
    }

    /** In version 1 the first record says which one it is. */
    private long offsetOfHead(MmapQueue queue) {
        Message message = queue.peek();
        if (message == null) {
            return returned.isEmpty() ? acked + 1 : returned.lastKey() + 1;
        }
        ByteBuffer head = ByteBuffer.wrap(message.data());
        int thread = head.getInt();
        long counted = head.getLong();
        return returned.entrySet().stream()
                .filter(entry -> entry.getValue()[0] == thread && entry.getValue()[1] == counted)
                .mapToLong(java.util.Map.Entry::getKey).findFirst()
                .orElseGet(() -> returned.isEmpty() ? acked + 1 : returned.lastKey() + 1);
    }
}
