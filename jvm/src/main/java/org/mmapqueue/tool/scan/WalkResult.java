package org.mmapqueue.tool.scan;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.tool.report.Finding;

/** What a walk along the log has found. Not thread-safe. */
public final class WalkResult {
    public final List<Finding> findings = new ArrayList<>();
    /** What has to be filled, in the order of the log. */
    public final List<Hole> holes = new ArrayList<>();

    private final List<Finding> losses = new ArrayList<>();
    private long givenUpRecords;
    private long givenUpBytes;
    private Hole behind;
    private long behindNumber;
    /** Headers that are damaged and are known again, by segment. */
    public final List<RebuiltHeader> headers = new ArrayList<>();
    /** Whole records whose offset is known, and the bytes of their payloads. */
    public long records;

    public long payloadBytes;
    /** The longest payload, and whether any record has a timestamp. */
    public int largest;

    public boolean timestamps;
    /** The highest epoch of a segment or a pad. */
    public long highestEpoch;
    /** Where the first of them begins, and its offset. */
    public long start;

    public long firstNumber;
    /** Where the log ends, and the number behind the last record. */
    public long end;

    public long endNumber;
    /** Whether there is something behind the end that is no record. */
    public boolean residue;
    /** Whether the number of a record is said differently in two places. */
    public boolean contradicts;

    void corrupt(Path file, Mismatch what) {
        findings.add(Finding.of(Finding.Kind.CORRUPT, file, what.at(), what.toString()));
    }

    /** What stands behind the records is an unclean end. */
    void torn(Path file, long at, String detail) {
        findings.add(Finding.of(Finding.Kind.TORN, file, at, detail));
    }

    /** Whole records, and bytes of their payloads, count as lost: their offsets can not be told. */
    void giveUp(long wholeRecords, long bytes) {
        givenUpRecords += wholeRecords;
        givenUpBytes += bytes;
    }

    /** Records are lost from a hole's place on, {@code whole} of them though they are whole. */
    void lost(Hole at, long first, long count, boolean exact, long whole) {
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
        return whole == 0
                ? ""
                : "; " + whole + " whole records among those that are lost: which offsets they had can"
                        + " not be told";
    }

    /**
     * The log begins behind a hole: which offsets the records before it had can not be told.
     *
     * @param first where the first fault is
     * @param number the offset of the record behind the hole
     * @param most so many records are lost at most
     * @param whole records among them that are whole, and {@code bytes} of their payloads
     */
    void beginsBehind(Hole first, Hole last, long number, long most, long whole, long bytes) {
        giveUp(whole, bytes);
        behind = last;
        behindNumber = number;
        lost(first, number - most, most, false, whole);
    }

    /** Ends the walk. */
    void finish(Geometry geometry) {
        records -= givenUpRecords;
        payloadBytes -= givenUpBytes;
        findings.addAll(losses);
        if (behind == null) {
            return;
        }
        start = behind.toPosition(geometry);
        firstNumber = behindNumber;
        long id = start == end ? geometry.segmentOfEnd(end) : geometry.segmentOf(start);
        List<RebuiltHeader> before =
                headers.stream().filter(each -> each.id <= id).toList();
        headers.removeAll(before);
        before.stream()
                .filter(each -> each.id == id)
                .map(each -> each.beginsAt(
                        start == geometry.position(id, 0)
                                ? geometry.dataStart()
                                : (int) (start - geometry.position(id, 0)),
                        firstNumber))
                .forEach(headers::add);
    }

    /** The stored writing position contradicts the records. */
    void writing(Path segment, String found, String expected) {
        int at = MetaImage.Word.WRITING.at();
        corrupt(segment.resolveSibling(MetaPage.FILE_NAME), new Mismatch(at, found, expected));
    }
}
