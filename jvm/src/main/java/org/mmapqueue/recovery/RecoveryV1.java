package org.mmapqueue.recovery;

import java.io.IOException;
import java.nio.file.Path;
import org.mmapqueue.config.Settings;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.log.LogEnd;
import org.mmapqueue.log.LogReaderV1;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.segment.Geometry;
import org.mmapqueue.segment.SegmentRing;
import org.mmapqueue.swap.Swapper;

/**
 * Recovers a directory of version 1 as Satellite does. Writing is set to the recovery point (on request it keeps the
 * stored value, which is right if only the process was killed), or to committed if that is higher; reading is set to
 * committed. Version 1 has no checksums, so one check remains: the lengths must lead from the committed position
 * exactly to the writing position. Otherwise it throws, and changes nothing.
 */
public final class RecoveryV1 {
    private RecoveryV1() {}

    public static LogEnd run(Swapper swapper, Settings settings, MetaPage meta, Path directory) throws IOException {
        Geometry geometry = settings.geometry();
        String file = directory.resolve(MetaPage.FILE_NAME).toString();
        // Compared in normal form, but stored unchanged: Satellite compares the pairs themselves.
        long committed = meta.consumer().committed();
        long stored = settings.v1RecoverWriting() ? meta.writing() : meta.watermark();
        long end = LogReaderV1.normal(geometry, stored) > LogReaderV1.normal(geometry, committed) ? stored : committed;
        long ring = (long) geometry.capacity() * geometry.segmentSize();
        long held = LogReaderV1.normal(geometry, end) - LogReaderV1.normal(geometry, committed);
        if (held > ring) {
            throw new CorruptException(
                    file,
                    8,
                    "writing is " + held + " bytes ahead of committed, but the ring has " + ring
                            + ": records that were not acked have been overwritten");
        }
        LogReaderV1 reader = new LogReaderV1(swapper, geometry, settings.maxEventSize(), () -> end);
        long records = 0;
        try {
            reader.moveTo(committed);
            while (reader.next()) {
                reader.advance();
                records++;
            }
        } finally {
            reader.leave();
        }
        rewrite(swapper.ring(), Math.max(meta.watermark(), committed), end);
        return new LogEnd(end, records, 0);
    }

    // As in version 2: what is kept beyond the recovery point, the kernel may count as written after a failed fsync.
    private static void rewrite(SegmentRing ring, long from, long end) throws IOException {
        Geometry geometry = ring.geometry();
        long last = geometry.segmentOfEnd(end);
        for (long id = geometry.segmentOf(from); from < end && id <= last; id++) {
            int to = id == last ? geometry.byteOfEnd(end) : geometry.segmentSize();
            ring.rewrite(id, (int) Math.max(0, from - geometry.position(id, 0)), to);
        }
    }
}
