package org.mmapqueue.tool;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.mmapqueue.io.Mismatch;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.meta.MetaPage;

/** What a walk along the log has found. Not thread-safe. */
final class WalkResult {
    final List<Finding> findings = new ArrayList<>();
    final List<Hole> holes = new ArrayList<>();
    /** Headers that are damaged and are known again, by segment. */
    final List<RebuiltHeader> headers = new ArrayList<>();
    long records;
    long payloadBytes;
    /** The longest payload, and whether any record has a timestamp. */
    int largest;
    boolean timestamps;
    /** The highest epoch of a segment or a pad. */
    long highestEpoch;
    /** Where the first whole record begins, and the number of it. */
    long start;
    long firstNumber;
    /** Where the log ends, and the number behind the last record. */
    long end;
    long endNumber;
    /** Whether there is something behind the end that is no record. */
    boolean residue;
    /** Whether the number of a record is said differently in two places. */
    boolean contradicts;

    void corrupt(Path file, Mismatch what) {
        findings.add(Finding.of(Finding.Kind.CORRUPT, file, what.at(), what.toString()));
    }

    /** What stands behind the records is an unclean end. */
    void torn(Path file, long at, String detail) {
        findings.add(Finding.of(Finding.Kind.TORN, file, at, detail));
    }

    /** The stored writing position contradicts the records. */
    void writing(Path segment, String found, String expected) {
        int at = MetaImage.Word.WRITING.at();
        corrupt(segment.resolveSibling(MetaPage.FILE_NAME), new Mismatch(at, found, expected));
    }
}
