package org.mmapqueue.damage;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.mmapqueue.Consumer;
import org.mmapqueue.Message;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.QueueConfig;
import org.mmapqueue.StartAt;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.FullException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.harness.ReferenceReader;
import org.mmapqueue.support.Directories;
import org.mmapqueue.support.Payload;
import org.mmapqueue.support.QuickDirectory;
import org.mmapqueue.tool.repair.Repairer;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.verify.Verifier;

/**
 * Damages queues in every possible way, and checks the result of a read: the exact records, or an error that names file
 * and byte. The report of verify is compared with the behaviour of a queue. Arguments: full or short, a seed, and the
 * prefix of the kinds of damage to try; without it all are tried.
 */
final class DamageSweep {
    /** The result of one damage. */
    private enum Outcome {
        /** Everything that was pushed, and nothing else. */
        TRUTH,
        /** Everything up to the end that a recovery would find after a kill. */
        CUT,
        /** The open throws. */
        REFUSED,
        /** All returned records are right; reading one position throws. */
        ERROR
    }

    /** In the short form, one in so many damaged directories is repaired. */
    private static final int SHORT_STRIDE = 20;

    private final Path temp;
    private final Damage.Extent extent;
    private final long seed;
    private final String kind;
    private final Map<String, int[]> table = new TreeMap<>();
    /** Faults of the queue. */
    final List<String> faults = new ArrayList<>();

    int tried;
    private int repairs;
    private long kept;

    DamageSweep(Path temp, Damage.Extent extent, long seed, String kind) {
        this.temp = temp;
        this.extent = extent;
        this.seed = seed;
        this.kind = kind;
    }

    /** Prints the table. The exit status is 1 if a fault was found. */
    public static void main(String[] arguments) throws Exception {
        Damage.Extent extent =
                arguments.length > 0 && arguments[0].equals("short") ? Damage.Extent.SHORT : Damage.Extent.FULL;
        long seed = arguments.length > 1 ? Long.parseLong(arguments[1]) : 1;
        Path temp = QuickDirectory.create();
        DamageSweep sweep = new DamageSweep(temp, extent, seed, arguments.length > 2 ? arguments[2] : "");
        try {
            for (Shape shape : Shape.values()) {
                sweep.run(shape);
            }
        } finally {
            Directories.delete(temp);
        }
        sweep.print();
        System.exit(sweep.faults.isEmpty() ? 0 : 1);
    }

    private void print() {
        System.out.printf("%-28s %8s %8s %8s %8s%n", "damage (seed " + seed + ")", "truth", "cut", "refused", "error");
        int[] sums = new int[Outcome.values().length];
        table.forEach((kind, counts) -> {
            row(kind, counts);
            Arrays.setAll(sums, i -> sums[i] + counts[i]);
        });
        row("all", sums);
        // Prints one fault of each kind.
        Map<String, List<String>> kinds = new TreeMap<>();
        for (String fault : faults) {
            kinds.computeIfAbsent(fault.replaceAll("[^:]*: |/[^ ]*|[0-9]+", ""), key -> new ArrayList<>())
                    .add(fault);
        }
        kinds.values().forEach(each -> System.out.println(each.size() + " x such as " + each.get(0)));
        System.out.println(tried + " damaged directories, " + repairs + " repaired with all of the " + kept
                + " records that the reference reader found intact, " + faults.size() + " faults");
    }

    private static void row(String name, int[] counts) {
        System.out.printf("%-28s %8d %8d %8d %8d%n", name, counts[0], counts[1], counts[2], counts[3]);
    }

    void run(Shape shape) {
        Random random = new Random(seed * 31 + shape.ordinal());
        Path older = temp.resolve(shape + "-older");
        Shape.Made made = shape.make(temp.resolve(shape + "-whole"), temp.resolve(shape + "-aside"), older);
        Shape.Made other = shape.make(temp.resolve(shape + "-other"), temp.resolve(shape + "-aside2"));
        List<Damage> all = Damage.all(made.path(), other.path(), older, extent, random);
        all.removeIf(each -> !each.kind().startsWith(kind));
        if (all.size() > extent.most()) {
            Collections.shuffle(all, random);
            all = all.subList(0, extent.most());
        }
        for (Damage damage : all) {
            Path at = Directories.copy(made.path(), temp.resolve("damaged"));
            damage.change().accept(at);
            String name = shape + ": " + damage.name();
            try {
                if (extent.equals(Damage.Extent.FULL) || tried % SHORT_STRIDE == 0) {
                    repair(at);
                }
                Outcome outcome = check(made, at);
                table.computeIfAbsent(damage.kind(), key -> new int[Outcome.values().length])[outcome.ordinal()]++;
            } catch (AssertionError | RuntimeException | OutOfMemoryError e) {
                faults.add(name + ": " + e + " at "
                        + Arrays.stream(e.getStackTrace()).limit(4).toList());
            }
            tried++;
            Directories.delete(at);
        }
    }

    // A repair keeps each record that the reference reader finds intact.
    private void repair(Path at) {
        Path repaired = temp.resolve("repaired");
        ReferenceReader.readIntact(at).ifPresent(intact -> {
            try {
                Repairer.repair(at, repaired, false, Progress.NONE);
                intact.checkKept(ReferenceReader.read(repaired).orElseThrow());
                repairs++;
                kept += intact.records().size();
            } catch (MmapQueueException e) {
                require(!e.getMessage().contains("not whole after the repair"), e.toString());
            } finally {
                if (Files.exists(repaired)) {
                    Directories.delete(repaired);
                }
            }
        });
    }

    private static Outcome check(Shape.Made made, Path at) {
        VerifyReport report = Verifier.verify(at, Progress.NONE);
        Outcome outcome;
        String error = "none";
        try (MmapQueue queue = MmapQueue.open(
                QueueConfig.builder(at).flushPeriod(Duration.ofMinutes(10)).build())) {
            outcome = read(made, queue, at);
            require(outcome != Outcome.CUT || !report.clean(), "a closed queue has lost its end without an error");
        } catch (CorruptException e) {
            named(e, at);
            outcome = Outcome.REFUSED;
            error = e.toString();
        } catch (MmapQueueException e) {
            // Not an error about damage: the directory has another meaning than before.
            outcome = Outcome.REFUSED;
            error = e.toString();
            require(e.getMessage() != null && e.getMessage().contains(at.toString()), "an error without a path: " + e);
        }
        if (report.isWhole()) {
            require(
                    outcome == Outcome.TRUTH || outcome == Outcome.CUT,
                    "verify finds no damage, but the outcome is " + outcome + ": " + error + "; " + report.findings());
        }
        return outcome;
    }

    // Each read returns the bytes that were pushed at that offset, without a gap.
    private static Outcome read(Shape.Made made, MmapQueue queue, Path at) {
        boolean error = false;
        long end = queue.endOffset();
        require(end >= 0 && end <= made.payloads().size(), "the end is " + end);
        for (String name : queue.consumers()) {
            try {
                error |= drain(made, queue.consumer(name, StartAt.EARLIEST), end, at);
            } catch (CorruptException e) {
                named(e, at);
                error = true;
            }
        }
        for (long offset = 0; offset < end; offset++) {
            try {
                Message message = queue.get(offset);
                require(
                        message.offset() == offset
                                && Arrays.equals(message.data(), made.payloads().get((int) offset)),
                        "get(" + offset + ") is wrong");
            } catch (OutOfRangeException e) {
                require(e.first() > offset || e.last() < offset, "get(" + offset + "): " + e.getMessage());
            } catch (CorruptException e) {
                named(e, at);
                error = true;
            }
        }
        error |= push(made, queue, end, at);
        return error ? Outcome.ERROR : end == made.payloads().size() ? Outcome.TRUTH : Outcome.CUT;
    }

    private static boolean drain(Shape.Made made, Consumer consumer, long end, Path at) {
        long expected = consumer.readOffset();
        require(expected >= 0 && expected <= end, consumer.name() + " begins at " + expected + " of " + end);
        try {
            for (int steps = 0; steps <= 2 * made.payloads().size(); steps++) {
                Message message;
                try {
                    message = consumer.poll();
                } catch (DroppedException e) {
                    // The word that reports drops has no checksum: the call throws, and the next record must be right.
                    expected = consumer.readOffset();
                    continue;
                }
                if (message == null) {
                    require(
                            consumer.readOffset() == end,
                            consumer.name() + " ends at " + consumer.readOffset() + " of " + end);
                    return false;
                }
                require(message.offset() >= expected, "offset " + message.offset() + ", expected " + expected);
                require(
                        Arrays.equals(message.data(), made.payloads().get((int) message.offset())),
                        "offset " + message.offset() + " is wrong");
                expected = message.offset() + 1;
            }
            throw new AssertionError(consumer.name() + " does not end");
        } catch (CorruptException e) {
            named(e, at);
            return true;
        }
    }

    // A new record is the last one of the log.
    private static boolean push(Shape.Made made, MmapQueue queue, long end, Path at) {
        byte[] pushed =
                Payload.of(-1, made.payloads().isEmpty() ? 100 : made.payloads().get(1).length);
        try {
            require(queue.push(pushed) == end, "a push gets another offset than " + end);
            Message message = queue.get(end);
            require(Arrays.equals(message.data(), pushed), "get returns other bytes than were pushed");
            require(queue.endOffset() == end + 1, "the end is " + queue.endOffset() + " after a push at " + end);
            for (String name : queue.consumers()) {
                Consumer consumer = queue.consumer(name, StartAt.EARLIEST);
                if (consumer.readOffset() == end) {
                    Message popped = pollPastDrop(consumer);
                    require(
                            popped != null && Arrays.equals(popped.data(), pushed),
                            name + " does not pop what was pushed");
                    require(consumer.poll() == null, name + " pops more than was pushed");
                }
            }
            return false;
        } catch (FullException e) {
            return false; // a consumer at the log start retains the whole ring
        } catch (CorruptException e) {
            named(e, at);
            return true;
        }
    }

    // The word that reports drops has no checksum: it may be set for a consumer that has read everything.
    private static Message pollPastDrop(Consumer consumer) {
        try {
            return consumer.poll();
        } catch (DroppedException e) {
            return consumer.poll();
        }
    }

    private static void named(CorruptException e, Path at) {
        require(e.file().startsWith(at.toString()), "an error of another file: " + e.getMessage());
        require(
                e.position() >= 0 && e.position() <= Shape.SEGMENT * 2,
                "an error with a wrong position: " + e.getMessage());
    }

    private static void require(boolean truth, String otherwise) {
        if (!truth) {
            throw new AssertionError(otherwise);
        }
    }
}
