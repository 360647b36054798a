package org.mmapqueue.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.mmapqueue.bench.peer.BigQueue;

/** The rows of both forms, in their order: each row after its roofline. */
final class Suite {
    private static final int SMALL = 128 << 10;
    private static final int LARGE = 64 << 20;
    // 128 KiB, 4000 and 10 are Satellite's defaults. The large ring is of similar size: 1 GiB beside 500 MiB.
    private static final int SMALL_CAPACITY = 4000;
    private static final int SMALL_MAPPED = 10;
    private static final int LARGE_CAPACITY = 16;
    private static final int OPENED_CAPACITY = 64;
    private static final int KIB = 1024;

    private final boolean full;
    private final List<Row> rows = new ArrayList<>();
    private String section;

    private Suite(boolean full) {
        this.full = full;
    }

    static List<Row> of(boolean full) {
        Suite suite = new Suite(full);
        suite.core(
                "64 MiB x 16, all mapped",
                LARGE,
                LARGE_CAPACITY,
                LARGE_CAPACITY,
                full ? new int[] {16, 100, KIB, 8 * KIB, 64 * KIB} : new int[] {100, KIB});
        suite.peers();
        suite.unconfigured();
        suite.newRing();
        suite.variants();
        suite.options();
        suite.durable();
        suite.reads();
        suite.opening();
        suite.core(
                "128 KiB x 4000, all mapped",
                SMALL,
                SMALL_CAPACITY,
                SMALL_CAPACITY,
                full ? new int[] {100, KIB, 8 * KIB} : new int[] {KIB});
        suite.core(
                "128 KiB x 4000, 10 mapped: Satellite's defaults",
                SMALL,
                SMALL_CAPACITY,
                SMALL_MAPPED,
                full ? new int[] {100, KIB, 8 * KIB} : new int[] {KIB});
        suite.satellite();
        suite.baselines();
        return suite.rows;
    }

    private static Shape large(int payload) {
        return new Shape(payload, LARGE, LARGE_CAPACITY, LARGE_CAPACITY);
    }

    private void core(String title, int segment, int capacity, int mapped, int... payloads) {
        section = title;
        for (int payload : payloads) {
            Shape shape = new Shape(payload, segment, capacity, mapped);
            // Rows without a target run once.
            boolean everyRound = segment == LARGE && (payload == 100 || payload == KIB);
            Row write = pair("PushBenchmark.push", "push", "write", shape, everyRound);
            pair("PopBenchmark.pop", "pop", "read", shape, everyRound);
            Row both = pair("PipeBenchmark.pipe", "1 producer + 1 consumer", "1 writer + 1 reader", shape, everyRound);
            if (full || payload == KIB && segment == LARGE) {
                flushed(shape, write, both);
            }
        }
    }

    private void peers() {
        section = "Peers; shares of the roofline of 64 MiB x 16";
        for (int payload : full ? new int[] {100, KIB, 8 * KIB} : new int[] {100, KIB}) {
            peer("Chronicle Queue", "chronicle", payload, true);
            if (BigQueue.isGiven()) {
                peer("bigqueue", "bigqueue", payload, true);
            }
            if (full || payload == KIB) {
                peer("RocksDB", "rocksdb", payload, false);
                add(
                        "PipeBenchmark.pipe",
                        "ArrayBlockingQueue, 1 + 1",
                        "heap",
                        large(payload),
                        Map.of(),
                        find("PipeBenchmark.pipe", large(payload)),
                        false);
            }
        }
    }

    private void peer(String label, String subject, int payload, boolean everyRound) {
        Shape shape = large(payload);
        Row both = find("PipeBenchmark.pipe", shape);
        add(
                "PushBenchmark.push",
                label + ", push",
                subject,
                shape,
                Map.of(),
                find("PushBenchmark.push", shape),
                everyRound);
        add("PopBenchmark.pop", label + ", pop", subject, shape, Map.of(), find("PopBenchmark.pop", shape), everyRound);
        add("PipeBenchmark.pipe", label + ", 1 + 1", subject, shape, Map.of(), both, everyRound);
        if (full) {
            add("PipeBenchmark.pipe", label + ", 4 + 4 (of 1 + 1)", subject, shape, threads(4, 4), both, everyRound);
        }
    }

    private static Map<String, String> threads(int producers, int consumers) {
        return Map.of("producers", Integer.toString(producers), "consumers", Integer.toString(consumers));
    }

    // The cost of the flusher: at this speed it flushes without a pause by its ceiling, and with pauses by its period.
    private void flushed(Shape shape, Row write, Row both) {
        Shape rare = shape.withCeiling(Shape.NO_CEILING);
        String flushed = "ring+flush";
        add("PushBenchmark.push", "roofline: write, flushed per 10 000", flushed, shape, Map.of(), write, false);
        add("PushBenchmark.push", "roofline: write, flushed per second", flushed, rare, Map.of(), write, false);
        queue("PushBenchmark.push", "push, flushed per second", rare, Map.of(), write);
        add("PipeBenchmark.pipe", "roofline: 1 + 1, flushed per 10 000", flushed, shape, Map.of(), both, false);
        add("PipeBenchmark.pipe", "roofline: 1 + 1, flushed per second", flushed, rare, Map.of(), both, false);
        queue("PipeBenchmark.pipe", "1 + 1, flushed per second", rare, Map.of(), both);
    }

    // Not one key set. Chronicle Queue is in no ring: as many bytes as the queue's ring holds, in new files.
    private void unconfigured() {
        section = "No configuration";
        for (int payload : full ? new int[] {100, KIB, 8 * KIB} : new int[] {KIB}) {
            Shape shape = Shape.ofDefaults(payload);
            for (String subject : new String[] {"chronicle", Subjects.UNCONFIGURED}) {
                String name = subject.equals("chronicle") ? "Chronicle Queue, " : "";
                add("NewRingBenchmark.push", name + "push, new ring", subject, shape, Map.of(), null, true);
                add("PushBenchmark.push", name + "push, recycled ring", subject, shape, Map.of(), null, true);
                add("NewRingBenchmark.pop", name + "pop, new ring", subject, shape, Map.of(), null, true);
                add("PopBenchmark.pop", name + "pop, recycled ring", subject, shape, Map.of(), null, true);
                add("NewRingBenchmark.pipe", name + "1 + 1, new ring", subject, shape, Map.of(), null, true);
                add("PipeBenchmark.pipe", name + "1 + 1, recycled ring", subject, shape, Map.of(), null, true);
            }
        }
    }

    // Page cache is allocated for each record. The floor is a plain write of the same bytes to a new file.
    private void newRing() {
        section = "New ring; 64 MiB x 16, all mapped";
        Shape shape = large(KIB);
        Row write = find("PushBenchmark.push", shape);
        add("NewRingBenchmark.push", "write(2), 64 KiB a call, new file", "write", shape, Map.of(), write, true);
        add("NewRingBenchmark.push", "push, new ring", "queue", shape, Map.of(), write, true);
        Row both = find("PipeBenchmark.pipe", shape);
        add("NewRingBenchmark.pipe", "1 + 1, new ring", "queue", shape, Map.of(), both, true);
    }

    private void variants() {
        section = "Batches, messages, threads; 64 MiB x 16, all mapped";
        for (int payload : full ? new int[] {16, 100, KIB, 8 * KIB} : new int[] {KIB}) {
            Shape shape = large(payload);
            Row write = find("PushBenchmark.push", shape);
            Row read = find("PopBenchmark.pop", shape);
            Row both = find("PipeBenchmark.pipe", shape);
            for (int batch : new int[] {100, 10_000}) {
                Map<String, String> size = Map.of("batch", Integer.toString(batch));
                queue("PushBenchmark.push", "push, batches of " + batch, shape, size, write);
                boolean everyRound = payload == KIB && batch == 100;
                add("PopBenchmark.popBatch", "pop, batches of " + batch, "queue", shape, size, read, everyRound);
                if (full || batch == 100) {
                    queue("PipeBenchmark.pipe", "1 + 1, batches of " + batch, shape, size, both);
                }
            }
            Row copy = add(
                    "PopBenchmark.popMessage",
                    "roofline: memcpy into a new array",
                    "memcpy",
                    shape,
                    Map.of(),
                    null,
                    payload == KIB);
            add("PopBenchmark.popMessage", "pop, as Message", "queue", shape, Map.of(), copy, payload == KIB);
            pair("PushPopBenchmark.pushPop", "push + pop, one thread", "write + read, one thread", shape, false);
            queue("PipeBenchmark.pipe", "4 + 1 threads (of 1 + 1)", shape, threads(4, 1), both);
            queue("PipeBenchmark.pipe", "1 + 4 threads (of 1 + 1)", shape, threads(1, 4), both);
            queue("PipeBenchmark.pipe", "4 + 4 threads (of 1 + 1)", shape, threads(4, 4), both);
        }
    }

    private void options() {
        section = "What options cost; 64 MiB x 16, all mapped";
        for (int payload : full ? new int[] {100, KIB, 8 * KIB} : new int[] {KIB}) {
            Shape shape = large(payload);
            Row write = find("PushBenchmark.push", shape);
            queue("PushBenchmark.push", "push, no flusher", shape.withCeiling(Shape.NO_FLUSHER), Map.of(), write);
            queue("PushBenchmark.push", "push, no timestamps", shape.withoutTimestamps(), Map.of(), write);
            queue(
                    "PopBenchmark.pop",
                    "pop, no timestamps",
                    shape.withoutTimestamps(),
                    Map.of(),
                    find("PopBenchmark.pop", shape));
            add("PushBenchmark.push", "memcpy", "memcpy", shape, Map.of(), write, false);
            add("PushBenchmark.push", "memcpy and CRC32C", "memcpy+crc", shape, Map.of(), write, false);
        }
    }

    // Without the flusher, so all fsyncs are those of pushes.
    private void durable() {
        section = "Durable pushes, 1 KiB";
        Shape large = large(KIB).withCeiling(Shape.NO_FLUSHER);
        Shape small = new Shape(KIB, SMALL, SMALL_CAPACITY, SMALL_CAPACITY, Shape.NO_FLUSHER, true);
        sync("write(2) + fdatasync(2), 1 thread", "write+fsync", large, 1);
        sync("Chronicle Queue, 1 thread", "chronicle+sync", large, 1);
        sync("Chronicle Queue, one sync for 100", "chronicle+sync100", large, 1);
        for (int threads : new int[] {1, 8, 64}) {
            String suffix = ", " + threads + (threads == 1 ? " thread" : " threads");
            sync("push, 128 KiB x 4000" + suffix, "queue", small, threads);
            sync("push, 64 MiB x 16" + suffix, "queue", large, threads);
            if (full) {
                sync("RocksDB" + suffix, "rocksdb", large, threads);
            }
        }
    }

    private void sync(String label, String subject, Shape shape, int threads) {
        add("SyncBenchmark.pushSync", label, subject, shape, Map.of("threads", Integer.toString(threads)), null, false);
    }

    private void reads() {
        section = "Reads after opening; 64 MiB x 16";
        for (int payload : full ? new int[] {100, KIB, 8 * KIB} : new int[] {KIB}) {
            for (boolean cold : new boolean[] {false, true}) {
                Map<String, String> extra = Map.of("cold", Boolean.toString(cold));
                String suffix = cold ? ", from disk" : ", from page cache";
                Shape shape = large(payload);
                Row files = add(
                        "ColdBenchmark.readFiles", "roofline: read(2)" + suffix, "queue", shape, extra, null, false);
                queue("ColdBenchmark.pop", "pop" + suffix, shape, extra, files);
            }
        }
        section = "Random access; 64 MiB x 16";
        for (int payload : full ? new int[] {100, KIB, 8 * KIB} : new int[] {KIB}) {
            queue("GetBenchmark.get", "get, as Message", large(payload), Map.of(), null);
            queue("GetBenchmark.getHandled", "get, handled", large(payload), Map.of(), null);
        }
    }

    private void opening() {
        section = "Opening, 64 MiB x 64";
        Shape shape = new Shape(KIB, LARGE, OPENED_CAPACITY, OPENED_CAPACITY);
        for (int megabytes : full ? new int[] {1, 64, 1024} : new int[] {1, 256}) {
            opened("after a clean close of " + megabytes + " MiB", shape, megabytes, 0);
        }
        for (int megabytes : full ? new int[] {1, 16, 64, 256} : new int[] {1, 64}) {
            opened("after a kill, " + megabytes + " MiB not flushed", shape, full ? 1024 : 256, megabytes);
        }
    }

    private void opened(String label, Shape shape, int megabytes, int tail) {
        queue(
                "OpenBenchmark.open",
                label,
                shape,
                Map.of("size", Long.toString((long) megabytes << 20), "tail", Long.toString((long) tail << 20)),
                null);
    }

    // SkyWalking Satellite's parameter sets; its own benchmark neither acks nor fills the ring.
    private void satellite() {
        section = "Parameter sets of SkyWalking Satellite's benchmark";
        int[][] sets = {
            {128, 10, 8, 10_000},
            {256, 10, 8, 10_000},
            {128, 20, 8, 10_000},
            {128, 10, 16, 10_000},
            {128, 10, 8, 100_000}
        };
        for (int[] set : sets) {
            // The last set is a ring of 12 GiB: it measures the disk, not the queue.
            if (set[3] == 100_000 && !full) {
                continue;
            }
            Shape shape = new Shape(set[2] * KIB, set[0] * KIB, set[3], set[1]);
            String name = " " + set[0] + " KiB, " + set[1] + " of " + set[3];
            boolean compared = full && set[3] < 100_000;
            if (compared) {
                pair("PushBenchmark.push", "push" + name, "write" + name, shape, false);
                pair("PushPopBenchmark.pushPop", "push + pop" + name, "write + read" + name, shape, false);
            } else {
                queue("PushBenchmark.push", "push" + name, shape, Map.of(), null);
                queue("PushPopBenchmark.pushPop", "push + pop" + name, shape, Map.of(), null);
            }
        }
    }

    private void baselines() {
        section = "Baselines: no queue, no checksum";
        for (int payload : full ? new int[] {100, KIB, 8 * KIB} : new int[] {KIB}) {
            add("PushBenchmark.push", "write(2), 64 KiB a call", "write", large(payload), Map.of(), null, false);
        }
    }

    private Row pair(String benchmark, String label, String rooflineLabel, Shape shape, boolean everyRound) {
        Row roofline = add(benchmark, "roofline: " + rooflineLabel, "ring", shape, Map.of(), null, everyRound);
        add(benchmark, label, "queue", shape, Map.of(), roofline, everyRound);
        return roofline;
    }

    private void queue(String benchmark, String label, Shape shape, Map<String, String> extra, Row roofline) {
        add(benchmark, label, "queue", shape, extra, roofline, false);
    }

    private Row add(
            String benchmark,
            String label,
            String subject,
            Shape shape,
            Map<String, String> extra,
            Row roofline,
            boolean everyRound) {
        Row row = new Row(section, label, benchmark, subject, shape, extra, roofline, everyRound);
        rows.add(row);
        return row;
    }

    private Row find(String benchmark, Shape shape) {
        return rows.stream()
                .filter(row -> row.subject().equals("ring")
                        && row.benchmark().equals(benchmark)
                        && row.shape().equals(shape))
                .findFirst()
                .orElseThrow();
    }
}
