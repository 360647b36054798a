package org.mmapqueue.tool.verify;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ArchiveLink;
import org.mmapqueue.meta.ConsumerImage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.meta.MetaImage.Word;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.OverflowFile;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.tool.report.ConsumerState;
import org.mmapqueue.tool.report.Finding;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.scan.LogWalk;
import org.mmapqueue.tool.scan.Probe;
import org.mmapqueue.tool.scan.Slots;
import org.mmapqueue.tool.scan.WalkRange;
import org.mmapqueue.tool.scan.WalkResult;

/**
 * Everything that verify reports and that repair needs about a directory of version 2. Changes nothing. Not
 * thread-safe.
 */
public final class Survey implements Closeable {
    /** The maximum number of segment files that may be missing. */
    private static final int MOST_MISSING = 1024;

    public final Path directory;
    public final Inventory inventory;
    final List<Finding> findings = new ArrayList<>();
    /** The stored meta page, or the rebuilt one. */
    public final MetaImage meta;

    public final MetaFields facts;
    public final boolean rebuilt;
    public final Geometry geometry;
    /** Pages of consumers, by name. */
    public final Map<String, ConsumerImage> pages = new TreeMap<>();
    /** The offset of the first record that is not acked, of the consumers that read on in the archive. */
    private final Map<String, Long> behind = new TreeMap<>();
    /** Consumers with damaged pages, so that their positions may be wrong. */
    public final List<String> damagedPages = new ArrayList<>();
    /** Files of free slots that a writer could not use. */
    public final List<Path> useless = new ArrayList<>();

    public final List<String> uselessInFlight = new ArrayList<>();
    public final ProducerPages producers;
    /** Positions of consumers, by name. */
    public final Map<String, Probe> probes = new TreeMap<>();

    final Probe watermark;
    /** The log start without a consumer, which is the position of the last deleted one; null if it retains nothing. */
    public final Probe heldFrom;

    public final Slots slots;
    public final WalkResult walk;

    private final boolean clean;
    private final boolean isSameBoot;
    final boolean endIsKnown;

    public Survey(Storage storage, Path directory, Progress progress) throws IOException {
        this.directory = directory;
        this.inventory = new Inventory(storage, directory);
        Path metaFile = directory.resolve(MetaPage.FILE_NAME);
        MetaImage stored = MetaImage.readIfThere(storage, directory);
        if (stored != null && stored.isOfRc1()) { // not damaged: nothing may be rebuilt
            throw new CorruptException(
                    metaFile.toString(), stored.check().at(), stored.check().toString());
        }
        Mismatch fault = stored == null ? new Mismatch(0, "no file", "the meta page") : stored.check();
        if (fault == null && inventory.isForeign(stored.fields().uuid())) {
            fault = new Mismatch(
                    96, "the meta page of queue " + stored.fields().uuid(), "that of the queue of these segments");
            stored = null;
        }
        rebuilt = fault != null;
        if (rebuilt) {
            corrupt(metaFile, fault.at(), fault.toString());
            meta = new MetaRebuild(inventory, stored).run();
        } else {
            meta = stored;
        }
        facts = meta.fields();
        geometry = new Geometry(Format.V2, facts.segmentSize(), facts.capacity());
        clean = meta.clean() && !rebuilt;
        isSameBoot = !rebuilt && Storage.isSame(meta.get(Word.BOOT), storage.boot());
        readPages(storage);
        producers = new ProducerPages(storage, this);
        endIsKnown = clean && isSound(writing()) && isMirrored(Word.WRITING);
        watermark = new Probe(meta.get(Word.WATERMARK));
        long held = meta.get(Word.HELD_FROM);
        heldFrom = probes.isEmpty() && held > reclaimed() ? new Probe(held) : null;
        CursorCheck cursors = new CursorCheck(this, metaFile);
        cursors.checkOrder();
        slots = new Slots(storage, directory, geometry, facts.uuid());
        try {
            walk = new LogWalk(slots, range(), sorted(), progress).run();
        } catch (IOException | RuntimeException | Error e) {
            slots.close();
            throw e;
        }
        findings.addAll(walk.findings);
        cursors.checkPositions();
        new InFlightCheck(storage, this).run();
        checkLink(storage);
        new Orphans(this).run();
    }

    private void checkLink(Storage storage) throws IOException {
        Path file = directory.resolve(ArchiveLink.FILE_NAME);
        try {
            Optional<ArchiveLink> link = ArchiveLink.read(storage, directory);
            if (link.isPresent() && !link.get().queue().equals(facts.uuid())) {
                corrupt(file, 8, "the file of queue " + link.get().queue());
                useless.add(file);
            }
        } catch (CorruptException e) {
            corrupt(file, e.position(), e.detail());
            useless.add(file);
        }
    }

    long writing() {
        return meta.get(Word.WRITING);
    }

    /** Whether a consumer reads on in the archive, up to its position. */
    public boolean isBehind(String consumer) {
        return behind.containsKey(consumer);
    }

    /** Whether the next open has nothing to recover. */
    public boolean isClean() {
        return clean;
    }

    void corrupt(Path file, long at, String detail) {
        findings.add(Finding.of(Finding.Kind.CORRUPT, file, at, detail));
    }

    void orphaned(Path file, long at, String detail) {
        findings.add(Finding.of(Finding.Kind.ORPHANED, file, at, detail));
    }

    private boolean isSound(long position) {
        return position >= 0 && position % Long.BYTES == 0;
    }

    /** The reclaimed position; 0 if the stored one is impossible. */
    long reclaimed() {
        return isReclaimedSound() ? meta.get(Word.RECLAIMED) : 0;
    }

    // Whether the reclaimed position is possible. Writing may trail the published records by one.
    boolean isReclaimedSound() {
        long reclaimed = meta.get(Word.RECLAIMED);
        return reclaimed >= 0
                && reclaimed % facts.segmentSize() == 0
                && (rebuilt || reclaimed - facts.segmentSize() <= writing());
    }

    boolean isMirrored(Word word) {
        return meta.inTable(word, facts.segmentSize()) == meta.get(word);
    }

    // ---- consumers

    private void readPages(Storage storage) throws IOException {
        boolean overflows = Files.exists(directory.resolve(OverflowFile.NAME));
        for (String name : inventory.consumers) {
            Path file = inventory.page(name);
            ConsumerImage page = ConsumerImage.read(storage, file);
            Mismatch fault = page.check();
            if (fault == null) {
                fault = page.check(facts);
            }
            if (fault != null) {
                corrupt(file, fault.at(), fault.toString());
                damagedPages.add(name);
            } else if (page.isDeleted()) {
                orphaned(file, ConsumerImage.Word.COMMITTED.at(), "a consumer that was deleted");
                continue;
            }
            pages.put(name, page);
            if (overflows && fault == null && page.isDropped()) {
                behind.put(name, page.unackedOffset());
            }
            probes.put(
                    name,
                    new Probe(Math.max(page.get(ConsumerImage.Word.COMMITTED), page.get(ConsumerImage.Word.DROPPED))));
        }
    }

    // ---- the range of the walk

    private WalkRange range() throws IOException {
        long size = facts.segmentSize();
        long highest = ids().max().orElse(-1);
        long last = highest;
        long begin = Math.max(0, highest) * size;
        if (!rebuilt) {
            long writingId = geometry.segmentOfEnd(Math.max(0, writing()));
            boolean isNear = highest < 0 || Math.abs(writingId - highest) <= facts.capacity();
            if (endIsKnown || isSound(writing()) && isNear) {
                last = endIsKnown ? writingId : Math.max(highest, writingId);
            }
            if (!clean) {
                long flushed = watermark.position;
                begin = isSound(flushed) && flushed <= (last + 1) * size ? flushed : begin;
                long oldest = lowWatermark();
                begin = oldest <= (last + 1) * size ? Math.max(begin, oldest) : begin;
                if (isSameBoot && isSound(writing()) && writing() <= (last + 1) * size) {
                    begin = Math.max(begin, writing()); // no loss of power: all that was pushed is there
                }
            }
        }
        while (last >= 0 && (rebuilt || clean && !endIsKnown) && mayContinue(last + 1)) {
            last++;
        }
        last = Math.max(0, last);
        return new WalkRange(
                facts,
                firstId(last),
                last,
                rebuilt ? 0 : Math.min(intact(), lowWatermark()),
                begin,
                endIsKnown ? writing() : Long.MAX_VALUE,
                endIsKnown ? meta.closedAt() : -1,
                !endIsKnown && (rebuilt || clean));
    }

    // Whether a segment with a damaged header may be the next one of the log.
    private boolean mayContinue(long id) throws IOException {
        Inventory.SegmentFile file = inventory.segments.get(geometry.slotOf(id));
        return file != null
                && file.header() == null
                && slots.get(id).firstNonZero(0, facts.segmentSize()) < facts.segmentSize();
    }

    // The ids of the segments that may be part of the log. An id with positions beyond 64 bits is damage.
    private LongStream ids() {
        return inventory.segments.values().stream()
                .filter(each -> each.header() != null
                        && each.header().queue().equals(facts.uuid())
                        && each.slot() == each.header().id() % facts.capacity())
                .mapToLong(each -> each.header().id())
                .filter(each -> each >= 0 && each < Long.MAX_VALUE / facts.segmentSize() - facts.capacity());
    }

    private long lowestPosition() {
        return probes.entrySet().stream()
                .filter(each -> !damagedPages.contains(each.getKey()))
                .mapToLong(each -> each.getValue().position)
                .filter(each -> each >= 0)
                .min()
                .orElse(Math.max(meta.get(Word.HELD_FROM), reclaimed()));
    }

    // As in recovery: a consumer before the reclaimed position was being created or moved back, and does not count.
    long lowWatermark() {
        return Math.max(lowestPosition(), reclaimed());
    }

    // Nothing before this position is retained; 0 if the stored one is impossible.
    private long intact() {
        long intact = meta.get(Word.INTACT);
        return isSound(intact) && intact <= writing() ? intact : 0;
    }

    // The first segment that is known to be durable.
    private long firstIntact() {
        long size = facts.segmentSize();
        return (intact() + size - 1) / size;
    }

    // As at an open to write: after a loss of power, the stored reclaimed position may be too low.
    private long firstId(long last) throws IOException {
        long needed = Math.min(last, geometry.segmentOf(lowestPosition()));
        long reclaimed = rebuilt ? 0 : Math.max(geometry.segmentOf(reclaimed()), firstIntact());
        long oldest = Math.max(0, last - facts.capacity() + 1);
        long first = Math.max(Math.min(reclaimed, needed), Math.min(oldest, needed));
        long most = rebuilt ? last : Math.min(Math.max(reclaimed, needed), last);
        first = Math.max(first, oldest);
        if (last - first > inventory.segments.size() + MOST_MISSING) {
            // This many files are never missing: the cursors are wrong.
            first = Math.max(first, ids().min().orElse(0));
            first = Math.max(first, last - inventory.segments.size() - MOST_MISSING);
        }
        while (first < most && !isThere(first) && !isDamaged(first)) {
            first++;
        }
        return first;
    }

    // Whether this segment of the log has lost its header, and perhaps no record. After a loss of power, one that no
    // consumer needs may have been reclaimed. Without a meta page the records decide.
    private boolean isDamaged(long id) throws IOException {
        boolean isKept = clean || id >= geometry.segmentOf(lowestPosition());
        return mayContinue(id) && (rebuilt || isKept && geometry.position(id, 0) < watermark.position);
    }

    private boolean isThere(long id) {
        Inventory.SegmentFile file = inventory.segments.get(geometry.slotOf(id));
        return file != null
                && file.header() != null
                && file.header().id() == id
                && file.header().queue().equals(facts.uuid());
    }

    private List<Probe> sorted() {
        List<Probe> all = new ArrayList<>(probes.values());
        all.add(watermark);
        if (heldFrom != null) {
            all.add(heldFrom);
        }
        all.sort(Comparator.comparingLong(each -> each.position));
        return all;
    }

    /** The corrected recovery point. */
    public long watermark() {
        return watermark.isFound() ? Math.min(watermark.resumePosition, walk.end) : walk.end;
    }

    public VerifyReport report() {
        List<ConsumerState> consumers = new ArrayList<>();
        probes.forEach((name, probe) -> consumers.add(new ConsumerState(
                name, probe.position, probe.resumePosition, behind.getOrDefault(name, probe.resumeOffset))));
        long lastId = geometry.segmentOfEnd(walk.end);
        long segments = walk.end == 0 ? 0 : lastId - geometry.segmentOf(walk.start) + 1;
        return new VerifyReport(
                directory.toString(),
                2,
                clean,
                walk.records,
                walk.payloadBytes,
                walk.firstNumber,
                walk.endNumber,
                Math.max(0, segments),
                List.copyOf(consumers),
                List.copyOf(findings));
    }

    @Override
    public void close() throws IOException {
        slots.close();
    }
}
