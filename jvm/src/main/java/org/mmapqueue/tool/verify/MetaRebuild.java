package org.mmapqueue.tool.verify;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.meta.MetaImage.Word;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.SegmentHeader;

/**
 * Rebuilds a damaged, truncated or missing meta page from its remains and the headers of segments. A walk finds the log
 * end and the largest record. For one use.
 */
final class MetaRebuild {
    private static final int LIVE_WORDS = 992;
    private final Inventory inventory;
    /** The damaged page; null if it is missing, or of another queue. */
    private final MetaImage stored;

    private final List<Inventory.SegmentFile> whole;

    MetaRebuild(Inventory inventory, MetaImage stored) {
        this.inventory = inventory;
        this.stored = stored;
        this.whole = inventory.segments.values().stream()
                .filter(each -> each.header() != null)
                .toList();
    }

    /**
     * Rebuilds the page.
     *
     * @throws CorruptException when no segment has an intact header
     */
    MetaImage run() throws IOException {
        Path file = inventory.directory.resolve(MetaPage.FILE_NAME);
        if (whole.isEmpty()) {
            throw new CorruptException(
                    file.toString(), 0, "no segment has a whole header, so the page cannot be rebuilt");
        }
        SegmentHeader common =
                most(whole.stream().map(each -> ring(each.header())).toList());
        List<Inventory.SegmentFile> own = whole.stream()
                .filter(each -> ring(each.header()).equals(common))
                .toList();
        int size = common.segmentSize();
        int capacity = common.capacity();
        if (size < MetaImage.PAGE
                || size % MetaImage.PAGE != 0
                || size > MetaImage.LARGEST_SEGMENT
                || capacity < 2
                || capacity > MetaImage.MOST_SEGMENTS) {
            throw new CorruptException(
                    own.get(0).path().toString(), 0, "a ring of " + capacity + " segments of " + size + " bytes");
        }
        long epoch = own.stream().mapToLong(each -> each.header().epoch()).max().orElse(1);
        long room = Math.min(RecordDescriptor.MAX_LENGTH, (capacity - 1L) * (size - SegmentHeader.LENGTH) - 23);
        boolean live = hasAtLeast(LIVE_WORDS);
        long createdAt = live ? Math.max(0, stored.fields().createdAtMicros()) : 0;
        MetaImage image = MetaImage.of(new MetaFields(
                2,
                capacity,
                size,
                common.queue().getMostSignificantBits(),
                common.queue().getLeastSignificantBits(),
                false,
                (int) room,
                createdAt,
                epoch));
        cursors(
                image,
                live,
                size,
                own.stream().mapToLong(each -> each.header().id()).max().orElse(0));
        return image;
    }

    // What all segments of a ring have in common.
    private static SegmentHeader ring(SegmentHeader header) {
        return new SegmentHeader(header.queue(), 0, 0, 0, 0, header.segmentSize(), header.capacity(), 0);
    }

    private static SegmentHeader most(List<SegmentHeader> rings) {
        Map<SegmentHeader, Integer> counts = new HashMap<>();
        rings.forEach(each -> counts.merge(each, 1, Integer::sum));
        return counts.entrySet().stream()
                .max(Map.Entry.comparingByValue())
                .orElseThrow()
                .getKey();
    }

    // Whether the damaged page has this many bytes.
    private boolean hasAtLeast(int length) {
        return stored != null && stored.fileLength() >= length;
    }

    // ---- cursors

    // Takes cursors as hints: the walk finds the log end, and moves consumers to the ends of records.
    private void cursors(MetaImage image, boolean live, int size, long highest) {
        for (Word word : Word.POSITIONS) {
            long position = -1;
            if (live) {
                position = stored.get(word);
            } else if (hasAtLeast(MetaImage.TABLE_LENGTH)) {
                position = stored.inTable(word, size);
            }
            boolean sound = position >= 0 && position % Long.BYTES == 0 && position <= (highest + 1) * size;
            image.put(word, sound ? position : 0, size);
        }
        if (live) {
            image.put(Word.GAPS_END, Math.max(0, stored.get(Word.GAPS_END)), size);
        }
    }
}
