package org.mmapqueue.archive;

import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.TemporaryNames;
import org.mmapqueue.archive.run.GapName;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.ArchiveException;

/**
 * An open archive: its partitions, runs and consumers. Safe for any number of threads, processes and hosts.
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
     * @param files the archive's files; closed by {@link #close}
     * @throws ArchiveException if there is no archive, or one of another version
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
     * Opens an archive; creates it if none exists.
     *
     * @param files the archive's files; closed by {@link #close}
     * @throws ArchiveException if the archive is of another version, or on a store that replaces an existing file
     *     instead of failing to create it
     */
    public static Archive create(ArchiveFiles files) throws IOException {
        if (!isArchive(files)) {
            files.createRoot();
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
        } else {
            files.makeDurable(FILE);
        }
        return open(files);
    }

    // Throws if the store ignores the condition that a new file must not exist, as some object stores do.
    private static void checkCreation(ArchiveFiles files, byte[] same) throws IOException {
        if (files.create(FILE, out -> out.write(same))) {
            files.delete(FILE);
            throw new ArchiveException(files.uri() + ": this store ignores the condition that a new file must not"
                    + " exist, so that two hosts could overwrite each other's records; an archive needs a store with"
                    + " conditional requests (If-None-Match)");
        }
    }

    /** Whether these files are those of an archive. */
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

    /** The archive's files. */
    public ArchiveFiles files() {
        return files;
    }

    /** The partitions, by number. Lists the registry at each call, and reads new or replaced entries. */
    public List<PartitionEntry> partitions() throws IOException {
        return registry.list();
    }

    /**
     * Registers a queue as a partition, or returns the partition if the queue is registered.
     *
     * @param queue the queue's UUID
     * @param local the number of the partition in the queue's directory, 0 or more
     * @param host the host that ships the queue
     * @throws ArchiveException if the queue is registered for another host
     */
    public PartitionEntry register(UUID queue, int local, String host) throws IOException {
        return register(queue, local, host, false);
    }

    /**
     * Registers a queue as a partition, or returns the partition if the queue is registered.
     *
     * @param queue the queue's UUID
     * @param local the number of the partition in the queue's directory, 0 or more
     * @param host the host that ships the queue
     * @param takeOver whether this host replaces another one as the host that ships the queue: for a disk that was
     *     moved. The other host must never ship the queue again
     * @throws ArchiveException if the queue is registered for another host, without {@code takeOver}
     */
    public PartitionEntry register(UUID queue, int local, String host, boolean takeOver) throws IOException {
        return registry.register(queue, local, host, takeOver);
    }

    /** The list of a partition's runs, not loaded yet. */
    public RunList runs(int partition) {
        return new RunList(files, partition);
    }

    /** A reader's view of a partition, not loaded yet: {@link ArchivePartition#refresh} loads it. */
    public ArchivePartition partition(PartitionEntry entry) {
        return new ArchivePartition(files, entry.id(), entry.queue());
    }

    /**
     * Names the records of a range that no run has as lost: their files have vanished, and will not come back. Records
     * that a run has, and gaps that have a name, stay as they are.
     *
     * @param partition the partition's number
     * @param from the first record's offset
     * @param to the offset after the last record
     * @return the gaps that have got a name
     * @throws ArchiveException if there is no such partition
     */
    public List<Gap> markLost(int partition, long from, long to) throws IOException {
        if (from < 0 || to <= from) {
            throw new IllegalArgumentException("from = " + from + ", to = " + to + "; expected 0 <= from < to");
        }
        if (partitions().stream().noneMatch(each -> each.id() == partition)) {
            throw new ArchiveException(files.uri() + " has no partition " + partition);
        }
        RunList runs = runs(partition);
        runs.refresh();
        List<Gap> marked = new ArrayList<>();
        for (Gap gap : runs.gaps(from, to)) {
            if (gap.reason().isEmpty()) {
                byte[] content = ArchiveText.encode(Map.of("created", now().toString()));
                GapName name = new GapName(gap.first(), gap.end(), runs.epochBefore(gap.first()), GapName.Reason.LOST);
                files.create(name.file(partition), out -> out.write(content));
                marked.add(gap);
            }
        }
        return marked;
    }

    /** The consumers, by name. */
    public List<ArchiveConsumer> consumers() throws IOException {
        return consumers.list();
    }

    /**
     * Stores the committed offsets of a consumer; creates the consumer if none has this name.
     *
     * @param name 1 to 100 letters, digits, {@code _}, {@code -} or {@code .}
     * @param label a description for people; may be empty
     * @param offsets by partition; the consumer keeps no offset for other partitions
     * @throws org.mmapqueue.errors.ConfigException if the name is not allowed
     */
    public void commit(String name, String label, Map<Integer, Long> offsets) throws IOException {
        consumers.commit(name, label, offsets);
    }

    /** Deletes a consumer; returns false if no consumer has this name. */
    public boolean deleteConsumer(String name) throws IOException {
        return consumers.delete(name);
    }

    /**
     * Deletes the unfinished files of a partition, which a killed process leaves. Only for the process that ships the
     * partition, before it stores anything.
     *
     * @return the number of deleted files
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
