package org.mmapqueue.tool.repair;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.recovery.QueueLocks;
import org.mmapqueue.tool.report.Finding;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.RepairReport;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.verify.Survey;
import org.mmapqueue.tool.verify.Verifier;

/**
 * Repairs damaged queues, so that they can be opened, read and written again. Intact records keep their offsets; each
 * damaged range becomes a gap, and its lost records are reported. Thread-safe.
 */
public final class Repairer {
    private static final Storage STORAGE = DiskStorage.INSTANCE;

    private Repairer() {}

    /**
     * Makes a repaired copy of a queue. The queue itself is not changed.
     *
     * @param target the directory of the copy; it must be empty or not exist
     * @param resetClock whether to set timestamps that are ahead of this machine's clock to now, in the copy
     * @param progress receives the progress of reading, in bytes of segments
     * @return the report: changes and lost records
     * @throws org.mmapqueue.errors.LockedException when a process writes the queue
     * @throws MmapQueueException when the directory has no queue, the queue is of version 1 or cannot be repaired, or the
     *     target is not empty; the target does not become a queue then
     */
    public static RepairReport repair(Path directory, Path target, boolean resetClock, Progress progress) {
        Path queue = Verifier.real(directory);
        Path copy = Verifier.real(target);
        Verifier.check(queue);
        try {
            Verifier.checkTarget(copy);
            Closeable lock = QueueLocks.writer(queue);
            try (lock) {
                return run(queue, copy, resetClock, progress);
            }
        } catch (IOException e) {
            throw failed(directory, e);
        }
    }

    /**
     * Repairs a queue in place. Overwritten bytes are lost.
     *
     * @param resetClock whether to set timestamps that are ahead of this machine's clock to now
     * @param progress receives the progress of reading, in bytes of segments
     * @return the report: changes and lost records
     * @throws org.mmapqueue.errors.LockedException when a process writes the queue, or owns one of its consumers
     * @throws MmapQueueException when the directory has no queue, or the queue is of version 1 or cannot be repaired
     */
    public static RepairReport repairInPlace(Path directory, boolean resetClock, Progress progress) {
        Path queue = Verifier.real(directory);
        Verifier.check(queue);
        try {
            Closeable lock = QueueLocks.all(queue);
            try (lock) {
                return run(queue, queue, resetClock, progress);
            }
        } catch (IOException e) {
            throw failed(directory, e);
        }
    }

    private static MmapQueueException failed(Path directory, IOException e) {
        return new MmapQueueException("the queue in " + directory + " could not be repaired: " + e, e);
    }

    private static RepairReport run(Path directory, Path target, boolean resetClock, Progress progress)
            throws IOException {
        if (Verifier.isVersion1(MetaImage.readIfThere(STORAGE, directory))) {
            throw new MmapQueueException("the queue in " + directory + " is of format version 1, which has no checksums"
                    + " and no offsets, so damaged records cannot be detected. Nothing was changed. Open it, or read it"
                    + " with the program that wrote it, and push the good records into a new queue");
        }
        RepairReport report;
        try (Survey survey = new Survey(STORAGE, directory, progress)) {
            Repair repair = new Repair(STORAGE, survey, target);
            repair.plan();
            if (target != directory) {
                repair.copy();
            }
            repair.apply();
            List<Finding> lost = survey.walk.findings.stream()
                    .filter(each -> each.lost() > 0)
                    .toList();
            report = new RepairReport(target.toString(), survey.report(), List.copyOf(repair.actions), lost);
        } catch (CorruptException e) {
            throw new MmapQueueException("the queue in " + directory + " cannot be repaired: " + e.getMessage(), e);
        }
        check(target);
        return resetClock ? withClockReset(report, target) : report;
    }

    // Timestamps never decrease: while the last one is ahead of the clock, each new record would get it.
    private static RepairReport withClockReset(RepairReport report, Path target) throws IOException {
        Instant now = Instant.now();
        long micros = ChronoUnit.MICROS.between(Instant.EPOCH, now);
        long changed = restamp(target, old -> Math.min(old, micros));
        List<String> actions = new ArrayList<>(report.actions());
        actions.add("set the timestamps of " + changed + " records that were ahead of the clock to " + now);
        return new RepairReport(report.path(), report.before(), List.copyOf(actions), report.lost());
    }

    /** Changes the timestamps of a whole queue; returns the number of changed records. */
    public static long restamp(Path target, LongUnaryOperator stamps) throws IOException {
        long changed;
        try (Survey whole = new Survey(STORAGE, target, Progress.NONE)) {
            changed = new Restamping(STORAGE, target, whole, stamps).run();
        }
        check(target);
        return changed;
    }

    // Verifies the repaired queue.
    private static void check(Path target) throws IOException {
        try (Survey after = new Survey(STORAGE, target, Progress.NONE)) {
            VerifyReport report = after.report();
            if (!report.isWhole()) {
                throw new MmapQueueException(
                        "the queue in " + target + " is not whole after the repair: " + report.findings());
            }
        }
    }
}
