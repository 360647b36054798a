package org.mmapqueue.archive;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.GapName;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.archive.run.RunWriter;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.OutOfRangeException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies durable records into runs, from the archive's end on. A run is stored first, then its records are acked: a
 * crash in between leaves a run that {@link #resume} finds. Not thread-safe.
 */
final class Shipment {
    private static final Logger LOG = LoggerFactory.getLogger(Shipment.class);

    private static final long FIRST_EPOCH = 1;

    private final ShipSource source;
    private final Archive archive;
    private final PartitionEntry partition;
    private final ShipOptions options;
    /** The offset after the last record that was collected. */
    private long next;

    /** The records before {@link #next} that the queue has dropped and the archive does not name as a gap yet. */
    private @Nullable GapName gap;

    private RunWriter run;
    /** Whether the run may be stored already, after a failed attempt. */
    private boolean isStoring;

    private Shipment(ShipSource source, Archive archive, PartitionEntry partition, ShipOptions options, long next) {
        this.source = source;
        this.archive = archive;
        this.partition = partition;
        this.options = options;
        this.next = next;
        this.run = new RunWriter(source.queueId(), FIRST_EPOCH, options.codec());
    }

    /**
     * Returns a shipment that continues at the archive's end.
     *
     * @throws ArchiveException if the archive is that of another queue or host, or has other records than the queue
     */
    static Shipment resume(ShipSource source, Archive archive, ShipOptions options) throws IOException {
        PartitionEntry partition = archive.register(source.queueId(), source.localPartition(), options.host());
        RunList runs = archive.runs(partition.id());
        runs.refresh();
        long committed = source.committedOffset();
        archive.deleteUnfinished(partition.id());
        if (runs.endOffset() == 0) {
            return new Shipment(source, archive, partition, options, committed);
        }
        long end = runs.endOffset();
        String where = archive.files().uri() + " has the records of partition " + partition.id() + " before " + end;
        if (committed > end) {
            // What is acked but not in the archive is shipped as far as the queue still has it.
            Shipment shipment = new Shipment(source, archive, partition, options, end);
            shipment.skipDropped(committed);
            return shipment;
        }
        if (end > source.endOffset()) {
            throw new ArchiveException(where + ", but the queue ends at " + source.endOffset()
                    + ": its directory was replaced by an older copy. Ship into another archive");
        }
        List<RunName> unacked = runs.cover(committed, end);
        checkSame(source, archive, partition, unacked, committed, where);
        makeDurable(archive.files(), partition.id(), unacked);
        source.ack(end);
        return new Shipment(source, archive, partition, options, end);
    }

    // Compares all runs with records that are not acked: they were stored before a crash, or before the queue was
    // replaced by an older copy. A run may begin before them.
    private static void checkSame(
            ShipSource source,
            Archive archive,
            PartitionEntry partition,
            List<RunName> cover,
            long committed,
            String where)
            throws IOException {
        for (RunName each : cover) {
            OptionalLong different = RecordComparison.firstDifference(source, archive, partition, each, committed);
            if (different.isPresent()) {
                throw new ArchiveException(where + ", but record " + different.getAsLong() + " in run " + each
                        + " is another record than in the queue: the directory was replaced by an older copy. Ship into"
                        + " another archive");
            }
        }
    }

    // The call that has stored a run may have failed after the run could be seen.
    private static void makeDurable(ArchiveFiles files, int partition, List<RunName> runs) throws IOException {
        long last = -1;
        for (RunName each : runs) {
            if (each.bucket() != last) {
                files.makeDurable(each.file(partition)); // and all others of its directory
                last = each.bucket();
            }
        }
    }

    PartitionEntry partition() {
        return partition;
    }

    /** Collects durable records, up to the size of a run; returns whether the run takes no more. */
    boolean collect() {
        if (isStoring) {
            return true; // the run is complete, but possibly not stored
        }
        try {
            return fill();
        } catch (CorruptException e) {
            if (hasRecords()) {
                return true; // the records before the damage are stored first
            }
            throw e;
        }
    }

    private boolean fill() {
        long durable = source.durableOffset();
        while (next < durable && run.bytes() < options.bytes()) {
            int count;
            try {
                count = source.read(next, durable, options.bytes() - run.bytes(), run::add);
            } catch (OutOfRangeException e) {
                if (hasRecords()) {
                    return true; // the records before the gap are stored first
                }
                if (!skipDropped(source.committedOffset())) {
                    throw e;
                }
                continue;
            }
            if (count == 0) {
                break;
            }
            next += count;
        }
        return run.bytes() >= options.bytes();
    }

    // Continues with the first record that the queue still has; returns whether others were skipped. Records that were
    // acked without being shipped, by a purge or because of their age, may have been reclaimed.
    private boolean skipDropped(long committed) {
        long first = Math.min(committed, Math.max(next, source.firstOffset()));
        if (first <= next) {
            return false;
        }
        long from = gap == null ? next : gap.first();
        gap = new GapName(from, first, FIRST_EPOCH, GapName.Reason.DROPPED);
        LOG.warn(
                "the queue {} has dropped records {} to {} before they were shipped: partition {} of {} has a gap",
                source.queueId(),
                from,
                first - 1,
                partition.id(),
                archive.files().uri());
        next = first;
        return true;
    }

    /** Whether records are collected that are not stored yet. */
    boolean hasRecords() {
        return run.count() > 0;
    }

    /**
     * Stores the run of the collected records. After an IOException the call must be repeated: the file system may
     * still store the run of the failed call, and no other run may begin with the same record.
     */
    RunName store() throws IOException {
        isStoring = true;
        storeGap();
        RunName stored = run.publish(archive.files(), partition.id());
        isStoring = false;
        run = new RunWriter(source.queueId(), FIRST_EPOCH, options.codec());
        return stored;
    }

    // Before the run after it: without it, readers could not tell the gap from a run that has vanished.
    private void storeGap() throws IOException {
        GapName dropped = gap;
        if (dropped != null) {
            byte[] content = ArchiveText.encode(Map.of("created", Archive.now().toString()));
            archive.files().create(dropped.file(partition.id()), out -> out.write(content));
            gap = null;
        }
    }

    /** Acks the records of a run that was stored. */
    void ack(RunName stored) {
        source.ack(stored.end());
    }
}
