package org.mmapqueue.queue;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The process that is killed: several threads push and one pops and acks, until the end. Each returned push is said on
 * the standard output, "p thread first count", and each returned ack, "a offset"; what was begun is said before,
 * "b thread count".
 */
final class CrashChild {
    private CrashChild() {
    }

    /** Arguments: directory, seed, number of the first record of each thread, format version. */
    public static void main(String[] args) throws Exception {
        Path directory = Path.of(args[0]);
        SplittableRandom seeds = new SplittableRandom(Long.parseLong(args[1]));
        int version = Integer.parseInt(args[3]);
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false);
        MmapQueue queue = MmapQueue.open(config(directory, version));
        say(out, "ready");
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < CrashTest.THREADS; i++) {
            int thread = i;
            SplittableRandom random = seeds.split();
            long first = Long.parseLong(args[2].split(",")[i]);
            threads.add(new Thread(() -> push(queue, out, thread, first, random)));
        }
        SplittableRandom random = seeds.split();
        threads.add(new Thread(() -> ack(queue, out, random)));
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
    }

    static QueueConfig config(Path directory, int version) {
        return QueueConfig.builder(directory).formatVersion(version).segmentSize(8192).queueCapacitySegments(24)
                .maxInMemSegments(6).maxEventSize(20_000).flushPeriodMillis(7).flushCeilingNum(40)
                .v1Recover("writing").build();
    }

    // One write for each line: a pipe takes it whole or not at all.
    private static void say(PrintStream out, String line) {
        byte[] bytes = (line + "\n").getBytes(StandardCharsets.US_ASCII);
        synchronized (out) {
            out.write(bytes, 0, bytes.length);
            out.flush();
        }
    }

    private static void push(MmapQueue queue, PrintStream out, int thread, long first, SplittableRandom random) {
        long number = first;
        try {
            while (true) {
                int count = random.nextInt(4) == 0 ? 2 + random.nextInt(5) : 1;
                List<byte[]> batch = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    int most = random.nextInt(30) == 0 ? 20_000 : 700;
                    batch.add(CrashTest.payload(thread, number + i, count, i, random.nextInt(most)));
                }
                say(out, "b " + thread + " " + count);
                long offset = count > 1 ? queue.pushBatch(batch, Waiting.LONG)
                        : random.nextInt(10) == 0 ? queue.pushSync(batch.get(0), Waiting.LONG)
                        : queue.push(batch.get(0), Waiting.LONG);
                say(out, "p " + thread + " " + offset + " " + count);
                number += count;
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void ack(MmapQueue queue, PrintStream out, SplittableRandom random) {
        try {
            while (true) {
                List<Message> batch = queue.popBatch(1 + random.nextInt(40), 100_000, Duration.ofMillis(5));
                if (!batch.isEmpty() && random.nextInt(3) > 0) {
                    long offset = batch.get(random.nextInt(batch.size())).offset();
                    queue.ack(offset);
                    say(out, "a " + offset);
                }
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
