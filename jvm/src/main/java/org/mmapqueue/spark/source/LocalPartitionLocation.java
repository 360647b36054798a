package org.mmapqueue.spark.source;

import java.nio.file.Files;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.spark.common.Hosts;
import org.mmapqueue.spark.common.PartitionDirectory;

/**
 * The location of a partition in a directory of a host.
 *
 * @param directory the partition's directory
 * @param host the host, by its name in Spark's scheduler
 */
public record LocalPartitionLocation(PartitionDirectory directory, String host) implements PartitionLocation {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the location of a partition of this host.
     *
     * @param directory the partition's directory
     */
    public LocalPartitionLocation(PartitionDirectory directory) {
        this(directory, Hosts.ofBlockManager());
    }

    @Override
    public int id() {
        return directory.id();
    }

    @Override
    public String path() {
        return directory.path();
    }

    /** Shares the queue if this process has it open. */
    @Override
    public LocalPartition open() {
        if (!Files.isDirectory(directory.directory())) {
            throw new IllegalStateException("there is no such directory");
        }
        return new LocalPartition(this, MmapQueue.openToRead(directory.directory()));
    }

    @Override
    public String needs() {
        return "it was planned on host " + host + ": executors must run on that host, and see the directory under the"
                + " same path; an archive can be read on any host";
    }
}
