package org.mmapqueue.tool.scan;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.tool.report.Finding;

/** The result of a walk along the log. Not thread-safe. */
public final class WalkResult {
    public final List<Finding> findings = new ArrayList<>();
    /** The holes that a repair fills, in log order. */
    public final List<Hole> holes = new ArrayList<>();

    private final Geometry geometry;
    private final long retainedFrom;
    private final List<Finding> losses = new ArrayList<>();
    private long givenUpRecords;
    private long givenUpBytes;
    /** The hole after which the log starts; null if the log starts before all holes. */
    private Hole lastBefore;

    private long startNumber;
    /** The rebuilt headers of segments. */
    public final List<RebuiltHeader> headers = new ArrayList<>();
    /** Number of intact records with a known offset, and the bytes of their payloads. */
    public long records;

    public long payloadBytes;
    /** Bytes of the longest payload; and whether any record has a timestamp. */
    public int largest;

    public boolean timestamps;
    /** The highest epoch of a segment or a pad. */
    public long highestEpoch;
    /** The log start: position and offset. */
    public long start;

    public long firstNumber;
    /** The end of the last hole in what is not retained, and the offset of the record there; 0 without such a hole. */
    long wholeFrom;

    long wholeNumber;
    /** The log end: position and offset. */
    public long end;

    public long endNumber;
    /** Whether bytes after the log end are not zero. */
    public boolean residue;
    /** Whether two intact headers contradict each other on the offset of a record. */
    public boolean contradicts;

    /** @param retainedFrom see {@link WalkRange#retainedFrom} */
    WalkResult(Geometry geometry, long retainedFrom) {
        this.geometry = geometry;
        this.retainedFrom = retainedFrom;
    }

    void corrupt(Path file, Mismatch what) {
        findings.add(Finding.of(Finding.Kind.CORRUPT, file, what.at(), what.toString()));
    }

    /** Notes an unclean shutdown. */
    void torn(Path file, long at, String detail) {
        findings.add(Finding.of(Finding.Kind.TORN, file, at, detail));
    }

    /** Counts intact records as lost, because their offsets are unknown. */
    void giveUp(long wholeRecords, long bytes) {
        givenUpRecords += wholeRecords;
        givenUpBytes += bytes;
    }

    /**
     * Notes lost records from a hole on, unless the hole is before what is retained; {@code whole} of them are intact,
     * but have an unknown offset.
     */
    void lost(Hole at, long first, long count, boolean exact, long whole) {
        long end = at.toPosition(geometry);
        if (end <= retainedFrom) {
            wholeFrom = end;
            wholeNumber = first + count;
            return;
        }
        losses.add(new Finding(
                Finding.Kind.CORRUPT,
                at.file.toString(),
                at.fault.at(),
                at.fault + givenUp(whole),
                first,
                first + count - 1,
                exact));
    }

    private static String givenUp(long whole) {
        return whole == 0 ? "" : "; " + whole + " whole records among the lost ones: their offsets are unknown";
    }

    /**
     * Notes that the log starts after a hole, because the offsets of all records before the hole's end are unknown.
     *
     * @param first the first hole
     * @param last the hole after which the log starts
     * @param number the offset of the record after that hole
     * @param most upper bound of the number of lost records
     * @param whole the number of intact records among them
     * @param bytes payload bytes of those intact records
     */
    void beginsAfter(Hole first, Hole last, long number, long most, long whole, long bytes) {
        giveUp(whole, bytes);
        lastBefore = last;
        startNumber = number;
        lost(first, number - most, most, false, whole);
    }

    /** Completes the result at the end of the walk. */
    void finish() {
        records -= givenUpRecords;
        payloadBytes -= givenUpBytes;
        findings.addAll(losses);
        if (lastBefore == null) {
            return;
        }
        start = lastBefore.toPosition(geometry);
        firstNumber = startNumber;
        long id = start == end ? geometry.segmentOfEnd(end) : geometry.segmentOf(start);
        headers.removeIf(each -> each.id < id);
    }

    /** Notes that the stored writing position contradicts the records. */
    void writing(Path segment, String found, String expected) {
        int at = MetaImage.Word.WRITING.at();
        corrupt(segment.resolveSibling(MetaPage.FILE_NAME), new Mismatch(at, found, expected));
    }
}
