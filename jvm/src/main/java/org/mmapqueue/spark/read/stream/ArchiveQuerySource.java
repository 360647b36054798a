package org.mmapqueue.spark.read.stream;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.ArchiveConsumer;
import org.mmapqueue.spark.common.ConsumersOfQueries;
import org.mmapqueue.spark.source.ArchiveLocation;
import org.mmapqueue.spark.source.ArchiveView;
import org.mmapqueue.spark.source.ArchivedPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An archive as the source of a query. The query's consumer is one file in the archive, with the positions in all
 * partitions; retention deletes no run that the consumer needs. Not thread-safe.
 */
final class ArchiveQuerySource implements QuerySource {
    private static final Logger LOG = LoggerFactory.getLogger(ArchiveQuerySource.class);

    private final ArchiveLocation location;
    private final String consumer;
    private final CheckpointFile checkpoint;
    private final String label;
    private Archive archive;
    private ArchiveView view;
    private SortedMap<Integer, ArchivedPartition> partitions = new TreeMap<>();
    /** The consumer's positions by partition. */
    private final Map<Integer, Long> positions = new TreeMap<>();

    private boolean isStored = true;
    /** Whether the archive has a file of the consumer. */
    private boolean hasFile;
    /** Whether the archive had no file of the consumer when it was opened. */
    private boolean isNew;
    /** Whether the last attempt to store has failed. */
    private boolean isFailing;

    /**
     * Makes the source, and opens nothing yet.
     *
     * @param consumer the consumer's name
     * @param checkpoint the query's checkpoint
     */
    ArchiveQuerySource(ArchiveLocation location, String consumer, CheckpointFile checkpoint) {
        this.location = location;
        this.consumer = consumer;
        this.checkpoint = checkpoint;
        this.label = ConsumersOfQueries.label(checkpoint.toString());
    }

    /** Lists the registry and the new runs of all partitions. */
    @Override
    public void refresh() {
        Archive current = location.openArchive();
        if (archive != null && archive.id().equals(current.id())) {
            current.close();
        } else {
            closeArchive();
            begin(current);
        }
        SortedMap<Integer, ArchivedPartition> found = new TreeMap<>();
        for (ArchivedPartition each : view.partitions()) {
            ArchivedPartition known = partitions.get(each.id());
            found.put(each.id(), known == null || !known.queueId().equals(each.queueId()) ? each : known);
        }
        partitions = found;
        ArchivedPartition.list(found.values());
    }

    private void begin(Archive opened) {
        String other = ConsumersOfQueries.take(opened.id().toString(), consumer, checkpoint.toString());
        if (other != null) {
            opened.close();
            throw inUse("the query with checkpoint " + other + " in this process, pid "
                    + ProcessHandle.current().pid());
        }
        archive = opened;
        view = new ArchiveView(location, opened);
        partitions.clear();
        positions.clear();
        hasFile = false;
        try {
            for (ArchiveConsumer each : archive.consumers()) {
                if (each.name().equals(consumer)) {
                    refuseOther(each.label());
                    positions.putAll(each.offsets());
                    hasFile = true;
                }
            }
        } catch (IOException e) {
            throw location.unreadable(e);
        }
        isStored = true;
        isNew = !hasFile;
    }

    // Throws if another query uses the consumer. No lock works across hosts, but a query without its checkpoint cannot
    // be running.
    private void refuseOther(String holder) {
        Optional<String> source = ConsumersOfQueries.sourceOf(holder);
        if (!holder.equals(label) && source.isPresent() && checkpoint.isThere(source.get())) {
            throw inUse("the query with checkpoint " + source.get() + ", which exists");
        }
    }

    private IllegalStateException inUse(String holder) {
        return new IllegalStateException("consumer " + consumer + " of the archive " + location + " is in use by "
                + holder + "; each query needs a consumer of its own: see option consumer");
    }

    /** Returns no number for a partition without runs: it has no records and no log start. */
    @Override
    public List<Integer> ids() {
        return partitions.values().stream()
                .filter(ArchivedPartition::hasRuns)
                .map(ArchivedPartition::id)
                .toList();
    }

    @Override
    public Optional<UUID> queueId(int partition) {
        return Optional.ofNullable(partitions.get(partition)).map(ArchivedPartition::queueId);
    }

    @Override
    public Optional<UUID> archiveId() {
        return Optional.of(archive.id());
    }

    @Override
    public StreamPartition open(int partition) {
        ArchivedPartition opened = partitions.get(partition);
        if (!positions.containsKey(partition)) {
            move(partition, opened.firstOffset());
        }
        return new ArchiveStreamPartition(this, opened);
    }

    /** The consumer's position in a partition that is open. */
    long position(int partition) {
        return positions.get(partition);
    }

    /** Moves the consumer; {@link #store} makes it durable. */
    void move(int partition, long offset) {
        Long before = positions.put(partition, offset);
        isStored &= before != null && before == offset;
    }

    @Override
    public void store() {
        if (isStored) {
            return;
        }
        try {
            archive.commit(consumer, label, positions);
        } catch (IOException | RuntimeException e) {
            if (!hasFile) {
                throw notStored(e instanceof UncheckedIOException unchecked ? unchecked.getCause() : e);
            }
            if (!isFailing) { // once for an outage
                LOG.warn(
                        "consumer {} of the archive {} cannot be stored, and the position there is an earlier one; the"
                                + " query continues, and each commit tries again: {}",
                        consumer,
                        location,
                        e.toString());
            }
            isFailing = true;
            return;
        }
        if (isFailing) {
            LOG.info("consumer {} of the archive {} is stored again", consumer, location);
        }
        isFailing = false;
        isStored = true;
        hasFile = true;
    }

    @Override
    public boolean isStored() {
        return isStored;
    }

    private RuntimeException notStored(Exception cause) {
        String what = "consumer " + consumer + " of the archive " + location
                + " cannot be stored, so that nothing would" + " retain the records of the new query: " + cause;
        // Spark ends a query that it interrupts without a failure, if the cause is an I/O error.
        return cause instanceof IOException io
                ? new UncheckedIOException(what, io)
                : new IllegalStateException(what, cause);
    }

    @Override
    public boolean isNew() {
        return isNew;
    }

    @Override
    public void forget() {
        if (archive == null) {
            return;
        }
        positions.clear();
        isStored = true;
        hasFile = false;
        try {
            archive.deleteConsumer(consumer);
        } catch (IOException e) {
            LOG.warn(
                    "consumer {} of the archive {} could not be deleted, and retains records: {}",
                    consumer,
                    location,
                    e.getMessage());
        }
    }

    private void closeArchive() {
        if (archive != null) {
            ConsumersOfQueries.release(archive.id().toString(), consumer);
            archive.close();
            archive = null;
        }
    }

    @Override
    public void close() {
        closeArchive();
    }
}
