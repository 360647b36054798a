package org.mmapqueue.tool.verify;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.mmapqueue.io.DataFile;
import org.mmapqueue.io.Listing;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ArchiveLink;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.InFlightDescriptor;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.OverflowFile;
import org.mmapqueue.meta.ProducerPage;
import org.mmapqueue.recovery.QueueDirectory;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentHeader;

/** The files of a queue directory. */
public final class Inventory {
    /** The suffix of consumers' lock files. */
    private static final String LOCK_SUFFIX = ".lock";
    /** The other files of a queue beside its segments. */
    private static final Set<String> OTHERS = Set.of(
            QueueDirectory.LOCK_FILE,
            MetaPage.FILE_NAME,
            ArchiveLink.FILE_NAME,
            ArchiveLink.NEXT_NAME,
            OverflowFile.NAME);
    /** A segment file. {@code header} is null if it is damaged or missing. */
    record SegmentFile(int slot, Path path, long length, SegmentHeader header, boolean isEmpty) {}

    final TreeMap<Integer, SegmentFile> segments = new TreeMap<>();
    /** The names of consumers with a page, and of those with a file of records in flight. */
    final TreeSet<String> consumers = new TreeSet<>();

    public final TreeSet<String> inFlight = new TreeSet<>();
    /** The files of idempotent producers. */
    final TreeSet<Path> producers = new TreeSet<>();
    /** Files with names that no queue uses. */
    final List<Path> odd = new ArrayList<>();

    final Path directory;

    Inventory(Storage storage, Path directory) throws IOException {
        this.directory = directory;
        for (Path file : Listing.entries(directory)) {
            String name = file.getFileName().toString();
            if (Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS)) {
                continue; // a subdirectory may be another queue
            }
            int slot = slot(name);
            if (slot >= 0) {
                segments.put(slot, look(storage, slot, file));
            } else if (!OTHERS.contains(name)) {
                odd.add(file);
            }
        }
        Path pages = directory.resolve(ConsumerPage.DIRECTORY);
        Listing.refuseLink(pages);
        if (Files.isDirectory(pages)) {
            Listing.entries(pages).forEach(this::consumer);
        }
        Path sequences = directory.resolve(ProducerPage.DIRECTORY);
        Listing.refuseLink(sequences);
        if (Files.isDirectory(sequences)) {
            Listing.entries(sequences)
                    .forEach(file -> (file.toString().endsWith(ProducerPage.SUFFIX) ? producers : odd).add(file));
        }
        odd.sort(null);
    }

    private void consumer(Path file) {
        String name = file.getFileName().toString();
        if (name.endsWith(ConsumerPage.SUFFIX)) {
            consumers.add(name.substring(0, name.length() - ConsumerPage.SUFFIX.length()));
        } else if (name.endsWith(InFlightDescriptor.SUFFIX)) {
            inFlight.add(name.substring(0, name.length() - InFlightDescriptor.SUFFIX.length()));
        } else if (!name.endsWith(LOCK_SUFFIX)) {
            odd.add(file);
        }
    }

    /** The slot in the name of a segment file; -1 for any other name. */
    private static int slot(String name) {
        if (!name.endsWith(Geometry.FILE_SUFFIX)) {
            return -1;
        }
        String digits = name.substring(0, name.length() - Geometry.FILE_SUFFIX.length());
        return digits.matches("0|[1-9][0-9]{0,8}") ? Integer.parseInt(digits) : -1;
    }

    private static SegmentFile look(Storage storage, int slot, Path path) throws IOException {
        ByteBuffer head = ByteBuffer.allocate(SegmentHeader.LENGTH).order(ByteOrder.LITTLE_ENDIAN);
        try (DataFile file = storage.open(path, Storage.Mode.READ)) {
            file.read(head, 0);
            return new SegmentFile(
                    slot,
                    path,
                    file.size(),
                    SegmentHeader.check(head) == null ? SegmentHeader.decode(head) : null,
                    SegmentHeader.isEmpty(head));
        }
    }

    /** Whether the header of each segment is all zeros. */
    boolean isEmpty() {
        return segments.values().stream().allMatch(SegmentFile::isEmpty);
    }

    /** Whether segments exist, and all of them belong to other queues. */
    boolean isForeign(UUID queue) {
        List<SegmentFile> whole =
                segments.values().stream().filter(each -> each.header() != null).toList();
        return !whole.isEmpty()
                && whole.stream().noneMatch(each -> each.header().queue().equals(queue));
    }

    public Path page(String consumer) {
        return directory.resolve(ConsumerPage.DIRECTORY).resolve(consumer + ConsumerPage.SUFFIX);
    }

    /** The file of a consumer's records in flight. */
    public Path inFlight(String consumer) {
        return directory.resolve(ConsumerPage.DIRECTORY).resolve(consumer + InFlightDescriptor.SUFFIX);
    }
}
