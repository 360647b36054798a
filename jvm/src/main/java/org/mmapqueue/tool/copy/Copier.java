package org.mmapqueue.tool.copy;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.io.Listing;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ConsumerImage;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.recovery.QueueLocks;
import org.mmapqueue.recovery.RingSwitch;
import org.mmapqueue.tool.report.CopyReport;
import org.mmapqueue.tool.report.Finding;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.verify.Survey;
import org.mmapqueue.tool.verify.Verifier;

/**
 * Copies and resizes queues that no process has open. Records keep their offsets and timestamps, consumers their
 * committed offsets, records in flight and labels, idempotent producers their sequences, and the queue its identity.
 * Thread-safe.
 */
public final class Copier {
    private static final int PASSES = 3;

    private Copier() {}

    /**
     * Copies a queue into another directory. The queue itself is not changed. Records that every consumer has acked are
     * copied if the queue has retention and the new ring has room for them.
     *
     * @param source the queue's directory
     * @param target the directory of the copy, empty or not existing; it becomes a queue when the copy is complete
     * @param size the size of the copy's ring
     * @param progress receives the progress, in bytes of segments
     * @return what was copied
     * @throws org.mmapqueue.errors.LockedException if a process writes the queue, or owns one of its consumers
     * @throws org.mmapqueue.errors.ConfigException if the size is out of range, or too small for the records that are
     *     not acked
     * @throws MmapQueueException if the directory has no queue, the queue is damaged or of version 1, or the target is
     *     not empty
     */
    public static CopyReport copy(Path source, Path target, RingSize size, Progress progress) {
        Path queue = Verifier.real(source);
        Path copy = Verifier.real(target);
        Verifier.check(queue);
        try {
            if (copy.startsWith(queue)) {
                throw new MmapQueueException("the target " + target + " must not be inside of the queue in " + source);
            }
            Closeable locks = QueueLocks.all(queue);
            try (locks) {
                Verifier.checkTarget(copy);
                return write(storageLike(queue), queue, copy, size, true, progress);
            }
        } catch (IOException e) {
            throw new MmapQueueException("the queue in " + source + " could not be copied to " + target + ": " + e, e);
        }
    }

    /**
     * Replaces a queue's ring by one of another size, in place. The disk needs room for both rings. An interruption at
     * any moment, also a loss of power, leaves the old ring or the new one: the next open to write, or the next resize,
     * undoes or completes the switch.
     *
     * @param directory the queue's directory
     * @param size the size of the new ring
     * @param progress receives the progress, in bytes of segments
     * @return what the new ring holds
     * @throws org.mmapqueue.errors.LockedException if a process writes the queue, or owns one of its consumers
     * @throws org.mmapqueue.errors.ConfigException if the size is out of range, or too small for the records that are
     *     not acked; nothing was changed
     * @throws MmapQueueException if the directory has no queue, the queue is damaged or of version 1, or a consumer was
     *     created meanwhile
     */
    public static CopyReport resize(Path directory, RingSize size, Progress progress) {
        Path queue = Verifier.real(directory);
        if (!RingSwitch.isCommitted(queue)) {
            Verifier.check(queue);
        }
        try {
            Closeable locks = QueueLocks.all(queue);
            try (locks) {
                RingSwitch.recover(DiskStorage.INSTANCE, queue);
                Verifier.check(queue);
                return resize(storageLike(queue), queue, size, progress);
            }
        } catch (IOException e) {
            throw new MmapQueueException("the queue in " + directory + " could not be resized: " + e, e);
        }
    }

    /** Resizes a queue that the caller has locked. */
    static CopyReport resize(Storage storage, Path directory, RingSize size, Progress progress) throws IOException {
        Path copy = RingSwitch.copyOf(directory);
        CopyReport report;
        try {
            report = write(storage, directory, copy, size, false, progress);
        } catch (IOException | RuntimeException | Error e) {
            RingSwitch.recover(storage, directory);
            throw e;
        }
        RingSwitch.run(storage, directory);
        return report.at(directory);
    }

    private static CopyReport write(
            Storage storage, Path source, Path target, RingSize size, boolean elsewhere, Progress progress)
            throws IOException {
        if (Verifier.isVersion1(MetaImage.readIfThere(storage, source))) {
            throw new MmapQueueException("the queue in " + source + " is of format version 1, which stores no offsets:"
                    + " it can be neither copied nor resized. Nothing was changed. Push its records into a new queue");
        }
        CopyReport report;
        Set<String> consumers;
        try (Survey survey = new Survey(storage, source, pass(progress, 0))) {
            consumers = Set.copyOf(survey.pages.keySet());
            VerifyReport found = survey.report();
            if (!found.isWhole()) {
                throw new MmapQueueException("the queue in " + source + " is damaged: "
                        + found.findings().stream()
                                .filter(each -> each.kind() == Finding.Kind.CORRUPT)
                                .findFirst()
                                .orElseThrow()
                        + ". Nothing was changed. Repair it first");
            }
            QueueCopy copy = new QueueCopy(storage, survey, target, size, pass(progress, 1));
            if (!elsewhere) {
                for (String name : survey.uselessInFlight) {
                    storage.delete(survey.inventory.inFlight(name)); // the positions in it are of the old ring
                }
            }
            report = copy.run(elsewhere);
        } catch (CorruptException e) {
            throw new MmapQueueException("the queue in " + source + " is damaged: " + e.getMessage(), e);
        }
        check(storage, report, target, pass(progress, 2));
        if (!elsewhere) {
            checkNoneNew(storage, source, consumers);
        }
        return report;
    }

    // A process that only reads creates consumers without a lock that is held here: their positions are of the old
    // ring.
    private static void checkNoneNew(Storage storage, Path queue, Set<String> consumers) throws IOException {
        for (Map.Entry<String, Path> page : Listing.inside(queue.resolve(ConsumerPage.DIRECTORY), ConsumerPage.SUFFIX)
                .entrySet()) {
            if (!consumers.contains(page.getKey())
                    && !ConsumerImage.read(storage, page.getValue()).isDeleted()) {
                throw new MmapQueueException("consumer " + page.getKey() + " was created while the queue in " + queue
                        + " was resized. Nothing was changed. Repeat the resize when no process has the queue open");
            }
        }
    }

    // Verifies the copy, and compares the report with what was copied.
    private static void check(Storage storage, CopyReport report, Path target, Progress progress) throws IOException {
        try (Survey copy = new Survey(storage, target, progress)) {
            VerifyReport found = copy.report();
            boolean isEqual = found.firstOffset() == report.firstOffset()
                    && found.endOffset() == report.endOffset()
                    && found.clean()
                    && found.findings().isEmpty();
            if (!isEqual) {
                throw new MmapQueueException("the copy in " + target + " is not what was copied: expected offsets "
                        + report.firstOffset() + " to " + report.endOffset() + ", found " + found);
            }
        }
    }

    private static Progress pass(Progress progress, int pass) {
        return (done, total) -> progress.at(pass * total + done, PASSES * total);
    }

    private static Storage storageLike(Path queue) throws IOException {
        Path meta = queue.resolve(MetaPage.FILE_NAME);
        return Files.exists(meta) ? new DiskStorage(FileMode.like(meta)) : DiskStorage.INSTANCE;
    }
}
