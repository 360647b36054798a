package org.mmapqueue.archive;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.ArchiveText;
import org.mmapqueue.archive.files.Archives;
import org.mmapqueue.archive.owner.Ownership;
import org.mmapqueue.archive.run.GapName;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.archive.run.RunWriter;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.meta.ArchiveLink;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies durable records into runs, from the archive's end on. A run is stored first, then its records are acked: a
 * crash in between leaves a run that {@link #resume} finds. Not thread-safe.
 */
final class Shipment {
    private static final Logger LOG = LoggerFactory.getLogger(Shipment.class);

    private final ShipSource source;
    private final Archive archive;
    private final PartitionEntry partition;
    private final Ownership owner;
    private final ShipOptions options;
    /** The offset after the last record that was collected. Accessed by one thread at a time. */
    private long next;
    /** The offset after the last record that was stored. */
    private long storedEnd;

    /** The records before {@link #next} that the queue has dropped and the archive does not name as a gap yet. */
    private @Nullable GapName gap;

    private RunWriter run;
    /** The run after it, which is collected while it is stored; null if none is. */
    private @Nullable RunWriter following;

    private final RunCollector collector = new RunCollector();
    /** Whether the run may be stored already, after a failed attempt. */
    private boolean isStoring;
    /** The last run that was stored, until it is acked. */
    private @Nullable RunName unacked;

    private Shipment(ShipSource source, Archive archive, Archive.Owned owned, ShipOptions options, long next) {
        this.source = source;
        this.archive = archive;
        this.partition = owned.partition();
        this.owner = owned.owner();
        this.options = options;
        this.next = next;
        this.storedEnd = next;
        this.run = newRun();
    }

    /**
     * Claims the queue's partition, and returns a shipment that continues at the archive's end. A queue that was never
     * shipped gets a partition, in an archive that is created if none exists.
     *
     * @throws IOException if the archive into which the queue is shipped is missing, or a different one is in its place
     * @throws ArchiveException if another directory or host ships the queue, or the archive has other records than the
     *     queue
     */
    static Shipment resume(ShipSource source, ArchiveFiles files, ShipOptions options) throws IOException {
        Optional<ArchiveLink> link = source.readLink();
        Archive archive = link.isPresent() ? Archive.openSame(files, link.get().archive()) : Archive.create(files);
        Archive.Owned owned = archive.own(source, options.host());
        int partition = owned.partition().id();
        RunList runs = archive.runs(partition);
        runs.refresh();
        checkSame(source, archive, owned.partition(), runs); // a wrong directory must not replace the right one
        owned.owner().claim(partition);
        runs.relist(); // the former shipper may have stored and acked runs up to the claim
        checkSame(source, archive, owned.partition(), runs);
        long end = runs.endOffset();
        long committed = source.committedOffset();
        owned.owner().begin(end);
        archive.deleteUnfinished(partition);
        if (end == 0) {
            return new Shipment(source, archive, owned, options, committed);
        }
        Shipment shipment = new Shipment(source, archive, owned, options, end);
        if (committed > end) {
            shipment.skipDropped(committed); // ships what is acked but not in the archive, as far as the queue has it
        } else {
            makeDurable(files, partition, runs.cover(committed, end));
            owned.owner().check();
            source.ack(end);
        }
        return shipment;
    }

    private static void checkSame(ShipSource source, Archive archive, PartitionEntry partition, RunList runs)
            throws IOException {
        long committed = source.committedOffset();
        long end = runs.endOffset();
        if (end == 0 || committed > end) {
            return;
        }
        String where = archive.files().uri() + " has the records of partition " + partition.id() + " before " + end;
        if (end > source.endOffset()) {
            throw new ArchiveException(where + ", but the queue ends at " + source.endOffset()
                    + ": its directory was replaced by an older copy. Ship into another archive");
        }
        checkSame(source, archive, partition, runs.cover(committed, end), committed, where);
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

    Archive archive() {
        return archive;
    }

    /** The offset of the first record that a consumer of the queue itself needs. */
    long consumedOffset() {
        return source.consumedOffset();
    }

    PartitionEntry partition() {
        return partition;
    }

    /** The right to ship the partition. */
    Ownership owner() {
        return owner;
    }

    private RunWriter newRun() {
        return new RunWriter(source.queueId(), owner.epoch(), options.codec());
    }

    /** Collects durable records, up to the size of a run; returns whether the run takes no more. */
    boolean collect() {
        if (isStoring) {
            return true; // the run is complete, but possibly not stored
        }
        collector.await();
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
        boolean isRead = false;
        while (!isRead) {
            try {
                read(run);
                isRead = true;
            } catch (OutOfRangeException e) {
                if (hasRecords()) {
                    return true; // the records before the gap are stored first
                }
                if (!skipDropped(source.committedOffset())) {
                    throw e;
                }
            }
        }
        return run.bytes() >= options.bytes();
    }

    // Also called by the collector, while the run before is stored.
    private void read(RunWriter into) {
        long durable = source.durableOffset();
        long before = -1;
        while (next != before && next < durable && into.bytes() < options.bytes()) {
            before = next;
            source.read(next, durable, options.bytes() - into.bytes(), record -> {
                into.add(record);
                next = record.end();
            });
        }
    }

    // Continues with the first record that the queue still has; returns whether others were skipped. Records that were
    // acked without being shipped, by a purge or because of their age, may have been reclaimed.
    private boolean skipDropped(long committed) {
        long first = Math.min(committed, Math.max(next, source.firstOffset()));
        if (first <= next) {
            return false;
        }
        long from = gap == null ? next : gap.first();
        gap = new GapName(from, first, owner.epoch(), GapName.Reason.DROPPED);
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

    /** The offset after the last record that was stored. */
    long storedEnd() {
        return storedEnd;
    }

    /** Whether records are collected that are not stored yet. */
    boolean hasRecords() {
        return run.count() > 0;
    }

    /**
     * Stores the run of the collected records. After an IOException the call must be repeated: the file system may
     * still store the run of the failed call, and no other run may begin with the same record. When the call returns,
     * readers of the archive read the run.
     *
     * @throws ArchiveException if another shipper has claimed the partition: the run is not read
     */
    RunName store() throws IOException {
        isStoring = true;
        if (following == null && run.bytes() >= options.bytes()) {
            RunWriter into = newRun();
            following = into;
            collector.start(() -> read(into));
        }
        if (Archives.isLocal(archive.files().uri())) {
            owner.check(); // the mount point of another file system would get the run
        }
        storeGap();
        RunName stored = run.publish(archive.files(), partition.id());
        owner.check();
        unacked = stored;
        isStoring = false;
        storedEnd = stored.end();
        run = following == null ? newRun() : following;
        following = null;
        return stored;
    }

    // Before the run after it: without it, readers could not tell the gap from a run that has vanished.
    private void storeGap() throws IOException {
        GapName dropped = gap;
        if (dropped != null) {
            // Before the ack, so that nobody takes the records for shipped. Before the gap: a shipper that finds it
            // in the archive stores nothing more of it.
            source.writeLink(source.readLink().orElseThrow().withGap(dropped.first(), dropped.end()));
            byte[] content = ArchiveText.encode(Map.of("created", Archive.now().toString()));
            archive.files().create(dropped.file(partition.id()), out -> out.write(content));
            gap = null;
        }
    }

    /** Acks the records of a run that was stored. */
    void ack(RunName stored) {
        source.ack(stored.end());
        unacked = null;
    }

    /**
     * Continues after an OutOfMemoryError: discards what was collected, which may be incomplete, and is collected again.
     * A run that may be stored already stays.
     */
    void recover() {
        try {
            collector.await();
        } catch (OutOfMemoryError e) {
            LOG.debug("a run was not collected: {}", e.toString());
        }
        RunName stored = unacked;
        if (stored != null) {
            ack(stored);
        }
        RunName named = isStoring ? run.name() : null;
        if (named == null) {
            run = newRun();
            isStoring = false;
        }
        following = null;
        gap = named == null ? null : gap;
        next = named == null ? storedEnd : named.end();
    }

    /** Ends its thread, which reads the queue alone. */
    void close() {
        collector.close();
    }
}
