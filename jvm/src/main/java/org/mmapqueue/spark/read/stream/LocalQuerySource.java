package org.mmapqueue.spark.read.stream;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.mmapqueue.MmapQueue;
import org.mmapqueue.spark.common.PartitionDirectory;

/** A local queue as the source of a query; each partition stores the consumer's position itself. Not thread-safe. */
final class LocalQuerySource implements QuerySource {
    private final Path root;
    private final String consumer;
    private final String user;
    private final boolean skipsDamage;
    /** All partitions that were found so far. */
    private final Map<Integer, PartitionDirectory> directories = new HashMap<>();

    /**
     * Makes the source, and opens nothing yet.
     *
     * @param user the query's checkpoint, for error messages of other queries
     * @param skipsDamage whether the query starts after damage that hides its start
     */
    LocalQuerySource(Path root, String consumer, String user, boolean skipsDamage) {
        this.root = root;
        this.consumer = consumer;
        this.user = user;
        this.skipsDamage = skipsDamage;
    }

    @Override
    public void refresh() {
        // nothing: an open queue shows new records itself
    }

    @Override
    public List<Integer> ids() {
        List<PartitionDirectory> found = PartitionDirectory.find(root);
        found.forEach(each -> directories.put(each.id(), each));
        return found.stream().map(PartitionDirectory::id).toList();
    }

    @Override
    public Optional<UUID> queueId(int partition) {
        PartitionDirectory directory = directories.get(partition);
        return directory == null ? Optional.empty() : MmapQueue.idIn(directory.directory());
    }

    @Override
    public Optional<UUID> archiveId() {
        return Optional.empty();
    }

    @Override
    public StreamPartition open(int partition) {
        return new LocalStreamPartition(directories.get(partition), consumer, user, skipsDamage);
    }

    @Override
    public void store() {
        // nothing: each consumer's page has the position
    }

    @Override
    public boolean isStored() {
        return true;
    }

    @Override
    public boolean isNew() {
        return true; // each partition knows
    }

    @Override
    public void forget() {
        // nothing: each partition deletes its consumer
    }

    @Override
    public void close() {
        // nothing is open
    }
}
