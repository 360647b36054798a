package org.mmapqueue.tool.scan;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.segment.SegmentHeader;

/**
 * Finds the base of a segment with a damaged header, from the segments around it and from the checksums of its records.
 * Not thread-safe.
 */
final class LostBase {
    /** The most records that are compared with a solution. */
    private static final int SAMPLES = 8;
    /** A span in which a false solution is unlikely, in µs: an hour. */
    private static final long SHORT = 3_600_000_000L;
    /** The latest base time that is tried, in µs since 1970: the year 2100. */
    private static final long LATEST = 4_102_444_800_000_000L;

    private final Slots slots;
    private final Geometry geometry;
    private final RecordScan scan;
    private final Map<Long, SegmentBase> found = new HashMap<>();
    private TimestampSolver solver;

    LostBase(Slots slots, RecordScan scan) {
        this.slots = slots;
        this.geometry = slots.geometry();
        this.scan = scan;
    }

    /** Whether records of the segment have confirmed its base. */
    boolean isKnown(long id) {
        return found.containsKey(id);
    }

    /**
     * Returns the base of a segment.
     *
     * @param damaged a segment with bytes and without a header
     * @param before the base of the segment before it, as far as it is known
     * @param expected the offset of the first record that starts in the segment; -1 for unknown
     */
    SegmentBase of(Slot damaged, SegmentBase before, long expected) throws IOException {
        SegmentBase known = found.get(damaged.id());
        if (known != null) {
            return known;
        }
        long epoch = epoch(damaged, before.epoch());
        List<Integer> chain = chain(damaged);
        List<Long> offsets = new ArrayList<>();
        SegmentHeader rest = rest(damaged);
        if (rest != null) {
            offsets.add(rest.baseOffset());
        }
        if (expected >= 0) {
            offsets.add(expected);
        }
        SegmentHeader next = next(damaged, epoch);
        if (next != null && !chain.isEmpty()) {
            offsets.add(next.baseOffset() - number(damaged, chain.get(chain.size() - 1)) - 1);
        }
        for (long offset : offsets) {
            SegmentBase base = offset < 0 ? null : fitting(damaged, chain, epoch, offset, before, next, rest);
            if (base != null) {
                found.put(damaged.id(), base);
                return base;
            }
        }
        return new SegmentBase(epoch, Math.max(0, expected), before.time());
    }

    // ---- epoch

    private long epoch(Slot damaged, long before) throws IOException {
        SegmentHeader next = next(damaged, before);
        // A record continues in the next segment: both are of one epoch.
        if (next != null && next.firstRecord() != geometry.dataStart()) {
            return next.epoch();
        }
        SegmentHeader rest = rest(damaged);
        boolean isPossible = rest != null && rest.epoch() >= before && (next == null || rest.epoch() <= next.epoch());
        return isPossible ? rest.epoch() : before;
    }

    private SegmentHeader next(Slot damaged, long epoch) throws IOException {
        SegmentHeader next = slots.get(damaged.id() + 1).header();
        return next != null && next.epoch() >= epoch ? next : null;
    }

    // What the damaged header says; null if it belongs to another segment.
    private static SegmentHeader rest(Slot damaged) throws IOException {
        ByteBuffer head = damaged.bytes().head(SegmentHeader.LENGTH);
        SegmentHeader rest = SegmentHeader.decode(head);
        return SegmentHeader.check(head) != null && rest.id() == damaged.id() && rest.epoch() >= 1 ? rest : null;
    }

    // ---- records

    // The longest chain of bytes that look like records with ascending numbers, up to the end of the segment; without
    // one, the longest chain of all.
    private List<Integer> chain(Slot damaged) throws IOException {
        List<Integer> longest = List.of();
        int at = geometry.dataStart();
        while (at < geometry.segmentSize()) {
            List<Integer> chain = new ArrayList<>();
            int to = follow(damaged, at, chain);
            boolean isThrough = to >= geometry.segmentSize();
            if (!chain.isEmpty() && (isThrough || chain.size() > longest.size())) {
                longest = chain;
                if (isThrough) {
                    break;
                }
            }
            at = Math.max(at + Long.BYTES, to);
        }
        return longest;
    }

    // Returns the byte at which the chain ends.
    private int follow(Slot in, int from, List<Integer> chain) throws IOException {
        int at = from;
        long expected = -1;
        while (at < geometry.segmentSize()) {
            long word = in.bytes().getLong(at);
            int header = RecordDescriptor.lengthAndFlags(word);
            if (RecordDescriptor.checksum(word) == 0 || (header & RecordDescriptor.RESERVED) != 0) {
                return at;
            }
            if ((header & RecordDescriptor.PAD) != 0) {
                return chain.isEmpty() ? at : geometry.segmentSize();
            }
            long number = number(in, at);
            if (expected >= 0 && number != expected || number > at / RecordDescriptor.SMALLEST) {
                return at;
            }
            chain.add(at);
            expected = number + 1;
            long end = (long) at + RecordDescriptor.HEADER + RecordDescriptor.bodyBytes(header);
            at = (int) Math.min(end, geometry.segmentSize());
        }
        return at;
    }

    private long number(Slot in, int at) throws IOException {
        int second = at + RecordDescriptor.HEADER;
        if (second < geometry.segmentSize()) {
            return RecordDescriptor.number(in.bytes().getLong(second));
        }
        Slot next = slots.get(in.id() + 1);
        return next.bytes() == null ? 0 : RecordDescriptor.number(next.bytes().getLong(geometry.dataStart()));
    }

    // ---- base time

    // The base with this offset that makes the most records of the chain whole; null if none is.
    private SegmentBase fitting(
            Slot damaged,
            List<Integer> chain,
            long epoch,
            long offset,
            SegmentBase before,
            SegmentHeader next,
            SegmentHeader rest)
            throws IOException {
        SegmentBase best = null;
        int most = 0;
        List<Long> times = new ArrayList<>(List.of(before.time()));
        if (rest != null) {
            times.add(rest.baseTime());
        }
        int stored = times.size();
        // For each damaged record some time makes the checksum right: one record proves a time only in a short span.
        boolean isShort = next != null && next.baseTime() - before.time() < SHORT;
        SegmentBase tried = new SegmentBase(epoch, offset, before.time());
        List<Integer> samples = chain.subList(Math.max(0, chain.size() - SAMPLES), chain.size());
        for (int at : samples.subList(0, Math.min(4, samples.size()))) {
            times.addAll(solutions(damaged, at, tried, next == null ? LATEST : next.baseTime()));
        }
        for (int i = 0; i < times.size(); i++) {
            SegmentBase base = new SegmentBase(epoch, offset, times.get(i));
            int whole = 0;
            for (int at : samples) {
                whole += scan.look(damaged, at, base).isWhole() ? 1 : 0;
            }
            if (whole > most && (whole > 1 || i < stored || isShort)) {
                most = whole;
                best = base;
            }
        }
        return best;
    }

    private List<Long> solutions(Slot damaged, int at, SegmentBase tried, long latest) throws IOException {
        List<Long> all = new ArrayList<>();
        int header = RecordDescriptor.lengthAndFlags(damaged.bytes().getLong(at));
        RecordScan.Kind kind = scan.look(damaged, at, tried);
        if ((header & RecordDescriptor.TIMESTAMPED) == 0 || kind != RecordScan.Kind.BAD || scan.storedChecksum == 0) {
            return all;
        }
        int difference = scan.storedChecksum ^ scan.foundChecksum;
        long stamp = scan.timestamp;
        if (solver == null) {
            solver = new TimestampSolver();
        }
        long after = stamp - tried.time();
        for (long high = tried.time() >> 32; high <= latest >> 32; high++) {
            long base = solver.solve(stamp, difference, (int) high) - after;
            if (base >= tried.time() && base <= latest && base % 1000 == 0) {
                all.add(base);
            }
        }
        return all;
    }
}
