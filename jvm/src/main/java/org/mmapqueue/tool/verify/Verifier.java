package org.mmapqueue.tool.verify;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.RealPath;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.recovery.IncompleteCopy;
import org.mmapqueue.recovery.QueueLocks;
import org.mmapqueue.recovery.RingSwitch;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.tool.report.Finding;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.VerifyReport;

/**
 * Verifies a queue directory: the meta page, pages of consumers and producers, files of records in flight, each segment's
 * header, each record's header and checksum, from the log start to the log end. Changes nothing. Thread-safe.
 */
public final class Verifier {
    private Verifier() {}

    /**
     * Verifies a directory that no process writes.
     *
     * @param progress receives the progress, in bytes of segments
     * @throws org.mmapqueue.errors.LockedException when a process writes the queue; carries the process's pid
     * @throws MmapQueueException when the directory has no queue, or it cannot be read
     */
    public static VerifyReport verify(Path directory, Progress progress) {
        Path queue = real(directory);
        check(queue);
        try {
            Closeable lock = QueueLocks.writer(queue); // creates no lock file if none exists
            try (lock) {
                return look(queue, progress);
            }
        } catch (IOException e) {
            throw new MmapQueueException("the queue in " + directory + " could not be read: " + e, e);
        }
    }

    private static VerifyReport look(Path directory, Progress progress) throws IOException {
        Storage storage = DiskStorage.INSTANCE;
        MetaImage meta = MetaImage.readIfThere(storage, directory);
        if (isVersion1(meta) || meta != null && meta.isUnfinishedV1() && new Inventory(storage, directory).isEmpty()) {
            return new V1Check(storage, directory, meta).run(progress);
        }
        try (Survey survey = new Survey(storage, directory, progress)) {
            return survey.report();
        } catch (CorruptException e) {
            // Reports this finding alone: too little is left to read the rest.
            return new VerifyReport(
                    directory.toString(),
                    0,
                    false,
                    0,
                    0,
                    0,
                    0,
                    0,
                    List.of(),
                    List.of(Finding.of(Finding.Kind.CORRUPT, e.file(), e.position(), e.detail())));
        }
    }

    /** Whether a page is of version 1, by its version and its length. */
    public static boolean isVersion1(MetaImage meta) {
        return meta != null && meta.version() == 1 && meta.fileLength() <= MetaImage.TABLE_LENGTH;
    }

    /**
     * The directory itself, for a path that may contain symbolic links: a tool resolves it once, at its beginning, and
     * a link that changes while the tool runs leads it nowhere else.
     */
    public static Path real(Path directory) {
        try {
            return RealPath.of(directory);
        } catch (IOException e) {
            throw new MmapQueueException("the directory " + directory + " could not be read: " + e, e);
        }
    }

    /** Throws if the directory has no queue, or an incomplete copy of one. */
    public static void check(Path directory) {
        if (!Files.isDirectory(directory)) {
            throw new MmapQueueException(
                    "there is no directory " + directory, new NoSuchFileException(directory.toString()));
        }
        IncompleteCopy.check(directory);
        if (RingSwitch.isCommitted(directory)) {
            throw new MmapQueueException("a resize of the queue in " + directory
                    + " was interrupted: open the queue to write, or resize it again, to complete it");
        }
        try (var files = Files.list(directory)) {
            boolean any = files.anyMatch(each -> each.getFileName().toString().equals(MetaPage.FILE_NAME)
                    || each.getFileName().toString().endsWith(Geometry.FILE_SUFFIX));
            if (!any) {
                throw new MmapQueueException(
                        "there is no queue in " + directory + ": neither " + MetaPage.FILE_NAME + " nor a segment",
                        new NoSuchFileException(directory.toString()));
            }
        } catch (IOException e) {
            throw new MmapQueueException("the directory " + directory + " could not be read: " + e, e);
        }
    }

    /** Throws if the target of a copy is a file, or a directory with files. */
    public static void checkTarget(Path target) throws IOException {
        if (!Files.exists(target)) {
            return;
        }
        try (var files = Files.isDirectory(target) ? Files.list(target) : Stream.of(target)) {
            if (files.findAny().isPresent()) {
                throw new MmapQueueException("the target " + target + " must not exist, or be an empty directory");
            }
        }
    }
}
