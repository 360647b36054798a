package org.mmapqueue.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Which benchmarks are run, in which order: every row right after the roofline that it is compared with. */
final class Suite {
    private static final int SMALL = 128 << 10;
    private static final int LARGE = 64 << 20;
    // 128 KiB, 4000 and 10 are the queue's defaults. The large ring is made comparable: half a gigabyte to a gigabyte.
    private static final int SMALL_CAPACITY = 4000;
    private static final int SMALL_MAPPED = 10;
    private static final int LARGE_CAPACITY = 16;
    private static final int KIB = 1024;

    private final boolean full;
    private final List<Cell> cells = new ArrayList<>();
    private String section;

    private Suite(boolean full) {
        this.full = full;
    }

    static List<Cell> of(boolean full) {
        Suite suite = new Suite(full);
        suite.core("64 MiB x 16, all mapped", LARGE, LARGE_CAPACITY, LARGE_CAPACITY, 100, KIB, 8 * KIB);
        suite.faces();
        suite.core("128 KiB x 4000, all mapped", SMALL, SMALL_CAPACITY, SMALL_CAPACITY,
                full ? new int[] {100, KIB, 8 * KIB} : new int[] {100, KIB});
        suite.core("128 KiB x 4000, 10 mapped: the defaults", SMALL, SMALL_CAPACITY, SMALL_MAPPED,
                full ? new int[] {100, KIB, 8 * KIB} : new int[] {KIB});
        suite.ancestor();
        suite.bearings();
        return suite.cells;
    }

    private void core(String title, int segment, int capacity, int mapped, int... payloads) {
        section = title;
        for (int payload : payloads) {
            Shape shape = new Shape(payload, segment, capacity, mapped);
            Cell write = pair("PushBenchmark.push", "push", "write", shape, true);
            pair("PopBenchmark.pop", "pop", "read", shape, true);
            Cell both = pair("PipeBenchmark.pipe", "1 producer + 1 consumer", "1 writer + 1 reader", shape, true);
            if (full || payload == KIB && segment == LARGE) {
                flushed(shape, write, both);
            }
        }
    }

    // What the flusher costs: with the ceiling it hardly ever rests at this speed, with the period alone it does.
    private void flushed(Shape shape, Cell write, Cell both) {
        Shape rare = shape.withCeiling(Shape.NO_CEILING);
        String flushed = "ring+flush";
        add("PushBenchmark.push", "roofline: write, flushed per 10 000", flushed, shape, Map.of(), write, false);
        add("PushBenchmark.push", "roofline: write, flushed per second", flushed, rare, Map.of(), write, false);
        queue("PushBenchmark.push", "push, flushed per second", rare, Map.of(), write);
        add("PipeBenchmark.pipe", "roofline: 1 + 1, flushed per 10 000", flushed, shape, Map.of(), both, false);
        add("PipeBenchmark.pipe", "roofline: 1 + 1, flushed per second", flushed, rare, Map.of(), both, false);
        queue("PipeBenchmark.pipe", "1 + 1, flushed per second", rare, Map.of(), both);
    }

    private void faces() {
        section = "Batches, messages, threads; 64 MiB x 16, all mapped";
        for (int payload : full ? new int[] {100, KIB, 8 * KIB} : new int[] {KIB}) {
            Shape shape = new Shape(payload, LARGE, LARGE_CAPACITY, LARGE_CAPACITY);
            Cell write = find("PushBenchmark.push", shape);
            Cell read = find("PopBenchmark.pop", shape);
            Cell both = find("PipeBenchmark.pipe", shape);
            queue("PushBenchmark.push", "push, batches of 100", shape, Map.of("batch", "100"), write);
            queue("PushBenchmark.push", "push, batches of 1000", shape, Map.of("batch", "1000"), write);
            queue("PopBenchmark.popMessage", "pop, as Message", shape, Map.of(), read);
            queue("PopBenchmark.popBatch", "pop, batches of 100", shape, Map.of("batch", "100"), read);
            queue("PopBenchmark.popBatch", "pop, batches of 1000", shape, Map.of("batch", "1000"), read);
            pair("PushPopBenchmark.pushPop", "push + pop, one thread", "write + read, one thread", shape, false);
            queue("PipeBenchmark.pipe", "1 + 1, batches of 100", shape, Map.of("batch", "100"), both);
            queue("PipeBenchmark.pipe", "4 + 4 threads (of 1 + 1)", shape, Map.of("threads", "4"), both);
        }
    }

    // SkyWalking Satellite's parameter sets. In its push + pop nothing is acked, and its ring is never full.
    private void ancestor() {
        section = "Parameter sets of SkyWalking Satellite's benchmark";
        int[][] sets = {{128, 10, 8, 10_000}, {256, 10, 8, 10_000}, {128, 20, 8, 10_000}, {128, 10, 16, 10_000},
            {128, 10, 8, 100_000}};
        for (int[] set : sets) {
            // The last set is a ring of 12 GiB, which takes the disk and not the queue to its limits.
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

    private void bearings() {
        section = "Bearings: no queue, no checksum";
        for (int payload : full ? new int[] {100, KIB, 8 * KIB} : new int[] {KIB}) {
            Shape shape = new Shape(payload, LARGE, LARGE_CAPACITY, LARGE_CAPACITY);
            add("PushBenchmark.push", "memcpy", "memcpy", shape, Map.of(), null, false);
            add("PushBenchmark.push", "write(2), 64 KiB a call", "write", shape, Map.of(), null, false);
            add("PipeBenchmark.pipe", "ArrayBlockingQueue, 1 + 1", "heap", shape, Map.of(), null, false);
        }
    }

    private Cell pair(String benchmark, String label, String rooflineLabel, Shape shape, boolean everyRound) {
        Cell roofline = add(benchmark, "roofline: " + rooflineLabel, "ring", shape, Map.of(), null, everyRound);
        add(benchmark, label, "queue", shape, Map.of(), roofline, everyRound);
        return roofline;
    }

    private void queue(String benchmark, String label, Shape shape, Map<String, String> extra, Cell roofline) {
        add(benchmark, label, "queue", shape, extra, roofline, false);
    }

    private Cell add(String benchmark, String label, String contender, Shape shape, Map<String, String> extra,
            Cell roofline, boolean everyRound) {
        Cell cell = new Cell(section, label, benchmark, contender, shape, extra, roofline, everyRound);
        cells.add(cell);
        return cell;
    }

    private Cell find(String benchmark, Shape shape) {
        return cells.stream()
                .filter(cell -> cell.contender().equals("ring") && cell.benchmark().equals(benchmark)
                        && cell.shape().equals(shape))
                .findFirst().orElseThrow();
    }
}
