package org.mmapqueue.tool.verify;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ConsumerImage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.meta.MetaImage.Word;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.PageHeader;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.SegmentHeader;
import org.mmapqueue.tool.scan.RecordScan;
import org.mmapqueue.tool.scan.Slot;
import org.mmapqueue.tool.scan.Slots;

/**
 * Rebuilds a damaged, truncated or missing meta page from its remains, the headers of segments, the consumers' pages
 * and the checksums of records. A walk finds the log end and the largest record. For one use.
 */
final class MetaRebuild {
    private static final int LIVE_WORDS = 976;
    private static final int SAMPLES = 64;
    private static final int SAMPLES_EACH = 16;
    /** The largest capacity to try, as damaged headers may have any id: 256 GiB in segments of the least size. */
    private static final long LARGEST_CAPACITY = 1 << 26;

    /** The default capacity, in bytes. */
    private static final long DEFAULT_CAPACITY = 512L << 20;

    private final Storage storage;
    private final Inventory inventory;
    /** The damaged page; null if it is missing, or of another queue. */
    private final MetaImage stored;

    private final List<Inventory.SegmentFile> whole;

    MetaRebuild(Storage storage, Inventory inventory, MetaImage stored) {
        this.storage = storage;
        this.inventory = inventory;
        this.stored = stored;
        this.whole = inventory.segments.values().stream()
                .filter(each -> each.header() != null)
                .toList();
    }

    /**
     * Rebuilds the page.
     *
     * @throws CorruptException when no segment has an intact header, or the UUID is unknown
     */
    MetaImage run() throws IOException {
        Path file = inventory.directory.resolve(MetaPage.FILE_NAME);
        if (whole.isEmpty()) {
            throw new CorruptException(
                    file.toString(), 0, "no segment has a whole header, so the page cannot be rebuilt");
        }
        long uuidLow = most(whole.stream().map(each -> each.header().uuidLow()).toList());
        List<Inventory.SegmentFile> own = whole.stream()
                .filter(each -> each.header().uuidLow() == uuidLow)
                .toList();
        long size = most(own.stream().map(Inventory.SegmentFile::length).toList());
        if (size < MetaImage.PAGE || size % MetaImage.PAGE != 0 || size > MetaImage.LARGEST_SEGMENT) {
            throw new CorruptException(
                    own.get(0).path().toString(),
                    size,
                    "the segment files have " + size + " bytes, expected a multiple of 4096 up to 1 GiB");
        }
        int capacity = capacity(own, size);
        long epoch = own.stream().mapToLong(each -> each.header().epoch()).max().orElse(1);
        long room = Math.min(RecordDescriptor.MAX_LENGTH, (capacity - 1L) * (size - SegmentHeader.LENGTH) - 23);
        boolean live = hasAtLeast(LIVE_WORDS);
        long createdAt = live ? Math.max(0, stored.fields().createdAtMicros()) : 0;
        MetaFields facts = new MetaFields(2, capacity, (int) size, 0, uuidLow, false, (int) room, createdAt, epoch);
        MetaImage image = MetaImage.of(withUuid(file, facts, own));
        image.hasDefault(live ? stored.hasDefault() : inventory.hasDefaultLock);
        cursors(
                image,
                live,
                (int) size,
                own.stream().mapToLong(each -> each.header().id()).max().orElse(0));
        return image;
    }

    private static long most(List<Long> values) {
        Map<Long, Integer> counts = new HashMap<>();
        values.forEach(each -> counts.merge(each, 1, Integer::sum));
        return mostFrequent(counts);
    }

    private static <T> T mostFrequent(Map<T, Integer> counts) {
        return counts.entrySet().stream()
                .max(Map.Entry.comparingByValue())
                .orElseThrow()
                .getKey();
    }

    // Whether the damaged page has this many bytes.
    private boolean hasAtLeast(int length) {
        return stored != null && stored.fileLength() >= length;
    }

    // ---- capacity

    private int capacity(List<Inventory.SegmentFile> own, long size) {
        long inTable = hasAtLeast(MetaImage.TABLE_LENGTH) ? stored.tableCapacity() : 0;
        if (inTable >= 2 && inTable <= MetaImage.MOST_SEGMENTS && fits(own, inTable)) {
            return (int) inTable;
        }
        int slots = Math.max(
                2, own.stream().mapToInt(Inventory.SegmentFile::slot).max().orElse(0) + 1);
        long common = 0;
        for (Inventory.SegmentFile each : own) {
            common = gcd(common, each.header().id() - each.slot());
        }
        // Segments of one generation determine a multiple of the capacity; segments of two generations determine the
        // capacity.
        for (long each = slots; common != 0 && each <= Math.min(common, LARGEST_CAPACITY); each++) {
            if (common % each == 0 && fits(own, each)) {
                return (int) each;
            }
        }
        // The ring has not wrapped yet: any capacity with at least these slots is right.
        return (int) Math.max(slots, DEFAULT_CAPACITY / size);
    }

    private static boolean fits(List<Inventory.SegmentFile> own, long capacity) {
        return own.stream()
                .allMatch(each -> each.slot() < capacity && each.header().id() % capacity == each.slot());
    }

    private static long gcd(long a, long b) {
        return b == 0 ? a : gcd(b, a % b);
    }

    // ---- UUID

    private MetaFields withUuid(Path file, MetaFields facts, List<Inventory.SegmentFile> own) throws IOException {
        for (String name : inventory.consumers) {
            ConsumerImage page = ConsumerImage.read(storage, inventory.page(name));
            if (page.check() == null && page.uuidLow() == facts.uuidLow()) {
                return facts.withUuidHigh(page.uuidHigh()); // the page's checksum covers the UUID
            }
        }
        for (Path page : inventory.producers) {
            OptionalLong high = PageHeader.uuidHigh(storage, page, facts.uuidLow());
            if (high.isPresent()) {
                return facts.withUuidHigh(high.getAsLong());
            }
        }
        boolean hasCandidate = hasAtLeast(LIVE_WORDS);
        Geometry geometry = new Geometry(Format.V2, facts.segmentSize(), facts.capacity());
        try (Slots slots = new Slots(storage, inventory.directory, geometry, facts.uuidLow())) {
            Map<Integer, Integer> differences = differences(slots, facts.withUuidHigh(UuidSolver.TRIED), own);
            if (differences.isEmpty()) {
                // Without a record, nothing depends on the upper half.
                return facts.withUuidHigh(hasCandidate ? stored.fields().uuidHigh() : UuidSolver.TRIED);
            }
            int difference = mostFrequent(differences);
            if (hasCandidate && solves(slots, facts.withUuidHigh(stored.fields().uuidHigh()), own)) {
                return facts.withUuidHigh(stored.fields().uuidHigh());
            }
            // A single record proves nothing: even for a damaged one, some UUID makes the checksum right.
            if (differences.get(difference) == 1) {
                throw new CorruptException(
                        file.toString(),
                        88,
                        "the upper half of the queue's UUID is stored nowhere,"
                                + " and no two records agree on what it was");
            }
            return facts.withUuidHigh(UuidSolver.solve(difference));
        }
    }

    // Counts the differences between stored and computed checksums of the first records of some segments.
    private static Map<Integer, Integer> differences(Slots slots, MetaFields facts, List<Inventory.SegmentFile> own)
            throws IOException {
        Map<Integer, Integer> differences = new HashMap<>();
        for (Inventory.SegmentFile each : own.subList(0, Math.min(own.size(), SAMPLES))) {
            sample(slots, facts, each.header(), differences);
        }
        return differences;
    }

    private static void sample(Slots slots, MetaFields facts, SegmentHeader header, Map<Integer, Integer> differences)
            throws IOException {
        RecordScan scan = new RecordScan(slots, facts);
        Slot slot = slots.get(header.id());
        // A header of another segment may have a right checksum, but says nothing about the records here.
        int offset = slot.header() == null ? 0 : slot.header().firstRecord();
        for (int i = 0; i < SAMPLES_EACH && offset != 0 && offset < facts.segmentSize(); i++) {
            scan.foundChecksum = 0;
            RecordScan.Kind kind = scan.look(slot, offset, header.epoch());
            if (kind == RecordScan.Kind.NOTHING || scan.foundChecksum == 0) {
                return;
            }
            differences.merge(scan.storedChecksum ^ scan.foundChecksum, 1, Integer::sum);
            if (scan.endId != header.id()) {
                return;
            }
            offset = scan.endOffset;
        }
    }

    private static boolean solves(Slots slots, MetaFields facts, List<Inventory.SegmentFile> own) throws IOException {
        Map<Integer, Integer> left = differences(slots, facts, own);
        int right = left.getOrDefault(0, 0);
        return right > 0 && left.values().stream().allMatch(each -> each <= right);
    }

    // ---- cursors

    // Takes cursors as hints: the walk finds the log end, and moves consumers to the ends of records.
    private void cursors(MetaImage image, boolean live, int size, long highest) {
        for (Word word : Word.values()) {
            long position = -1;
            if (live) {
                position = stored.get(word);
            } else if (hasAtLeast(MetaImage.TABLE_LENGTH)) {
                position = stored.inTable(word, size);
            }
            boolean sound = position >= 0 && position % Long.BYTES == 0 && position <= (highest + 1) * size;
            image.put(word, sound && word != Word.DROPPED_FIRST ? position : 0, size);
        }
    }
}
