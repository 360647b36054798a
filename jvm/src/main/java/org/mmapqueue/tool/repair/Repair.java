package org.mmapqueue.tool.repair;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ConsumerImage;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.MetaFields;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.meta.MetaImage.Word;
import org.mmapqueue.meta.OverflowFile;
import org.mmapqueue.recovery.IncompleteCopy;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentHeader;
import org.mmapqueue.tool.scan.Hole;
import org.mmapqueue.tool.scan.Probe;
import org.mmapqueue.tool.scan.WalkResult;
import org.mmapqueue.tool.verify.Survey;

/** One repair: derives changes of a directory from a survey. For one use. */
final class Repair {
    private static final int DEFAULT_MAX_EVENT = 1 << 20;

    private final Storage storage;
    private final Survey survey;
    private final Path target;
    private final Geometry geometry;
    private final WalkResult walk;
    private final RingCopy files;
    private final Gaps gaps;
    final List<String> actions = new ArrayList<>();

    Repair(Storage storage, Survey survey, Path target) {
        this.storage = storage;
        this.survey = survey;
        this.target = target;
        this.geometry = survey.geometry;
        this.walk = survey.walk;
        this.files = new RingCopy(storage);
        this.gaps = new Gaps(survey, Gaps.LARGEST_BODY);
    }

    /** Computes the gaps; throws if the queue cannot be repaired. Changes nothing. */
    void plan() throws IOException {
        if (walk.contradicts) {
            throw new MmapQueueException("the queue in " + survey.directory + " cannot be repaired: two headers"
                    + " with valid checksums contradict each other on the offset of a record; verify reports them");
        }
        for (Hole hole : walk.holes) {
            gaps.fill(hole);
        }
    }

    /** Copies the files that are part of the queue. */
    void copy() throws IOException {
        storage.createDirectories(target.resolve(ConsumerPage.DIRECTORY));
        IncompleteCopy.begin(storage, target);
        for (long id = firstId(); id <= lastId(); id++) {
            Path from = survey.directory.resolve(geometry.fileName(id));
            if (Files.exists(from)) {
                files.copy(from, target.resolve(geometry.fileName(id)), geometry.segmentSize());
            }
        }
        for (String name : survey.inventory.inFlight) {
            Path from = survey.inventory.inFlight(name);
            files.copy(from, inTarget(from), Files.size(from));
        }
        survey.producers.copyTo(target);
        try {
            OverflowFile.copy(storage, survey.directory, target);
        } catch (CorruptException e) {
            actions.add("left out where the queue overflows to: " + e.getMessage());
        }
        actions.add("copied segments " + firstId() + " to " + lastId());
    }

    private Path inTarget(Path file) {
        return target.resolve(survey.directory.relativize(file));
    }

    // The first segment to copy: the last one when no record is left, as it has the offset of the next record.
    private long firstId() {
        return Math.max(0, Math.min(geometry.segmentOf(walk.start), lastId()));
    }

    private long lastId() {
        return geometry.segmentOfEnd(walk.end);
    }

    /** Changes the target. The meta page is written last: an interrupted repair leaves a damaged queue. */
    void apply() throws IOException {
        for (long id = firstId(); id <= lastId(); id++) {
            files.fit(target.resolve(geometry.fileName(id)), geometry.segmentSize());
        }
        for (Map.Entry<Long, Map<Integer, Long>> each : gaps.words.entrySet()) {
            files.storeWords(target.resolve(geometry.fileName(each.getKey())), each.getValue());
        }
        for (SegmentHeader header : gaps.headers.values()) {
            if (header.id() <= lastId()) {
                files.store(target.resolve(geometry.fileName(header.id())), 0, header.encode());
                actions.add("rebuilt the header of segment " + header.id() + ": base offset " + header.baseOffset()
                        + ", epoch " + header.epoch());
            }
        }
        if (walk.residue) {
            int offset = geometry.byteOfEnd(walk.end);
            Path last = target.resolve(geometry.fileName(lastId()));
            files.store(last, offset, ByteBuffer.allocate(geometry.segmentSize() - offset));
            actions.add("wiped the bytes after the log end, in segment " + lastId());
        }
        for (Path each : survey.useless) {
            if (storage.delete(inTarget(each))) {
                actions.add("deleted " + each + ", of a free slot");
            }
        }
        for (Path each : survey.producers.damaged()) {
            storage.delete(inTarget(each));
            actions.add("left out " + each + ", which is damaged: a batch that its producer repeats is stored again");
        }
        consumers();
        IncompleteCopy.end(storage, target);
        meta();
        storage.syncDirectory(target);
    }

    // ---- cursors

    private void consumers() throws IOException {
        for (Map.Entry<String, ConsumerImage> each : survey.pages.entrySet()) {
            String name = each.getKey();
            ConsumerImage page = each.getValue();
            boolean damaged = survey.damagedPages.contains(name);
            long position = resumePosition(name, damaged);
            if (damaged || position != survey.probes.get(name).position) {
                boolean isBehind = survey.isBehind(name) && position > 0; // it still needs what only the archive has
                page.put(ConsumerImage.Word.COMMITTED, isBehind ? 0 : position);
                page.put(ConsumerImage.Word.READING, position);
                page.put(ConsumerImage.Word.DROPPED, isBehind ? position : 0);
                if (!isBehind) {
                    page.put(ConsumerImage.Word.UNACKED_OFFSET, 0);
                }
                moved(name, position, isBehind);
            }
            page.put(ConsumerImage.Word.DROPPED, Math.max(0, page.get(ConsumerImage.Word.DROPPED)));
            page.belongTo(survey.facts);
            page.write(storage, inTarget(survey.inventory.page(name)));
        }
        for (String name : survey.uselessInFlight) {
            storage.delete(inTarget(survey.inventory.inFlight(name)));
            actions.add("deleted the file of records in flight of consumer " + name + ": they are redelivered");
        }
    }

    // A consumer with a position outside the log resumes at the oldest record, so that it skips none.
    private long resumePosition(String name, boolean damaged) {
        Probe probe = survey.probes.get(name);
        boolean lost = damaged && (probe.resumePosition != probe.position || probe.position == 0);
        boolean outside = probe.position < 0 || probe.position > walk.end && survey.isClean();
        return lost || outside ? walk.start : probe.resumePosition;
    }

    private void moved(String name, long position, boolean isBehind) {
        long number = position == walk.start ? walk.firstNumber : survey.probes.get(name).resumeOffset;
        actions.add("consumer " + name + " continues " + (isBehind ? "in the archive, and in the ring " : "")
                + "at offset " + number + " (position " + position + ")");
    }

    private void meta() throws IOException {
        MetaImage meta = survey.meta;
        int size = geometry.segmentSize();
        if (survey.rebuilt) {
            MetaFields facts = survey.facts;
            int maxEvent = Math.max(Math.max(1, walk.largest), Math.min(DEFAULT_MAX_EVENT, facts.maxEventSize()));
            meta.fields(facts.withSettings(walk.timestamps, maxEvent)
                    .withEpoch(Math.max(facts.epoch(), walk.highestEpoch)));
            actions.add("rebuilt the meta page: capacity " + facts.capacity() + ", segments of " + size
                    + " bytes, max_event_size " + maxEvent + ", timestamps " + walk.timestamps);
        }
        long writing = meta.get(Word.WRITING);
        if (survey.rebuilt || survey.isClean()) {
            meta.put(Word.WRITING, walk.end, size);
            meta.put(Word.WATERMARK, walk.end, size);
        } else {
            long watermark = survey.watermark();
            meta.put(Word.WATERMARK, watermark, size);
            boolean sound = writing <= (lastId() + 1) * size;
            meta.put(Word.WRITING, Math.max(sound ? writing : 0, Math.max(watermark, walk.end)), size);
        }
        meta.clean(survey.isClean());
        if (survey.isClean()) {
            meta.closedAt(walk.endNumber, walk.newest);
        }
        heldFrom(meta);
        meta.put(Word.GAPS_END, gaps.end, size);
        long reclaimed = geometry.position(firstId(), 0);
        meta.put(Word.RECLAIMED, reclaimed, size);
        meta.put(Word.RECLAIMING, reclaimed, size);
        meta.put(Word.INTACT, reclaimed, size); // All records were verified.
        meta.write(storage, target);
    }

    // Sets the log start for the time without a consumer; 0 for the present log start.
    private void heldFrom(MetaImage meta) {
        long stored = meta.get(Word.HELD_FROM);
        long held = stored < 0 || stored > walk.end ? 0 : stored;
        if (survey.heldFrom != null && survey.heldFrom.isFound()) {
            held = survey.heldFrom.resumePosition;
        }
        if (survey.probes.isEmpty()) {
            held = Math.max(held, walk.start);
        }
        if (held != stored) {
            meta.put(Word.HELD_FROM, held, geometry.segmentSize());
            actions.add("without a consumer, the log is retained from position " + held + " on");
        }
    }
}
