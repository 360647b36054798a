package org.mmapqueue.archive;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.mmapqueue.archive.files.ArchiveFiles;

/** An open archive: its partitions, runs and consumers. Any number of threads. */
public final class Archive implements AutoCloseable {
    private final ArchiveFiles files;

    private Archive(ArchiveFiles files) {
        this.files = files;
    }

    /**
     * Opens an archive.
     *
     * @throws org.mmapqueue.errors.ArchiveException if there is none, or one of another version
     */
    public static Archive open(ArchiveFiles files) throws IOException {
        return new Archive(files);
    }

    /** Opens an archive; makes it if there is none. */
    public static Archive create(ArchiveFiles files) throws IOException {
        return new Archive(files);
    }

    /** Whether these are the files of an archive. */
    public static boolean isArchive(ArchiveFiles files) throws IOException {
        throw new UnsupportedOperationException();
    }

    /** The archive's UUID. */
    public UUID id() {
        throw new UnsupportedOperationException();
    }

    /** Its files. */
    public ArchiveFiles files() {
        return files;
    }

    /** The partitions, by number; lists the registry at each call. */
    public List<PartitionEntry> partitions() throws IOException {
        throw new UnsupportedOperationException();
    }

    /**
     * Registers a queue as a partition, or returns the partition that it is.
     *
     * @param queue the queue's UUID
     * @param local the number of the partition in the queue's directory, 0 or more
     * @param host the host that ships it
     * @throws org.mmapqueue.errors.ArchiveException if the queue is registered for another host
     */
    public PartitionEntry register(UUID queue, int local, String host) throws IOException {
        return register(queue, local, host, false);
    }

    /**
     * Registers a queue as a partition, or returns the partition that it is.
     *
     * @param takeOver whether this host becomes the one that ships the queue, if that is another one: for a disk that was
     *     moved; the other host must never ship it again
     */
    public PartitionEntry register(UUID queue, int local, String host, boolean takeOver) throws IOException {
        throw new UnsupportedOperationException();
    }

    /** The runs of a partition, not listed yet. */
    public RunList runs(int partition) {
        throw new UnsupportedOperationException();
    }

    /** What a reader sees of a partition, not listed yet. */
    public ArchivePartition partition(PartitionEntry entry) {
        throw new UnsupportedOperationException();
    }

    /** The consumers, by name. */
    public List<ArchiveConsumer> consumers() throws IOException {
        throw new UnsupportedOperationException();
    }

    /**
     * Stores how far a consumer is, and makes it if there is none of this name.
     *
     * @param offsets by partition; partitions that are not named have no offset from now on
     */
    public void commit(String name, String label, Map<Integer, Long> offsets) throws IOException {
        throw new UnsupportedOperationException();
    }

    /** Deletes a consumer; returns false if there is none of this name. */
    public boolean deleteConsumer(String name) throws IOException {
        throw new UnsupportedOperationException();
    }

    /** Closes the files. */
    @Override
    public void close() {
        files.close();
    }
}
