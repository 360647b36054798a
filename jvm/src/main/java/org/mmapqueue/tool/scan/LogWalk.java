package org.mmapqueue.tool.scan;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentHeader;
import org.mmapqueue.tool.report.Progress;

/**
 * Reads a log from its first segment to its end, and checks each header and checksum. After a fault it continues at the
 * next intact record or segment header. For one use by one thread.
 */
public final class LogWalk {
    private final Slots slots;
    private final WalkRange range;
    private final Geometry geometry;
    private final RecordScan scan;
    private final Probes probes;
    private final Progress progress;
    private final Resync resync;
    private final LostBase lost;
    private final WalkResult found;
    private Numbering numbers;

    private Slot slot;
    private int offset;
    private SegmentBase base = new SegmentBase(0, 0, 0);
    /** The offset of the next record; {@link Resync#UNKNOWN} after damage. */
    private long next;

    private long newest;
    private long knownEnd;
    private long begin;
    private boolean endIsLost;
    private final Complete complete = new Complete();
    /** Records of the unfinished batch at the log end, which were counted before. */
    private long cut;

    private boolean passedPad;

    /** @param probes cursors to locate, in the order of their positions */
    public LogWalk(Slots slots, WalkRange range, List<Probe> probes, Progress progress) throws IOException {
        this.slots = slots;
        this.range = range;
        this.geometry = slots.geometry();
        this.found = new WalkResult(geometry, range.retainedFrom());
        this.scan = new RecordScan(slots, range.facts());
        this.lost = new LostBase(slots);
        this.resync = new Resync(slots, range, geometry, scan, lost);
        this.probes = new Probes(probes);
        this.progress = progress;
        this.knownEnd = range.end();
        this.begin = range.begin();
        this.endIsLost = range.isEndLost();
        this.slot = slots.get(range.firstId());
        this.numbers = new Numbering(0, geometry, found);
    }

    public WalkResult run() throws IOException {
        boolean more = !isEmpty();
        if (more) {
            enterFirst();
        }
        while (more) {
            more = step();
        }
        if (found.end == range.end() && range.endOffset() >= 0 && numbers.allows(range.endOffset())) {
            found.endNumber = numbers.anchor(range.endOffset());
        } else {
            found.endNumber = numbers.end(found.end, cut);
        }
        found.finish();
        probes.leave(found, geometry);
        progress.at(total(), total());
        return found;
    }

    private long total() {
        return (range.lastId() - range.firstId() + 1) * geometry.segmentSize();
    }

    private long position() {
        return geometry.position(slot.id(), offset == geometry.dataStart() ? 0 : offset);
    }

    // Whether the log is empty: nothing was ever pushed, or nothing that was pushed is durable and intact.
    private boolean isEmpty() {
        boolean nothing = range.firstId() == 0
                && slot.header() == null
                && (knownEnd == 0 || knownEnd == Long.MAX_VALUE && begin == 0);
        if (nothing && !slot.isEmpty()) {
            found.torn(slot.path(), slot.fault().at(), slot.fault().toString());
        }
        if (nothing) {
            probes.pass(0, numbers);
        }
        return nothing;
    }

    // ---- one step

    private boolean step() throws IOException {
        if (position() == knownEnd && !continuesPastEnd()) {
            complete.breakBatch();
            return finish();
        }
        if (offset == geometry.segmentSize()) {
            return enterNext();
        }
        RecordScan.Kind kind = scan.look(slot, offset, base);
        if (kind.isWhole() && kind != RecordScan.Kind.PAD && next >= 0 && scan.recordOffset != next) {
            kind = scan.unexpected(slot, offset, next);
        }
        if (!kind.isWhole()) {
            return fault(kind);
        }
        passedPad = kind == RecordScan.Kind.PAD;
        found.highestEpoch = Math.max(found.highestEpoch, passedPad ? scan.padEpoch : base.epoch());
        if (passedPad) {
            moveOn(slot.id(), scan.endOffset);
            complete.at(position(), found);
            if (position() > knownEnd) {
                found.writing(slot.path(), "writing inside of a pad, at " + knownEnd, "a record's end");
                findTheEnd();
            }
            return true;
        }
        return record(kind);
    }

    private boolean record(RecordScan.Kind kind) throws IOException {
        long endPosition = geometry.position(scan.endId, scan.endOffset);
        if (endPosition > knownEnd) {
            found.writing(
                    slot.path(),
                    "a record that begins before writing, " + knownEnd + ", and ends after it, at " + endPosition,
                    "a record's end");
            findTheEnd();
        }
        if (next < 0) {
            count(scan.recordOffset);
        }
        numbers.record();
        next = scan.recordOffset + 1;
        if (kind == RecordScan.Kind.RECORD) {
            found.records++;
            found.payloadBytes += scan.length;
            found.largest = Math.max(found.largest, scan.length);
            found.timestamps |= scan.timestamp != 0;
            newest = Math.max(newest, scan.timestamp);
        }
        boolean batchContinues = scan.batchContinues;
        moveOn(scan.endId, scan.endOffset);
        complete.record(position(), batchContinues, found);
        return true;
    }

    private boolean isTheEnd() {
        return knownEnd == Long.MAX_VALUE && position() >= begin;
    }

    private boolean finish() {
        if (endIsLost) { // no open will cut the batch, and its offsets may have been read
            complete.breakBatch();
        }
        found.end = complete.end(position());
        if (found.end != position()) {
            found.torn(slot.path(), offset, "the batch that begins at position " + found.end + " is not whole");
            cut = complete.cut(found);
        }
        return false;
    }

    private boolean continuesPastEnd() throws IOException {
        if (offset == geometry.segmentSize()) {
            Slot after = slots.get(slot.id() + 1);
            // A segment header proves nothing by itself: it is written before the first record is.
            if (after.header() == null
                    || after.header().epoch() < base.epoch()
                    || after.fault() != null
                    || !scan.look(after, geometry.dataStart(), SegmentBase.of(after.header()))
                            .isWhole()) {
                return false;
            }
        } else {
            RecordScan.Kind kind = scan.look(slot, offset, base);
            if (kind != RecordScan.Kind.RECORD || next >= 0 && scan.recordOffset != next) {
                checkZeros();
                return false;
            }
        }
        found.writing(
                slot.path(), "writing at " + knownEnd + ", and the log continues there", "the end of the last record");
        findTheEnd();
        return true;
    }

    private void checkZeros() throws IOException {
        int at = slot.firstNonZero(offset, geometry.segmentSize());
        if (at < geometry.segmentSize()) {
            String word = Mismatch.hex(slot.bytes().getLong(at));
            found.torn(slot.path(), at, word + " after the log end; the next open wipes it");
            found.residue = true;
        }
    }

    private void findTheEnd() {
        endIsLost = true;
        begin = knownEnd;
        knownEnd = Long.MAX_VALUE;
    }

    // ---- segments

    private void enterFirst() throws IOException {
        while (resync.isRestOnly(slot, knownEnd, begin)) {
            slot = slots.get(slot.id() + 1);
        }
        SegmentHeader header = slot.header();
        Mismatch fault = slot.fault();
        Resync.LogPosition first = null;
        length(slot);
        if (header != null) {
            numbers = new Numbering(header.baseOffset(), geometry, found);
            base(SegmentBase.of(header));
            next = header.baseOffset();
            newest = header.baseTime();
            offset = header.firstRecord() == 0 ? geometry.segmentSize() : header.firstRecord();
        } else {
            found.corrupt(slot.path(), slot.fault());
            first = resync.first(slot, knownEnd, begin);
            enterAt(first);
        }
        found.start = position();
        numbers.whenKnown(number -> found.firstNumber = number);
        complete.at(found.start, found);
        if (found.start > knownEnd) {
            found.writing(slot.path(), "writing at " + knownEnd + ", before the first record", "a record's end");
            findTheEnd();
        }
        probes.pass(position(), numbers);
        if (first != null && offset < first.offset()) {
            lose(first, slot.path(), fault);
            complete.at(position(), found);
            probes.pass(position(), numbers);
        }
    }

    // Begins at a position of a log whose first header is damaged.
    private void enterAt(Resync.LogPosition first) throws IOException {
        slot = slots.get(first.id());
        boolean isDamaged = slot.header() == null;
        next = isDamaged ? first.number() : slot.header().baseOffset();
        numbers = new Numbering(next, geometry, found);
        base(first.base());
        offset = first.offset();
        newest = first.base().time();
        if (isDamaged) {
            add(new RebuiltHeader(slot.id(), base.epoch(), offset, base.time()));
        }
    }

    private void base(SegmentBase of) {
        base = of;
        numbers.epoch(slot.id(), of.epoch());
    }

    private boolean enterNext() throws IOException {
        Slot entered = slots.get(slot.id() + 1);
        SegmentHeader header = entered.header();
        boolean follows = header != null && header.epoch() >= base.epoch();
        if (!follows && isTheEnd()) {
            if (!entered.isEmpty() && header == null && slot.id() < range.lastId()) {
                found.torn(entered.path(), entered.fault().at(), entered.fault().toString());
            }
            return finish();
        }
        boolean unused =
                entered.isEmpty() && entered.bytes() != null && entered.bytes().getLong(geometry.dataStart()) == 0;
        if (unused && passedPad && knownEnd == Long.MAX_VALUE) {
            return finish();
        }
        progress.at((entered.id() - range.firstId()) * geometry.segmentSize(), total());
        if (!follows) {
            complete.breakBatch();
        }
        slot = entered;
        offset = geometry.dataStart();
        enter(entered, geometry.dataStart());
        return true;
    }

    // Moves to the end of a record, past the segments that it spans.
    private void moveOn(long id, int endOffset) throws IOException {
        moveThrough(id, endOffset);
        probes.pass(position(), numbers);
    }

    /** Checks the header of the next segment of the log, which must agree on the start of the first record. */
    private void enter(Slot entered, int first) throws IOException {
        length(entered);
        SegmentHeader header = entered.header();
        if (header == null || header.epoch() < base.epoch()) {
            rebuild(entered, first);
            return;
        }
        base(SegmentBase.of(header));
        newest = Math.max(newest, header.baseTime());
        if (header.firstRecord() != first) {
            found.corrupt(
                    entered.path(),
                    new Mismatch(
                            SegmentHeader.FIRST_RECORD_AT,
                            "first record " + header.firstRecord(),
                            first + ", where the records lead"));
            found.contradicts = true;
        } else if (first != 0) {
            anchor(header);
        }
    }

    private void rebuild(Slot entered, int first) throws IOException {
        if (entered.bytes() != null) {
            Mismatch wrong = entered.header() == null
                    ? entered.fault()
                    : new Mismatch(
                            SegmentHeader.EPOCH_AT, "epoch " + entered.header().epoch(), "at least " + base.epoch());
            found.corrupt(entered.path(), wrong);
            base(lost.of(entered, new SegmentBase(base.epoch(), base.offset(), newest), next));
        }
        add(new RebuiltHeader(entered.id(), base.epoch(), first, Math.max(newest, base.time())));
    }

    private void add(RebuiltHeader header) {
        found.headers.add(header);
        numbers.whenKnown(number -> header.baseOffset = number);
    }

    private void anchor(SegmentHeader header) throws IOException {
        long counted = numbers.anchor(header.baseOffset());
        if (counted != header.baseOffset()) {
            found.corrupt(
                    slots.get(header.id()).path(),
                    new Mismatch(
                            SegmentHeader.BASE_OFFSET_AT,
                            "base index " + header.baseOffset(),
                            counted + ", by counting"));
            found.contradicts = true;
        }
        next = header.baseOffset();
    }

    private void length(Slot part) {
        if (part.header() != null && part.fault() != null) {
            found.corrupt(part.path(), part.fault());
        }
    }

    // ---- faults

    private boolean fault(RecordScan.Kind kind) throws IOException {
        Mismatch what = scan.fault;
        Path file = scan.faultFile;
        long before = position();
        Resync.LogPosition to = isTheEnd() ? pastEnd() : resync.after(slot.id(), offset, base, next, knownEnd, begin);
        if (to == null) {
            if (kind == RecordScan.Kind.BAD) {
                found.torn(file, what.at(), what.toString());
            }
            return finish();
        }
        hole(to, file, what);
        complete.at(position(), found);
        if (position() <= before && !isTheEnd()) {
            throw new CorruptException(file.toString(), what.at(), what + "; no readable position follows");
        }
        return true;
    }

    // The next readable position after a fault; null at the log end. If a stored log end is lost, a fault is the log
    // end only if all bytes after it are zero: no open will cut later records, and no other records must get their
    // offsets.
    private Resync.LogPosition pastEnd() throws IOException {
        if (!endIsLost) {
            return null;
        }
        Resync.LogPosition to = resync.after(slot.id(), offset, base, next, knownEnd, begin);
        if (to.position(geometry) <= position()) {
            to = resync.lastBytes(slot.id(), offset, base);
        }
        return to.position(geometry) <= position() ? null : to;
    }

    // Notes that records up to another position are lost. No record spans two epochs, so no hole does.
    private void hole(Resync.LogPosition to, Path file, Mismatch what) throws IOException {
        if (to.base().epoch() != base.epoch()) {
            long begins = resync.beginning(to, offset == geometry.dataStart() ? slot.id() - 1 : slot.id());
            lose(endBefore(begins), file, what);
            slot = slots.get(begins);
            base(new SegmentBase(to.base().epoch(), base.offset(), base.time()));
            offset = geometry.dataStart();
            enter(slot, offset);
        }
        lose(to, file, what);
        probes.pass(position(), numbers);
    }

    private Resync.LogPosition endBefore(long id) {
        return new Resync.LogPosition(id - 1, geometry.segmentSize(), base, Resync.UNKNOWN);
    }

    private void lose(Resync.LogPosition to, Path file, Mismatch what) throws IOException {
        if (geometry.position(slot.id(), offset) < geometry.position(to.id(), to.offset())) {
            boolean single = scan.leads(slot, offset, base, to.id(), to.offset(), newest);
            numbers.hole(new Hole(slot.id(), offset, to.id(), to.offset(), base.epoch(), single, file, what));
            next = Resync.UNKNOWN;
        }
        moveThrough(to.id(), to.offset());
        if (to.number() >= 0) {
            count(to.number());
        }
    }

    // Notes that the next record has this offset.
    private void count(long number) {
        if (next != number && numbers.anchor(number) != number) {
            found.contradicts = true;
        }
        next = number;
    }

    private void moveThrough(long toId, int to) throws IOException {
        while (slot.id() < toId) {
            slot = slots.get(slot.id() + 1);
            progress.at((slot.id() - range.firstId()) * geometry.segmentSize(), total());
            enter(slot, slot.id() < toId || to == geometry.segmentSize() ? 0 : to);
        }
        offset = to;
    }
}
