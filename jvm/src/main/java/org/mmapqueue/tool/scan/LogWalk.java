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
    private static final int BASE_INDEX = 40;
    private static final int FIRST_RECORD = 56;

    private final Slots slots;
    private final WalkRange range;
    private final Geometry geometry;
    private final RecordScan scan;
    private final Probes probes;
    private final Progress progress;
    private final Resync resync;
    private final WalkResult found;
    private Numbering numbers;

    private Slot slot;
    private int offset;
    private long epoch;
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
        this.resync = new Resync(slots, range, geometry, scan);
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
        RecordScan.Kind kind = scan.look(slot, offset, epoch);
        if (!kind.isWhole()) {
            return fault(kind);
        }
        passedPad = kind == RecordScan.Kind.PAD;
        found.highestEpoch = Math.max(found.highestEpoch, passedPad ? scan.padEpoch : epoch);
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
        numbers.record();
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
            Slot next = slots.get(slot.id() + 1);
            // A segment header proves nothing by itself: it is written before the first record is.
            if (next.header() == null
                    || next.header().epoch() < epoch
                    || next.fault() != null
                    || !scan.look(next, geometry.dataStart(), next.header().epoch())
                            .isWhole()) {
                return false;
            }
        } else {
            RecordScan.Kind kind = scan.look(slot, offset, epoch);
            if (kind != RecordScan.Kind.RECORD) {
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
        length(slot);
        numbers = new Numbering(header != null ? header.baseIndex() : slot.id() == 0 ? 0 : -1, geometry, found);
        if (header != null) {
            epoch(header.epoch());
            newest = header.baseTimestamp();
            offset = header.firstRecord() == 0 ? geometry.segmentSize() : header.firstRecord();
        } else {
            found.corrupt(slot.path(), slot.fault());
            Resync.LogPosition next = resync.first(slot, knownEnd, begin);
            slot = slots.get(next.id());
            epoch(next.epoch());
            offset = next.offset();
            if (slot.header() == null) {
                add(new RebuiltHeader(slot.id(), epoch, offset, 0));
            } else {
                anchor(slot.header());
            }
        }
        found.start = position();
        numbers.whenKnown(number -> found.firstNumber = number);
        complete.at(found.start, found);
        if (found.start > knownEnd) {
            found.writing(slot.path(), "writing at " + knownEnd + ", before the first record", "a record's end");
            findTheEnd();
        }
        probes.pass(position(), numbers);
    }

    private void epoch(long next) {
        epoch = next;
        numbers.epoch(slot.id(), next);
    }

    private boolean enterNext() throws IOException {
        Slot next = slots.get(slot.id() + 1);
        SegmentHeader header = next.header();
        boolean follows = header != null && header.epoch() >= epoch;
        if (!follows && isTheEnd()) {
            if (!next.isEmpty() && header == null && slot.id() < range.lastId()) {
                found.torn(next.path(), next.fault().at(), next.fault().toString());
            }
            return finish();
        }
        boolean unused = next.isEmpty() && next.bytes() != null && next.bytes().getLong(geometry.dataStart()) == 0;
        if (unused && passedPad && knownEnd == Long.MAX_VALUE) {
            return finish();
        }
        progress.at((next.id() - range.firstId()) * geometry.segmentSize(), total());
        if (!follows) {
            complete.breakBatch();
        }
        slot = next;
        if (follows) {
            epoch(header.epoch());
            newest = Math.max(newest, header.baseTimestamp());
        } else if (next.bytes() != null) {
            epoch(resync.epochOf(next, epoch));
        }
        offset = geometry.dataStart();
        enter(next, geometry.dataStart());
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
        if (header == null || header.epoch() < epoch) {
            rebuild(entered, first);
            return;
        }
        if (header.firstRecord() != first) {
            found.corrupt(
                    entered.path(),
                    new Mismatch(
                            FIRST_RECORD, "first record " + header.firstRecord(), first + ", where the records lead"));
            found.contradicts = true;
        } else if (first != 0) {
            anchor(header);
        }
    }

    private void rebuild(Slot entered, int first) {
        if (entered.bytes() != null) {
            Mismatch wrong = entered.header() == null
                    ? entered.fault()
                    : new Mismatch(32, "epoch " + entered.header().epoch(), "at least " + epoch);
            found.corrupt(entered.path(), wrong);
        }
        add(new RebuiltHeader(entered.id(), epoch, first, newest));
    }

    private void add(RebuiltHeader header) {
        found.headers.add(header);
        numbers.whenKnown(number -> header.baseIndex = number);
    }

    private void anchor(SegmentHeader header) throws IOException {
        long counted = numbers.anchor(header.baseIndex());
        if (counted != header.baseIndex()) {
            found.corrupt(
                    slots.get(header.id()).path(),
                    new Mismatch(BASE_INDEX, "base index " + header.baseIndex(), counted + ", by counting"));
            found.contradicts = true;
        }
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
        Resync.LogPosition next = isTheEnd() ? pastEnd() : resync.after(slot.id(), offset, epoch, knownEnd, begin);
        if (next == null) {
            if (kind == RecordScan.Kind.BAD) {
                found.torn(file, what.at(), what.toString());
            }
            return finish();
        }
        hole(next, file, what);
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
        Resync.LogPosition next = resync.after(slot.id(), offset, epoch, knownEnd, begin);
        if (next.position(geometry) <= position()) {
            next = resync.lastBytes(slot.id(), offset, epoch);
        }
        return next.position(geometry) <= position() ? null : next;
    }

    // Notes that records up to the next position are lost. No record spans two epochs, so no hole does.
    private void hole(Resync.LogPosition next, Path file, Mismatch what) throws IOException {
        if (next.epoch() != epoch) {
            long begins = resync.beginning(next, offset == geometry.dataStart() ? slot.id() - 1 : slot.id());
            lose(begins - 1, geometry.segmentSize(), file, what);
            slot = slots.get(begins);
            epoch(next.epoch());
            offset = geometry.dataStart();
            enter(slot, offset);
        }
        lose(next.id(), next.offset(), file, what);
        probes.pass(position(), numbers);
    }

    private void lose(long toId, int to, Path file, Mismatch what) throws IOException {
        if (geometry.position(slot.id(), offset) < geometry.position(toId, to)) {
            boolean single = scan.leads(slot, offset, toId, to, newest);
            numbers.hole(new Hole(slot.id(), offset, toId, to, epoch, single, file, what));
        }
        moveThrough(toId, to);
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
