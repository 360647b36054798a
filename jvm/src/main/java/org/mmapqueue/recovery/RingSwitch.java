package org.mmapqueue.recovery;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.Listing;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;

/**
 * Replaces the ring of a queue by a copy with another geometry (decision 087). The copy is made in the directory {@code
 * resize.new} inside the queue's directory. Renaming it to {@code resize.ready} is the commit: before it, the next open
 * deletes the copy; after it, the next open completes the switch. The caller holds the lock of the queue throughout.
 * Has no state, and logs nothing, since the command line uses it, too.
 */
public final class RingSwitch {
    private static final String COPY = "resize.new";
    private static final String READY = "resize.ready";

    /** What {@link #recover} did about an interrupted switch. */
    public enum Outcome {
        NOTHING,
        COMPLETED,
        UNDONE
    }

    private RingSwitch() {}

    /** The directory in which the copy is made. */
    public static Path copyOf(Path queue) {
        return queue.resolve(COPY);
    }

    /** Whether a switch is committed but not completed: the queue cannot be read until {@link #recover} has run. */
    public static boolean isCommitted(Path queue) {
        return Files.isDirectory(queue.resolve(READY), LinkOption.NOFOLLOW_LINKS);
    }

    /** Whether {@link #recover} would change something. */
    public static boolean isInterrupted(Path queue) {
        return isCommitted(queue) || Files.isDirectory(queue.resolve(COPY), LinkOption.NOFOLLOW_LINKS);
    }

    /** Replaces the ring by the complete copy, all files of which are durable. */
    public static void run(Storage storage, Path queue) throws IOException {
        storage.rename(queue.resolve(COPY), queue.resolve(READY));
        storage.syncDirectory(queue);
        complete(storage, queue);
    }

    /** Completes an interrupted switch, or deletes the copy if the switch was not committed. */
    public static Outcome recover(Storage storage, Path queue) throws IOException {
        if (isCommitted(queue)) {
            complete(storage, queue);
            return Outcome.COMPLETED;
        }
        Path copy = queue.resolve(COPY);
        if (Files.isDirectory(copy, LinkOption.NOFOLLOW_LINKS)) {
            delete(storage, copy);
            storage.syncDirectory(queue);
            return Outcome.UNDONE;
        }
        return Outcome.NOTHING;
    }

    /** Deletes what an interrupted switch has left. */
    static void deleteCopies(Storage storage, Path queue) throws IOException {
        for (String name : List.of(COPY, READY)) {
            Path copy = queue.resolve(name);
            if (Files.isDirectory(copy, LinkOption.NOFOLLOW_LINKS)) {
                delete(storage, copy);
            }
        }
    }

    // Each step is idempotent. The meta page is removed first and added last: without it the directory has no queue.
    private static void complete(Storage storage, Path queue) throws IOException {
        Path ready = queue.resolve(READY);
        Path meta = ready.resolve(MetaPage.FILE_NAME);
        if (Files.exists(meta)) {
            Set<String> ring = ring(meta, MetaImage.read(storage, ready));
            storage.delete(queue.resolve(MetaPage.FILE_NAME));
            storage.syncDirectory(queue);
            for (Path each : Listing.of(queue, Geometry.FILE_SUFFIX).values()) {
                if (!ring.contains(each.getFileName().toString())) {
                    storage.delete(each);
                }
            }
            moveAll(storage, ready, queue, Geometry.FILE_SUFFIX);
            Path consumers = queue.resolve(ConsumerPage.DIRECTORY);
            storage.createDirectories(consumers);
            moveAll(storage, ready.resolve(ConsumerPage.DIRECTORY), consumers, "");
            storage.syncDirectory(consumers);
            storage.syncDirectory(queue);
            storage.rename(meta, queue.resolve(MetaPage.FILE_NAME));
            storage.syncDirectory(queue);
        }
        delete(storage, ready);
        storage.syncDirectory(queue);
    }

    // Names of the new ring's files. Files that were moved already are no longer in the copy.
    private static Set<String> ring(Path file, MetaImage meta) {
        Mismatch fault = meta.check();
        if (fault != null) {
            throw new CorruptException(file.toString(), fault.at(), fault.toString());
        }
        MetaFields facts = meta.fields();
        Geometry geometry = new Geometry(Format.V2, facts.segmentSize(), facts.capacity());
        Set<String> names = new HashSet<>();
        long first = geometry.segmentOf(meta.get(MetaImage.Word.RECLAIMED));
        long last = geometry.segmentOfEnd(meta.get(MetaImage.Word.WRITING));
        if (first < 0 || last - first < -1 || last - first >= facts.capacity()) {
            throw new CorruptException(
                    file.toString(),
                    MetaImage.Word.WRITING.at(),
                    "writing is in segment " + last + " and reclaimed in segment " + first
                            + ", expected 0 <= reclaimed <= writing, and at most " + facts.capacity() + " segments");
        }
        for (long id = first; id <= last; id++) {
            names.add(geometry.fileName(id));
        }
        return names;
    }

    private static void moveAll(Storage storage, Path from, Path to, String suffix) throws IOException {
        for (Path each : files(from, suffix)) {
            storage.rename(each, to.resolve(each.getFileName()));
        }
    }

    private static void delete(Storage storage, Path directory) throws IOException {
        for (Path each : files(directory, "")) {
            if (Files.isDirectory(each, LinkOption.NOFOLLOW_LINKS)) {
                delete(storage, each);
            } else {
                storage.delete(each);
            }
        }
        storage.delete(directory);
    }

    // The files of a directory of the queue's. The path of the queue itself may be a link, a path inside of it not.
    private static Collection<Path> files(Path directory, String suffix) throws IOException {
        return Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)
                ? Listing.of(directory, suffix).values()
                : List.of();
    }
}
