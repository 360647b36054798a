package org.mmapqueue.archive;

import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.TemporaryNames;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.ArchiveException;

/**
 * An open archive: its partitions, runs and consumers. Any number of threads, processes and hosts.
 *
 * <pre>{@code
 * try (Archive archive = Archive.open(Archives.files(URI.create("hdfs://name-node/events")))) {
 *     for (PartitionEntry entry : archive.partitions()) {
 *         ArchivePartition partition = archive.partition(entry);
 *         partition.refresh();
 *         try (ArchiveReader reader = partition.reader(partition.firstOffset(), partition.endOffset(), false)) {
 *             while (reader.read(1000, 1 << 20, handler) > 0) {}
 *         }
 *     }
 * }
 * }</pre>
 */
public final class Archive implements AutoCloseable {
    private static final String FILE = "archive.properties";
    private static final int FORMAT = 1;

    private final ArchiveFiles files;
    private final UUID id;
    private final PartitionRegistry registry;
    private final ConsumerFiles consumers;

    private Archive(ArchiveFiles files, UUID id) {
        this.files = files;
        this.id = id;
        this.registry = new PartitionRegistry(files);
        this.consumers = new ConsumerFiles(files);
    }

    /**
     * Opens an archive.
     *
     * @param files its files; closed by {@link #close}
     * @throws ArchiveException if there is none, or one of another version
     */
    public static Archive open(ArchiveFiles files) throws IOException {
        Optional<ArchiveText> text = ArchiveText.read(files, FILE);
        if (text.isEmpty()) {
            throw new ArchiveException(files.uri() + " is no archive: it has no " + FILE);
        }
        return opened(files, text.get());
    }

    private static Archive opened(ArchiveFiles files, ArchiveText text) {
        String format = text.get("format");
        if (!format.equals(Integer.toString(FORMAT))) {
            throw new ArchiveException(
                    text.file() + ": format = " + format + "; this program reads and writes format " + FORMAT);
        }
        return new Archive(files, text.get("id", UUID::fromString));
    }

    /**
     * Opens an archive; makes it if there is none.
     *
     * @param files its files; closed by {@link #close}
     * @throws ArchiveException if it is one of another version, or on a store that replaces a file instead of refusing to
     *     create it again
     */
    public static Archive create(ArchiveFiles files) throws IOException {
        if (!isArchive(files)) {
            byte[] content = ArchiveText.encode(Map.of(
                    "format",
                    Integer.toString(FORMAT),
                    "id",
                    UUID.randomUUID().toString(),
                    "created",
                    now().toString()));
            if (files.create(FILE, out -> out.write(content))) {
                checkCreation(files, content);
            }
        }
        return open(files);
    }

    // Some object stores ignore the condition of a creation; the first shipper must find out.
    private static void checkCreation(ArchiveFiles files, byte[] same) throws IOException {
        if (files.create(FILE, out -> out.write(same))) {
            files.delete(FILE);
            throw new ArchiveException(files.uri() + ": this store ignores the condition that a new file must not"
                    + " exist, so that two hosts could overwrite each other's records; an archive needs a store with"
                    + " conditional requests (If-None-Match)");
        }
    }

    /** Whether these are the files of an archive. */
    public static boolean isArchive(ArchiveFiles files) throws IOException {
        return ArchiveText.read(files, FILE).isPresent();
    }

    static Instant now() {
        return Instant.now().truncatedTo(ChronoUnit.MILLIS);
    }

    /** The archive's UUID. */
    public UUID id() {
        return id;
    }

    /** Its files. */
    public ArchiveFiles files() {
        return files;
    }

    /** The partitions, by number; lists the registry at each call, and reads what is new there. */
    public List<PartitionEntry> partitions() throws IOException {
        return registry.list();
    }

    /**
     * Registers a queue as a partition, or returns the partition that it is.
     *
     * @param queue the queue's UUID
     * @param local the number of the partition in the queue's directory, 0 or more
     * @param host the host that ships it
     * @throws ArchiveException if the queue is registered for another host
     */
    public PartitionEntry register(UUID queue, int local, String host) throws IOException {
        return register(queue, local, host, false);
    }

    /**
     * Registers a queue as a partition, or returns the partition that it is.
     *
     * @param queue the queue's UUID
     * @param local the number of the partition in the queue's directory, 0 or more
     * @param host the host that ships it
     * @param takeOver whether this host becomes the one that ships the queue, if that is another one: for a disk that was
     *     moved. The other host must never ship it again
     * @throws ArchiveException if the queue is registered for another host, without {@code takeOver}
     */
    public PartitionEntry register(UUID queue, int local, String host, boolean takeOver) throws IOException {
        return registry.register(queue, local, host, takeOver);
    }

    /** The runs of a partition, not listed yet. */
    public RunList runs(int partition) {
        return new RunList(files, partition);
    }

    /** What a reader sees of a partition, not listed yet: {@link ArchivePartition#refresh} lists. */
    public ArchivePartition partition(PartitionEntry entry) {
        return new ArchivePartition(files, entry.id(), entry.queue());
    }

    /** The consumers, by name. */
    public List<ArchiveConsumer> consumers() throws IOException {
        return consumers.list();
    }

    /**
     * Stores how far a consumer is, and makes it if there is none of this name.
     *
     * @param name 1 to 100 letters, digits, {@code _}, {@code -} or {@code .}
     * @param label its purpose, for people; may be empty
     * @param offsets by partition; partitions that are not named have no offset from now on
     * @throws org.mmapqueue.errors.ConfigException if the name is not allowed
     */
    public void commit(String name, String label, Map<Integer, Long> offsets) throws IOException {
        consumers.commit(name, label, offsets);
    }

    /** Deletes a consumer; returns false if there is none of this name. */
    public boolean deleteConsumer(String name) throws IOException {
        return consumers.delete(name);
    }

    /**
     * Deletes the unfinished files of a partition, which a killed process leaves. Only for the one process that ships the
     * partition, before it stores anything.
     *
     * @return how many there were
     */
    public int deleteUnfinished(int partition) throws IOException {
        String beginning = TemporaryNames.beginning(RunName.directory(partition) + "/");
        int deleted = 0;
        for (ArchiveFiles.Entry each : files.list(ArchiveFiles.TEMPORARY)) {
            if (each.name().startsWith(beginning) && files.delete(ArchiveFiles.TEMPORARY + "/" + each.name())) {
                deleted++;
            }
        }
        return deleted;
    }

    /** Closes the files. */
    @Override
    public void close() {
        files.close();
    }
}
