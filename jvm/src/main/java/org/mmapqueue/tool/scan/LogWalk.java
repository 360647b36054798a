package org.mmapqueue.tool.scan;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;
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
    private final Resync resync;
    private final Progress progress;
    private final WalkResult found = new WalkResult();
    private final List<Probe> probes;
    private int nextProbe;

    private Slot slot;
    private int offset;
    private SegmentBase base = new SegmentBase(0, 0, 0);
    /** The offset of the next record. */
    private long next;

    /** The latest timestamp so far. */
    private long newest;

    private long knownEnd;
    private long begin;
    private boolean endIsLost;
    private boolean passedPad;

    /** Whether the last record's batch continues; and the state after the last complete batch: records of others count only then. */
    private boolean inBatch;

    private long batchEnd;
    private long batchNext;
    private long batchRecords;
    private long batchBytes;

    /** @param probes cursors to locate, in the order of their positions */
    public LogWalk(Slots slots, WalkRange range, List<Probe> probes, Progress progress) throws IOException {
        this.slots = slots;
        this.range = range;
        this.geometry = slots.geometry();
        this.scan = new RecordScan(slots, range.facts());
        this.resync = new Resync(slots, range, geometry, scan);
        this.probes = probes;
        this.progress = progress;
        this.knownEnd = range.end();
        this.begin = range.begin();
        this.endIsLost = range.isEndLost();
        this.slot = slots.get(range.firstId());
    }

    public WalkResult run() throws IOException {
        boolean more = !isEmpty();
        if (more) {
            enterFirst();
        }
        while (more) {
            more = step();
        }
        found.endNumber = next;
        found.newest = newest;
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
            locate(0);
        }
        return nothing;
    }

    // Cursors up to this position, at which a record begins, resume here.
    private void locate(long position) {
        while (nextProbe < probes.size() && probes.get(nextProbe).position <= position) {
            probes.get(nextProbe++).moveTo(position, next);
        }
    }

    // ---- one step

    private boolean step() throws IOException {
        if (position() == knownEnd && !continuesPastEnd()) {
            inBatch = false;
            return finish();
        }
        if (offset == geometry.segmentSize()) {
            return enterNext();
        }
        RecordScan.Kind kind = scan.look(slot, offset, base);
        if (kind.hasOffset() && scan.recordOffset != next) {
            kind = scan.unexpected(slot, offset, next);
        }
        if (!kind.isWhole()) {
            return fault(kind);
        }
        passedPad = kind == RecordScan.Kind.PAD;
        found.highestEpoch = Math.max(found.highestEpoch, passedPad ? scan.padEpoch : base.epoch());
        long end = geometry.position(scan.endId, scan.endOffset);
        if (end > knownEnd) {
            found.writing(
                    slot.path(),
                    "writing, " + knownEnd + ", inside of a record or pad that ends at " + end,
                    "a record's end");
            findTheEnd();
        }
        if (kind == RecordScan.Kind.RECORD) {
            found.records++;
            found.payloadBytes += scan.length;
            found.largest = Math.max(found.largest, scan.length);
            found.timestamps |= scan.timestamp != 0;
            newest = Math.max(newest, scan.timestamp);
            next++;
        } else if (kind == RecordScan.Kind.GAP) {
            next += scan.lost;
            found.gapsEnd = next;
        }
        inBatch = kind == RecordScan.Kind.RECORD && scan.batchContinues;
        moveTo(scan.endId, scan.endOffset);
        if (!inBatch) {
            completeBatch();
        }
        return true;
    }

    private void completeBatch() {
        inBatch = false;
        batchEnd = position();
        batchNext = next;
        batchRecords = found.records;
        batchBytes = found.payloadBytes;
    }

    // ---- the end

    private boolean isTheEnd() {
        return knownEnd == Long.MAX_VALUE && position() >= begin;
    }

    private boolean finish() {
        found.end = position();
        if (inBatch && !endIsLost) { // if it is lost, no open will cut the batch, and its offsets may have been read
            found.torn(slot.path(), offset, "the batch that begins at position " + batchEnd + " is not whole");
            found.end = batchEnd;
            next = batchNext;
            found.records = batchRecords;
            found.payloadBytes = batchBytes;
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
        } else if (!scan.look(slot, offset, base).hasOffset() || scan.recordOffset != next) {
            checkZeros();
            return false;
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
        checkLength();
        if (header == null) {
            beginWithoutHeader();
        } else {
            begin(SegmentBase.of(header), header.firstRecord() == 0 ? geometry.segmentSize() : header.firstRecord());
            next = header.baseOffset();
        }
        found.start = position();
        found.firstNumber = next;
        completeBatch();
        if (found.start > knownEnd) {
            found.writing(slot.path(), "writing at " + knownEnd + ", before the first record", "a record's end");
            findTheEnd();
        }
        locate(position());
    }

    private void begin(SegmentBase first, int at) {
        base = first;
        newest = first.time();
        offset = at;
    }

    // The number of records before the first readable one is unknown.
    private void beginWithoutHeader() throws IOException {
        Slot damaged = slot;
        Resync.LogPosition first = resync.first(damaged, knownEnd, begin);
        slot = slots.get(first.id());
        begin(first.base(), first.offset());
        // Without any known offset, the first one is chosen above all that can have been in use.
        long unused = (first.id() + 1) * (geometry.dataBytes() / Long.BYTES);
        next = first.number() >= 0 ? first.number() : unused;
        long most = ((first.id() - damaged.id()) * geometry.dataBytes() + offset - geometry.dataStart())
                / RecordDescriptor.SMALLEST;
        boolean isInside = slot.id() == damaged.id() && slot.rest() != null;
        // The field that is not damaged tells that no record precedes this one in its segment.
        boolean isFirst = most == 0
                || isInside
                        && (slot.rest().firstRecord() == offset || slot.rest().baseOffset() == next);
        if (isFirst || position() <= range.retainedFrom() || first.number() < 0) {
            found.corrupt(damaged.path(), damaged.fault());
        } else {
            found.lost(damaged.path(), damaged.fault(), Math.max(0, next - most), next, false);
        }
        if (slot.id() == damaged.id()) {
            rebuild(offset);
        }
    }

    private boolean enterNext() throws IOException {
        Slot entered = slots.get(slot.id() + 1);
        SegmentHeader header = entered.header();
        boolean follows = header != null && header.epoch() >= base.epoch();
        boolean mayFollow = endIsLost && entered.id() <= range.lastId();
        if (!follows && !mayFollow && isTheEnd()) {
            if (!entered.isEmpty() && header == null && slot.id() < range.lastId()) {
                found.torn(entered.path(), entered.fault().at(), entered.fault().toString());
            }
            return finish();
        }
        boolean unused =
                entered.isEmpty() && entered.bytes() != null && entered.bytes().getLong(geometry.dataStart()) == 0;
        if (unused && passedPad && isTheEnd()) {
            return finish();
        }
        if (!follows) {
            inBatch = false;
        }
        enter(entered.id(), geometry.dataStart());
        offset = geometry.dataStart();
        return true;
    }

    // Moves to the end of a record or a hole, past the segments that it spans.
    private void moveTo(long id, int to) throws IOException {
        while (slot.id() < id) {
            enter(slot.id() + 1, slot.id() + 1 < id || to == geometry.segmentSize() ? 0 : to);
        }
        offset = to;
        locate(position());
    }

    /** Checks the header of the next segment of the log, which must agree on the start of the first record. */
    private void enter(long id, int first) throws IOException {
        slot = slots.get(id);
        progress.at((id - range.firstId()) * geometry.segmentSize(), total());
        checkLength();
        SegmentHeader header = slot.header();
        if (header == null || header.epoch() < base.epoch()) {
            if (slot.bytes() != null) {
                Mismatch low = new Mismatch(
                        SegmentHeader.EPOCH_AT, "epoch " + slot.rest().epoch(), "at least " + base.epoch());
                found.corrupt(slot.path(), header == null ? slot.fault() : low);
                base = resync.lost(slot, first, new SegmentBase(base.epoch(), base.offset(), newest), next);
            }
            rebuild(first);
            return;
        }
        base = SegmentBase.of(header);
        newest = Math.max(newest, header.baseTime());
        if (header.firstRecord() != first) {
            contradiction(
                    SegmentHeader.FIRST_RECORD_AT,
                    "first record " + header.firstRecord(),
                    first + ", where the records lead");
        } else if (first != 0 && header.baseOffset() != next) {
            contradiction(
                    SegmentHeader.BASE_OFFSET_AT,
                    "base offset " + header.baseOffset(),
                    next + ", after the record before");
            next = header.baseOffset();
        }
    }

    private void contradiction(int at, String what, String expected) {
        found.corrupt(slot.path(), new Mismatch(at, what, expected));
        found.contradicts = true;
    }

    private void rebuild(int first) {
        int inside = first == geometry.segmentSize() ? 0 : first;
        found.headers.put(
                slot.id(),
                new SegmentHeader(
                        range.facts().uuid(),
                        slot.id(),
                        base.epoch(),
                        next,
                        newest != 0 ? newest : base.time(),
                        geometry.segmentSize(),
                        geometry.capacity(),
                        inside));
    }

    private void checkLength() {
        if (slot.header() != null && slot.fault() != null) {
            found.corrupt(slot.path(), slot.fault());
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
        lose(retained(to), file, what);
        completeBatch();
        if (position() <= before && !isTheEnd()) {
            throw new CorruptException(file.toString(), what.at(), what + "; no readable position follows");
        }
        return true;
    }

    // Where the log goes on: earlier, if the retained part of it begins with a pad, which is no record to look for.
    private Resync.LogPosition retained(Resync.LogPosition to) throws IOException {
        long from = range.retainedFrom();
        if (position() >= from || to.position(geometry) <= from) {
            return to;
        }
        int at = (int) (from - geometry.position(slot.id(), 0));
        boolean leads = slot.id() == geometry.segmentOf(from)
                && scan.look(slot, at, base) == RecordScan.Kind.PAD
                && geometry.position(scan.endId, scan.endOffset) == to.position(geometry);
        return leads ? new Resync.LogPosition(slot.id(), at, to.base(), to.number()) : to;
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

    // Notes that records up to another position are lost: up to the offset of the record there, or as many as there
    // can have been.
    private void lose(Resync.LogPosition to, Path file, Mismatch what) throws IOException {
        long most =
                new Hole(slot.id(), offset, to.id(), to.offset(), next, 0).bytes(geometry) / RecordDescriptor.SMALLEST;
        long number = to.number() >= 0 ? to.number() : next + most;
        Hole hole = new Hole(slot.id(), offset, to.id(), to.offset(), next, number - next);
        found.contradicts |= hole.lost() < 0 || hole.lost() > most;
        long end = hole.end(geometry);
        if (end > position()) {
            found.holes.add(hole);
        }
        if (end > range.retainedFrom()) {
            found.lost(file, what, next, number, to.number() >= 0);
        } else {
            found.wholeFrom = end;
            found.wholeNumber = number;
        }
        next = number;
        moveTo(to.id(), to.offset());
    }
}
