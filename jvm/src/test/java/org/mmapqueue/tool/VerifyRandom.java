package org.mmapqueue.tool;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.Logger;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.harness.ReferenceReader;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.ConsumerState;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.RepairReport;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.verify.Verifier;

/**
 * Verifies and repairs random queues, healthy ones and damaged ones ({@code make verify-random}). Arguments: queues of
 * each kind (default 1000), the first seed (default 1). The exit status is 1 when a healthy one is called damaged, or
 * a repair loses an
 * intact record or gives it another offset.
 */
final class VerifyRandom {
    private final Path temp;
    /** A broken guarantee. */
    final List<String> faults = new ArrayList<>();

    private int healthy;
    private int damaged;
    private int unharmed;
    private final Map<String, List<Long>> refused = new TreeMap<>();
    private long whole;
    private long kept;
    private long intact;

    VerifyRandom(Path temp) {
        this.temp = temp;
    }

    /** Runs all queues, and prints the result. */
    public static void main(String[] arguments) throws IOException {
        int queues = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 1000;
        long seed = arguments.length > 1 ? Long.parseLong(arguments[1]) : 1;
        LogManager.getLogManager().reset();
        Logger.getLogger("").setLevel(Level.OFF);
        Path temp = QuickDirectory.create();
        VerifyRandom all = new VerifyRandom(temp);
        long start = System.nanoTime();
        try {
            for (long each = seed; each < seed + queues; each++) {
                all.run(each);
            }
        } finally {
            Directories.delete(temp);
        }
        System.out.printf(
                "seeds %d..%d, %d s%n%s", seed, seed + queues - 1, (System.nanoTime() - start) / 1_000_000_000, all);
        all.refused.forEach((why, seeds) -> System.out.println("refused, seeds " + seeds + ": " + why));
        all.faults.stream().limit(30).forEach(System.out::println);
        System.exit(all.faults.isEmpty() ? 0 : 1);
    }

    @Override
    public String toString() {
        return String.format(
                "%d healthy queues, %d damaged ones (%d of them unharmed)%n%d whole records before the damage, %d have"
                    + " their offsets after the repair;%nthe reference reader found %d intact ones after the damage,"
                    + " and all of them after the repair%n%d repairs failed%n%d false alarms, offsets that mean"
                    + " another record and other faults%n",
                healthy,
                damaged,
                unharmed,
                whole,
                kept,
                intact,
                refused.values().stream().mapToInt(List::size).sum(),
                faults.size());
    }

    /** One healthy queue, and a damaged copy of it. */
    void run(long seed) {
        Path at = temp.resolve("queue");
        Path copy = temp.resolve("copy");
        RandomQueue.Made made = new RandomQueue(seed, at, temp.resolve("aside")).make();
        Directories.copy(at, copy);
        attempt(seed, "healthy", () -> healthy(made, at));
        RandomDamage damage = new RandomDamage(seed, copy);
        List<String> done = damage.run();
        attempt(seed, done.toString(), () -> damaged(seed, made, IntactRecords.of(at, copy), copy, damage.isMetaHit()));
        Directories.delete(at);
        Directories.delete(copy);
    }

    private void attempt(long seed, String what, Runnable work) {
        try {
            work.run();
        } catch (AssertionError | RuntimeException e) {
            faults.add("seed " + seed + ", " + what + ": " + e + " at "
                    + Arrays.stream(e.getStackTrace()).limit(3).toList());
        } finally {
            if (Files.exists(temp.resolve("repaired"))) {
                Directories.delete(temp.resolve("repaired"));
            }
        }
    }

    // ---- healthy

    private void healthy(RandomQueue.Made made, Path at) {
        healthy++;
        VerifyReport report = Verifier.verify(at, Progress.NONE);
        require(report.isWhole(), "false alarm: " + report.findings());
        require(report.clean() == made.isClosed(), "closed: " + report.clean());
        require(report.endOffset() == made.payloads().size(), "the end is " + report.endOffset());
        require(report.records() == report.endOffset() - report.firstOffset(), "records " + report.records());
        for (ConsumerState each : report.consumers()) {
            require(
                    each.offset() == made.committed().get(each.name()),
                    each.name() + " at " + each.offset() + " of "
                            + made.committed().get(each.name()));
        }
        RepairReport repaired = Repairer.repair(at, temp.resolve("repaired"), false, Progress.NONE);
        require(repaired.lost().isEmpty(), "lost by a repair of nothing: " + repaired.lost());
        long first;
        try (MmapQueue queue = MmapQueue.open(config(at))) {
            first = queue.firstOffset();
        }
        require(report.firstOffset() <= first, "first " + report.firstOffset() + " of " + first);
        try (MmapQueue queue = MmapQueue.open(config(temp.resolve("repaired")))) {
            // After a recovery, acked records may be no more retained.
            boolean fromFirst = queue.firstOffset() == first || !made.isClosed();
            require(
                    fromFirst && queue.endOffset() == made.payloads().size(),
                    "repaired from " + queue.firstOffset() + " to " + queue.endOffset() + ", first " + first);
            for (long offset = queue.firstOffset(); offset < queue.endOffset(); offset++) {
                require(Arrays.equals(queue.get(offset).data(), made.payloads().get((int) offset)), "get " + offset);
            }
        }
    }

    // ---- damaged

    private void damaged(long seed, RandomQueue.Made made, Set<Long> unchanged, Path at, boolean isMetaHit) {
        damaged++;
        Optional<ReferenceReader.Found> before = ReferenceReader.readIntact(at);
        RepairReport report;
        try {
            report = Repairer.repair(at, temp.resolve("repaired"), false, Progress.NONE);
        } catch (MmapQueueException e) {
            refused.computeIfAbsent(
                            e.getMessage().replaceAll("/\\S*", "…").replaceAll("\\d+", "#"), why -> new ArrayList<>())
                    .add(seed);
            require(!e.getMessage().contains("not whole after the repair"), e.getMessage());
            return;
        }
        if (report.before().isWhole()) {
            unharmed++;
        }
        whole += made.payloads().size() - made.first();
        before.ifPresent(found -> {
            found.checkKept(ReferenceReader.read(temp.resolve("repaired")).orElseThrow());
            intact += found.records().size();
        });
        try (MmapQueue queue = MmapQueue.open(config(temp.resolve("repaired")))) {
            long end = queue.endOffset();
            boolean mayBeCut = !made.isClosed() || isMetaHit;
            require(
                    mayBeCut || end >= made.payloads().size(),
                    "the end is " + end + " of " + made.payloads().size());
            // The end of a queue that was not closed may be cut. The retention of acked records is in the meta page
            // alone.
            long last = made.committed().values().stream().min(Long::compare).orElse(Long.MAX_VALUE);
            long first = !made.isClosed() ? Long.MAX_VALUE : isMetaHit ? last : made.first();
            List<Long> lost = unchanged.stream()
                    .filter(each -> each >= first && !isThere(queue, each))
                    .toList();
            require(lost.isEmpty(), "intact records are lost: " + lost + " by " + report);
            for (long offset = queue.firstOffset(); offset < end; offset++) {
                try {
                    check(made, queue.get(offset));
                    kept += offset >= made.first() ? 1 : 0;
                } catch (OutOfRangeException e) {
                    require(isLost(report, offset), "offset " + offset + " is lost without a word: " + report.lost());
                }
            }
            for (String name : queue.consumers()) {
                drain(made, queue.consumer(name, StartAt.EARLIEST));
            }
        }
    }

    private static boolean isThere(MmapQueue queue, long offset) {
        try {
            return queue.get(offset) != null;
        } catch (OutOfRangeException e) {
            return false;
        }
    }

    private static boolean isLost(RepairReport report, long offset) {
        return report.lost().stream().anyMatch(each -> each.firstLost() <= offset && offset <= each.lastLost());
    }

    private static void check(RandomQueue.Made made, Message message) {
        // A record with an unknown offset may get one that was never in use.
        boolean isOwn = message.offset() >= made.payloads().size()
                ? made.payloads().stream().anyMatch(each -> Arrays.equals(each, message.data()))
                : Arrays.equals(message.data(), made.payloads().get((int) message.offset()));
        require(isOwn, "OFFSET CHANGED: " + message.offset() + " means another record");
    }

    private static void drain(RandomQueue.Made made, Consumer consumer) {
        long last = -1;
        while (true) {
            try {
                Message message = consumer.poll();
                if (message == null) {
                    return;
                }
                require(message.offset() > last, "offset " + message.offset() + " after " + last);
                last = message.offset();
                check(made, message);
            } catch (DroppedException e) {
                last = -1; // The word has no checksum.
            }
        }
    }

    private static QueueConfig config(Path at) {
        return QueueConfig.builder(at).flushPeriod(Duration.ofMinutes(10)).build();
    }

    private static void require(boolean truth, String otherwise) {
        if (!truth) {
            throw new AssertionError(otherwise);
        }
    }
}
