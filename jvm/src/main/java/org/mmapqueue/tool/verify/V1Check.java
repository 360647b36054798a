package org.mmapqueue.tool.verify;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.mmapqueue.io.Mismatch;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.MetaImage;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.Format;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.tool.report.ConsumerState;
import org.mmapqueue.tool.report.Finding;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.report.VerifyReport;
import org.mmapqueue.tool.scan.SegmentBytes;

/**
 * Verifies a directory of version 1, which has no checksums: the lengths of its records must lead from the committed to
 * the writing position. For one use.
 */
final class V1Check {
    /** The only consumer of version 1. */
    private static final String CONSUMER = "default";

    private static final int LENGTH_BYTES = 8;

    private final Storage storage;
    private final Path directory;
    private final Inventory inventory;
    private final MetaImage meta;
    private final Path metaFile;
    private final List<Finding> findings = new ArrayList<>();
    private long records;
    private long bytes;

    V1Check(Storage storage, Path directory, MetaImage meta) throws IOException {
        this.storage = storage;
        this.directory = directory;
        this.inventory = new Inventory(storage, directory);
        this.meta = meta;
        this.metaFile = directory.resolve(MetaPage.FILE_NAME);
    }

    VerifyReport run(Progress progress) throws IOException {
        long capacity = meta.tableCapacity();
        long size = inventory.segments.values().stream()
                .mapToLong(Inventory.SegmentFile::length)
                .max()
                .orElse(0);
        long committed = size < 1 || size > 1 << 30 ? 0 : meta.committedV1((int) size);
        long writing = size < 1 || size > 1 << 30 ? 0 : meta.inTable(MetaImage.Word.WRITING, (int) size);
        long held = size < 1 ? 0 : normal(writing, size) - normal(committed, size);
        if (meta.isUnfinishedV1()) {
            findings.add(Finding.of(
                    Finding.Kind.TORN,
                    metaFile,
                    0,
                    "a queue that was being created when its process ended;"
                            + " Satellite, or an open with format_version = 1, creates it again"));
        } else if (meta.fileLength() != MetaImage.TABLE_LENGTH) {
            corrupt(
                    metaFile,
                    Math.min(meta.fileLength(), MetaImage.TABLE_LENGTH),
                    meta.fileLength() + " bytes",
                    MetaImage.TABLE_LENGTH + " for version 1");
        } else if (capacity < 1 || capacity > 1 << 30) {
            corrupt(metaFile, 72, "capacity " + Long.toUnsignedString(capacity), "1.." + (1 << 30));
        } else if (committed < 0 || writing < 0 || held < 0 || held > capacity * size) {
            corrupt(
                    metaFile,
                    8,
                    "writing " + writing + " and committed " + committed,
                    "committed <= writing, and at most " + capacity * size + " bytes between them");
        } else if (size > 0) {
            walk(new Geometry(Format.V1, (int) size, (int) capacity), committed, writing, progress);
        }
        List<ConsumerState> consumers = List.of(new ConsumerState(CONSUMER, committed, committed, 0));
        return new VerifyReport(
                directory.toString(),
                1,
                false,
                records,
                bytes,
                0,
                records,
                inventory.segments.size(),
                consumers,
                List.copyOf(findings));
    }

    private void walk(Geometry geometry, long committed, long writing, Progress progress) throws IOException {
        int size = geometry.segmentSize();
        long end = normal(writing, size);
        long at = normal(committed, size);
        while (at < end) {
            progress.at(at - committed, end - committed);
            long id = at / size;
            Path path = directory.resolve(geometry.fileName(id));
            if (!inventory.segments.containsKey(geometry.slotOf(id))) {
                corrupt(path, 0, "no file", "segment " + id);
                return;
            }
            try (SegmentBytes segment = new SegmentBytes(storage.open(path, Storage.Mode.READ))) {
                while (at < end && at / size == id) {
                    long length = segment.getLong((int) (at % size));
                    if (length < 0 || length > end - at) {
                        corrupt(
                                path,
                                at % size,
                                "a record of " + Long.toUnsignedString(length) + " bytes",
                                "at most " + (end - at - LENGTH_BYTES) + ", up to writing");
                        return;
                    }
                    at = normal(at + LENGTH_BYTES + length, size);
                    records++;
                    bytes += length;
                }
            }
        }
        if (at != end) {
            corrupt(metaFile, 8, "writing " + writing, at + ", where the records lead");
        }
    }

    // Moves a position in the last 1..7 bytes of a segment, into which no length fits, to the segment's end.
    private static long normal(long position, long size) {
        long left = size - position % size;
        return left < LENGTH_BYTES ? position + left : position;
    }

    private void corrupt(Path file, long at, String found, String expected) {
        findings.add(Finding.of(Finding.Kind.CORRUPT, file, at, new Mismatch(at, found, expected).toString()));
    }
}
