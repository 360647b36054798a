package org.mmapqueue.spark.source;

import java.util.List;
import java.util.UUID;
import org.mmapqueue.archive.ArchiveReader;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.run.RunName;

/**
 * A range of a partition of an archive.
 *
 * @param id the partition's number
 * @param path the archive, for messages
 * @param queue the identity of the partition's queue
 * @param runs the runs that hold the range, as planning has found them
 * @param files the files for tasks
 */
record ArchivePartitionLocation(int id, String path, UUID queue, List<RunName> runs, TaskFiles files)
        implements PartitionLocation {
    private static final long serialVersionUID = 1L;

    /** Lists nothing: tasks open the planned runs. */
    @Override
    public PartitionRecords open() {
        ArchiveFiles open = files.open();
        return new PartitionRecords() {
            @Override
            public UUID queueId() {
                return queue;
            }

            @Override
            public int maxReaders() {
                return Integer.MAX_VALUE;
            }

            @Override
            public SequentialReader reader(long from, long to, boolean skipsDamage) {
                return new RunRecords(ArchiveReader.of(open, id, queue, runs, from, to, skipsDamage, false));
            }

            @Override
            public void close() {
                open.close();
            }
        };
    }

    @Override
    public String needs() {
        return "each host must reach the archive";
    }
}
