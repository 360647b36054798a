package org.mmapqueue.recovery;

import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.mmapqueue.io.Listing;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ArchiveLink;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.OverflowFile;
import org.mmapqueue.meta.ProducerPage;

/** Knows by their names the files that make up a queue, and leaves all others alone. Has no state. */
public final class QueueFiles {
    private static final String NAME = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}";
    private static final Pattern SEGMENT = Pattern.compile("(0|[1-9][0-9]{0,9})_segment\\.dat(\\.new)?");
    private static final Pattern PAGE =
            Pattern.compile(NAME + "\\.(dat|dat\\.new|inflight|inflight\\.new|lock)|\\.delete\\.lock");

    private QueueFiles() {}

    /**
     * Deletes the files of a queue, the meta page first: from then on the directory has no queue. Deletes the directory
     * too if it is then empty. The caller holds all locks of the queue.
     *
     * @return whether the directory was deleted
     */
    public static boolean delete(Storage storage, Path queue) throws IOException {
        storage.delete(queue.resolve(MetaPage.FILE_NAME));
        storage.syncDirectory(queue);
        for (String name : List.of(
                MetaPage.FILE_NAME + ".new",
                ArchiveLink.FILE_NAME,
                ArchiveLink.FILE_NAME + ".new",
                ArchiveLink.NEXT_NAME,
                ArchiveLink.NEXT_NAME + ".new",
                OverflowFile.NAME,
                OverflowFile.NAME + ".new")) {
            storage.delete(queue.resolve(name));
        }
        RingSwitch.deleteCopies(storage, queue);
        deleteMatching(storage, queue, SEGMENT);
        for (String pages : List.of(ProducerPage.DIRECTORY, ConsumerPage.DIRECTORY)) {
            Path directory = queue.resolve(pages);
            if (Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
                deleteMatching(storage, directory, PAGE);
                deleteIfEmpty(storage, directory);
            }
        }
        storage.delete(queue.resolve(QueueDirectory.LOCK_FILE)); // last: until now no process can create a queue here
        storage.syncDirectory(queue);
        return deleteIfEmpty(storage, queue);
    }

    private static void deleteMatching(Storage storage, Path directory, Pattern names) throws IOException {
        for (Map.Entry<String, Path> each : Listing.of(directory, "").entrySet()) {
            if (names.matcher(each.getKey()).matches()
                    && !Files.isDirectory(each.getValue(), LinkOption.NOFOLLOW_LINKS)) {
                storage.delete(each.getValue());
            }
        }
    }

    private static boolean deleteIfEmpty(Storage storage, Path directory) throws IOException {
        try {
            return storage.delete(directory);
        } catch (DirectoryNotEmptyException e) {
            return false; // foreign files
        } catch (IOException e) {
            if (Files.isDirectory(directory)) {
                return false; // a mount point, or a parent that this user may not change
            }
            throw e;
        }
    }
}
