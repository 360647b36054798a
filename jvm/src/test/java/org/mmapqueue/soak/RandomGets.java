package org.mmapqueue.soak;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.support.Directories;

/**
 * Measures reads of random records by offset in a large queue ({@code make gets}). Arguments: size of the queue (default
 * 2g), size of a segment (default 64m), directory (default a temporary one). Each record is checked, within the
 * measured time.
 */
public final class RandomGets {
    private static final int PAYLOAD = 1024;
    private static final int RECORD = 8 + 8 + PAYLOAD;
    private static final int SEGMENT_HEADER = 64;
    private static final int BATCH = 256;
    private static final int HOT_GETS = 500_000;
    private static final int COLD_GETS = 20_000;
    private static final int PAGES = 4000;
    private static final int PAGE_RECORDS = 100;
    private static final long LIMIT_NANOS = 30_000_000_000L;
    private static final long HOT_BYTES = 2L << 30;
    private static final Path DROP_CACHES = Path.of("/proc/sys/vm/drop_caches");

    private final Path directory;
    private final long records;
    private final long segmentSize;
    private final Map<String, String> config;
    private final SplittableRandom random = new SplittableRandom(1);
    private MmapQueue queue;

    private RandomGets(Path directory, long size, String segmentSize) {
        this.directory = directory;
        this.records = size / RECORD;
        this.segmentSize = bytes(segmentSize);
        this.config = Map.of(
                "queue_dir",
                directory.toString(),
                "segment_size",
                segmentSize,
                "queue_capacity_segments",
                Long.toString(size / (this.segmentSize - SEGMENT_HEADER) + 16),
                "flush_ceiling_num",
                "1000000");
    }

    public static void main(String[] arguments) throws Exception {
        Locale.setDefault(Locale.ROOT);
        long size = bytes(arguments.length > 0 ? arguments[0] : "2g");
        String segmentSize = arguments.length > 1 ? arguments[1] : "64m";
        Path parent = arguments.length > 2 ? Path.of(arguments[2]) : Files.createTempDirectory("mmapqueue-gets");
        Path directory = parent.resolve("queue");
        RandomGets gets = new RandomGets(directory, size, segmentSize);
        try {
            gets.run();
        } finally {
            if (gets.queue != null) {
                gets.queue.close();
            }
            Directories.delete(directory);
            if (arguments.length <= 2) {
                Files.delete(parent);
            }
        }
    }

    private static long bytes(String size) {
        int shift = "kmg".indexOf(Character.toLowerCase(size.charAt(size.length() - 1))) * 10 + 10;
        return shift == 0 ? Long.parseLong(size) : Long.parseLong(size.substring(0, size.length() - 1)) << shift;
    }

    private void run() throws Exception {
        fill();
        System.out.printf(
                "%n%-42s %9s %10s %10s %10s %10s %10s%n",
                "one record (µs)", "gets", "p50", "p99", "p99.9", "max", "mean");
        boolean cold = dropCaches();
        open();
        measure("first get after the open" + (cold ? ", cold" : ""), 1, 0);
        if (cold) {
            measure("first in each segment, cold", segments(), 0, true);
            queue.flush();
            dropCaches();
            measure("any record, cold", COLD_GETS, 0);
        } else {
            System.out.println("no cold figures: " + DROP_CACHES + " cannot be written");
        }
        long hotFrom = Math.max(0, records - HOT_BYTES / RECORD);
        open();
        readAll(hotFrom);
        measure("first in each segment, hot", (int) ((records - hotFrom) * RECORD / segmentSize), hotFrom, true);
        measure("any of the newest 2 GiB, to warm up", HOT_GETS, hotFrom);
        measure("any of the newest 2 GiB, hot", HOT_GETS, hotFrom);
        long inOneSegment = Math.max(0, records - segmentSize / RECORD);
        measure("any of the newest segment, hot", HOT_GETS, inOneSegment);
        measure("any record, with the page cache as it is", COLD_GETS, 0);
        pages(hotFrom);
        readAll(hotFrom);
    }

    private int segments() {
        return (int) Math.min(2000, records * RECORD / segmentSize);
    }

    private void open() {
        if (queue != null) {
            queue.close();
        }
        queue = MmapQueue.open(QueueConfig.of(config));
    }

    private void fill() throws InterruptedException {
        open();
        byte[][] batch = new byte[BATCH][PAYLOAD];
        long start = System.nanoTime();
        for (long number = 0; number < records; ) {
            int count = (int) Math.min(BATCH, records - number);
            for (int i = 0; i < count; i++) {
                ByteBuffer.wrap(batch[i]).putLong(0, number + i).putLong(PAYLOAD - 8, number + i);
            }
            queue.pushBatch(Arrays.asList(batch).subList(0, count), Duration.ZERO);
            number += count;
        }
        queue.flush();
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.printf(
                "%,d records of %d B in segments of %,d KiB, in %s%n", records, PAYLOAD, segmentSize >> 10, directory);
        System.out.printf("filled and flushed in %.1f s, %,.0f MB/s%n", seconds, records * PAYLOAD / seconds / 1e6);
    }

    private void check(long number, Message message) {
        ByteBuffer data = ByteBuffer.wrap(message.data());
        if (message.offset() != number
                || data.capacity() != PAYLOAD
                || data.getLong(0) != number
                || data.getLong(PAYLOAD - 8) != number) {
            throw new IllegalStateException("the record at " + number + " is not what was pushed");
        }
    }

    private void measure(String what, int most, long from) {
        measure(what, most, from, false);
    }

    private void measure(String what, int most, long from, boolean eachSegment) {
        long[] nanos = new long[most];
        long limit = System.nanoTime() + LIMIT_NANOS;
        int count = 0;
        for (; count < most && System.nanoTime() - limit < 0; count++) {
            long stretch = (records - from) / most;
            long number = eachSegment
                    ? from + count * stretch + random.nextLong(stretch)
                    : from + random.nextLong(records - from);
            long start = System.nanoTime();
            Message message = queue.get(number);
            nanos[count] = System.nanoTime() - start;
            check(number, message);
        }
        report(what, Arrays.copyOf(nanos, count));
    }

    private static void report(String what, long[] nanos) {
        Arrays.sort(nanos);
        System.out.printf(
                "%-42s %,9d %,10.1f %,10.1f %,10.1f %,10.1f %,10.1f%n",
                what,
                nanos.length,
                at(nanos, 0.5),
                at(nanos, 0.99),
                at(nanos, 0.999),
                nanos[nanos.length - 1] / 1e3,
                Arrays.stream(nanos).average().orElse(0) / 1e3);
    }

    private static double at(long[] sorted, double share) {
        return sorted[(int) Math.min(sorted.length - 1, sorted.length * share)] / 1e3;
    }

    private void pages(long from) {
        long[] nanos = new long[PAGES];
        for (int i = 0; i < PAGES; i++) {
            long number = from + random.nextLong(records - from - PAGE_RECORDS);
            long start = System.nanoTime();
            List<Message> page = queue.getMany(number, PAGE_RECORDS);
            nanos[i] = System.nanoTime() - start;
            check(number, page.get(0));
            check(number + PAGE_RECORDS - 1, page.get(PAGE_RECORDS - 1));
        }
        report("any " + PAGE_RECORDS + " of the newest 2 GiB, hot", nanos);
    }

    private void readAll(long from) {
        long start = System.nanoTime();
        long number = from;
        while (number < records) {
            for (Message message : queue.getMany(number, 1000)) {
                check(number++, message);
            }
        }
        double nanos = System.nanoTime() - start;
        System.out.printf(
                "%-42s %,9d records, %.0f ns each, %,.0f MB/s%n",
                "one after the other, 1000 in a call",
                records - from,
                nanos / (records - from),
                (records - from) * 1e3 * PAYLOAD / nanos);
    }

    // Drops all clean pages of the machine that are not mapped.
    private static boolean dropCaches() {
        try {
            Files.writeString(DROP_CACHES, "3");
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
