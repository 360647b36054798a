package org.mmapqueue.tool;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.RecordDescriptor;
import org.mmapqueue.support.Directories;
import org.mmapqueue.tool.report.Progress;
import org.mmapqueue.tool.scan.LogRecords;
import org.mmapqueue.tool.verify.Survey;

/** Compares a damaged directory with what it was: a record of which no byte has changed is intact. */
final class IntactRecords {
    private static final byte[] MISSING = {};

    private final Geometry geometry;
    private final Path whole;
    private final Path damaged;
    private final Map<Path, byte[]> files = new HashMap<>();

    private IntactRecords(Geometry geometry, Path whole, Path damaged) {
        this.geometry = geometry;
        this.whole = whole;
        this.damaged = damaged;
    }

    /** The offsets of the records that the damage has left alone. */
    static Set<Long> of(Path whole, Path damaged) {
        Set<Long> intact = new TreeSet<>();
        try (Survey survey = new Survey(DiskStorage.INSTANCE, whole, Progress.NONE)) {
            IntactRecords records = new IntactRecords(survey.geometry, whole, damaged);
            LogRecords log = new LogRecords(survey.slots, survey.facts, survey.walk);
            while (log.next()) {
                int bytes = RecordDescriptor.HEADER + RecordDescriptor.bodyBytes(log.header());
                if (records.isIntact(log.segmentId(), log.at(), bytes)) {
                    intact.add(log.number());
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return intact;
    }

    private boolean isIntact(long firstId, int at, int bytes) {
        int from = at;
        int left = bytes;
        for (long id = firstId; left > 0; id++) {
            int to = Math.min(geometry.segmentSize(), from + left);
            byte[] found = read(damaged.resolve(geometry.fileName(id)));
            if (found.length < to
                    || !Arrays.equals(found, from, to, read(whole.resolve(geometry.fileName(id))), from, to)) {
                return false;
            }
            left -= to - from;
            from = geometry.dataStart();
        }
        return true;
    }

    private byte[] read(Path file) {
        return files.computeIfAbsent(file, path -> Files.exists(path) ? Directories.read(path) : MISSING);
    }
}
