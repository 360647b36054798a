package org.mmapqueue.spark.source;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.ArchiveConsumer;
import org.mmapqueue.archive.PartitionEntry;

/** The driver's view of an open archive: the partitions, and state that they share. Not thread-safe. */
public final class ArchiveView {
    private final ArchiveLocation location;
    private final Archive archive;
    private List<ArchiveConsumer> consumers;
    private TaskFiles taskFiles;

    /**
     * Makes the view, and reads nothing yet.
     *
     * @param location the archive's location
     * @param archive the archive, which the caller closes
     */
    public ArchiveView(ArchiveLocation location, Archive archive) {
        this.location = location;
        this.archive = archive;
    }

    /**
     * The registered partitions.
     *
     * @return by number; their runs are listed at the first use
     */
    public List<ArchivedPartition> partitions() {
        try {
            List<ArchivedPartition> partitions = new ArrayList<>();
            for (PartitionEntry each : archive.partitions()) {
                partitions.add(new ArchivedPartition(this, each, archive.partition(each)));
            }
            return partitions;
        } catch (IOException e) {
            throw location.unreadable(e);
        }
    }

    ArchiveLocation location() {
        return location;
    }

    /** The committed offsets of consumers in a partition, as of the first call. */
    synchronized Map<String, Long> committedOffsets(int partition) {
        try {
            if (consumers == null) {
                consumers = archive.consumers();
            }
        } catch (IOException e) {
            throw location.unreadable(e);
        }
        Map<String, Long> offsets = new TreeMap<>();
        consumers.forEach(each -> offsets.put(each.name(), each.offsets().getOrDefault(partition, 0L)));
        return offsets;
    }

    /** The files for tasks; the same object for all partitions. */
    synchronized TaskFiles taskFiles() {
        if (taskFiles == null) {
            taskFiles = TaskFiles.of(location.uri());
        }
        return taskFiles;
    }
}
