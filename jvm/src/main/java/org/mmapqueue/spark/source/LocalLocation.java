package org.mmapqueue.spark.source;

import java.nio.file.Path;
import java.util.List;
import org.mmapqueue.spark.common.PartitionDirectory;

/**
 * A directory of this host.
 *
 * @param root the queue's directory
 */
public record LocalLocation(Path root) implements Location {

    @Override
    public boolean exists() {
        return PartitionDirectory.isQueue(root);
    }

    @Override
    public List<PartitionLocation> partitions() {
        return PartitionDirectory.find(root).stream()
                .<PartitionLocation>map(LocalPartitionLocation::new)
                .toList();
    }

    /** Shares the queues that this process has open. */
    @Override
    public OpenPartitions open() {
        return OpenPartitions.of(partitions());
    }

    @Override
    public Path directory(String action) {
        return root;
    }

    @Override
    public String uri() {
        return root.toUri().toString();
    }

    @Override
    public String toString() {
        return root.toString();
    }
}
