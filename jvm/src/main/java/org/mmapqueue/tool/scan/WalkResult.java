package org.mmapqueue.tool.scan;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.SegmentHeader;
import org.mmapqueue.tool.report.Finding;

/** The result of a walk along the log. Not thread-safe. */
public final class WalkResult {
    public final List<Finding> findings = new ArrayList<>();
    /** The holes that a repair fills, in log order. */
    public final List<Hole> holes = new ArrayList<>();
    /** The headers of segments with a damaged one, as they have to be. */
    public final Map<Long, SegmentHeader> headers = new TreeMap<>();
    /** Number of intact records, and the bytes of their payloads. */
    public long records;

    public long payloadBytes;
    /** The offset after the last gap; 0 without one. */
    public long gapsEnd;
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
    /** A lower bound of the timestamps after the log end, in µs since 1970. */
    public long newest;
    /** Whether bytes after the log end are not zero. */
    public boolean residue;
    /** Whether two intact headers contradict each other on the offset of a record. */
    public boolean contradicts;

    void corrupt(Path file, Mismatch what) {
        findings.add(Finding.of(Finding.Kind.CORRUPT, file, what.at(), what.toString()));
    }

    /** Notes an unclean shutdown. */
    void torn(Path file, long at, String detail) {
        findings.add(Finding.of(Finding.Kind.TORN, file, at, detail));
    }

    /** Notes lost records, with the fault before them. */
    void lost(Path file, Mismatch what, long first, long end, boolean exact) {
        findings.add(
                new Finding(Finding.Kind.CORRUPT, file.toString(), what.at(), what.toString(), first, end - 1, exact));
    }

    /** Notes that the stored writing position contradicts the records. */
    void writing(Path segment, String found, String expected) {
        int at = MetaImage.Word.WRITING.at();
        corrupt(segment.resolveSibling(MetaPage.FILE_NAME), new Mismatch(at, found, expected));
    }
}
