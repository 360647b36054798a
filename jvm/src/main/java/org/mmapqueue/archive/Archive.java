package org.mmapqueue.archive;

import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.ArchiveText;
import org.mmapqueue.archive.files.TemporaryNames;
import org.mmapqueue.archive.owner.Claim;
import org.mmapqueue.archive.owner.ClaimFiles;
import org.mmapqueue.archive.owner.LinkStore;
import org.mmapqueue.archive.owner.Ownership;
import org.mmapqueue.archive.run.GapName;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.meta.ArchiveLink;

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
            throw new ArchiveException(files.uri() + " is not an archive: it has no " + FILE);
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

    /** Throws IOException unless these files are still those of this archive. */
    public void checkIdentity() throws IOException {
        checkIdentity(files, id);
    }

    private static void checkIdentity(ArchiveFiles files, UUID expected) throws IOException {
        Optional<ArchiveText> text = ArchiveText.read(files, FILE);
        if (text.isEmpty()) {
            throw new IOException(files.uri() + " has no " + FILE + ": the archive " + expected
                    + ", into which the queue is shipped, is missing; is its file system mounted?");
        }
        UUID found = text.get().get("id", UUID::fromString);
        if (!found.equals(expected)) {
            throw new IOException(
                    files.uri() + " is the archive " + found + "; the queue is shipped into the archive " + expected);
        }
    }

    /**
     * Opens the archive into which a queue is shipped.
     *
     * @param files the archive's files; closed by {@link #close}
     * @param expected the archive's UUID
     * @throws IOException if the archive is missing, or a different one is in its place: it may come back
     */
    public static Archive openSame(ArchiveFiles files, UUID expected) throws IOException {
        checkIdentity(files, expected);
        return open(files);
    }

    /** The partitions, by number: one listing of their registrations, of which none is read. */
    public List<PartitionEntry> partitions() throws IOException {
        return registry.list();
    }

    /**
     * Reads the registration of a partition.
     *
     * @throws ArchiveException if its file is damaged
     */
    public Registration registration(PartitionEntry entry) throws IOException {
        return registry.read(entry);
    }

    /**
     * The claim of the shipper that ships a partition now; empty if there is none.
     *
     * @throws ArchiveException if its file is damaged
     */
    public Optional<Claim> owner(PartitionEntry entry) throws IOException {
        return new ClaimFiles(files, entry.id()).newest();
    }

    /**
     * Registers a queue as a partition, or returns the partition if the queue is registered. Shippers register by
     * themselves.
     *
     * @param queue the queue's UUID
     * @param local the number of the partition in the queue's directory, 0 or more
     * @param host the host that ships the queue
     */
    public PartitionEntry register(UUID queue, int local, String host) throws IOException {
        if (local < 0 || host.isBlank()) {
            throw new IllegalArgumentException(
                    "local = " + local + ", host = '" + host + "'; expected 0 or more, and a name");
        }
        Optional<PartitionEntry> known = registry.find(queue);
        if (known.isPresent()) {
            return known.get();
        }
        Ownership owner = ownership(queue, host, new MemoryLink());
        int number = registry.reserve(owner::reserve);
        return registered(new PartitionEntry(number, queue), local, host);
    }

    private PartitionEntry registered(PartitionEntry entry, int local, String host) throws IOException {
        registry.create(entry, new Registration(local, host, now()));
        return entry;
    }

    private Ownership ownership(UUID queue, String host, LinkStore store) {
        return new Ownership(files, id, this::checkIdentity, queue, host, store);
    }

    /**
     * An ownership of the partition of a queue, which is registered if it never was. It is not claimed yet.
     *
     * @throws ArchiveException if the queue's registration is missing, or another directory or host ships the queue
     */
    Owned own(ShipSource source, String host) throws IOException {
        Ownership owner = ownership(source.queueId(), host, source);
        Optional<ArchiveLink> link = source.readLink();
        PartitionEntry entry;
        if (link.isPresent() && link.get().isRegistered()) {
            entry = new PartitionEntry(link.get().partition(), source.queueId());
            if (!registry.isThere(entry)) {
                checkIdentity(); // else the archive is missing as a whole
                throw new ArchiveException(files.uri() + PartitionRegistry.file(entry)
                        + " is missing: the registration of this queue, which was shipped as partition " + entry.id()
                        + ". Without it no query reads the partition. Restore the file");
            }
        } else {
            Optional<PartitionEntry> known = registry.find(source.queueId());
            if (known.isPresent()) {
                entry = known.get();
            } else if (link.isPresent() && owner.hasReserved(link.get())) {
                entry = new PartitionEntry(link.get().partition(), source.queueId());
            } else {
                entry = new PartitionEntry(registry.reserve(owner::reserve), source.queueId());
            }
            owner.refuseOthers(entry.id());
            registered(entry, source.localPartition(), host);
            if (known.isEmpty()) {
                owner.confirm();
            }
        }
        owner.refuseOthers(entry.id());
        return new Owned(owner, entry);
    }

    /**
     * Claims the partition of a queue, as a start of its shipper does, and ships nothing. A queue that was never shipped
     * gets a partition.
     *
     * @throws ArchiveException if another directory or host ships the queue, or the archive has other records than the
     *     queue
     */
    public void claim(ShipSource source, ShipOptions options) throws IOException {
        Shipment.resume(source, files, options).close();
    }

    /**
     * Lets the directory of a queue replace the shipper that ships the queue now, at its next start.
     *
     * @param queue the queue's UUID
     * @param store the queue's directory, which no process ships at present
     * @return false if no shipper exists that could be replaced
     * @throws ArchiveException if the directory is shipped into another archive
     */
    public boolean takeOver(UUID queue, LinkStore store) throws IOException {
        Optional<PartitionEntry> entry = registry.find(queue);
        Optional<Claim> newest = entry.isEmpty() ? Optional.empty() : owner(entry.get());
        if (newest.isEmpty()) {
            return false;
        }
        Optional<ArchiveLink> before = store.undamaged(); // replaced by this call
        if (before.isPresent() && !before.get().archive().equals(id)) {
            throw new ArchiveException(files.uri() + " is the archive " + id + "; this directory is shipped into the"
                    + " archive " + before.get().archive());
        }
        store.writeLink(new ArchiveLink(
                        queue,
                        id,
                        entry.get().id(),
                        true,
                        Math.max(
                                newest.get().epoch(),
                                before.map(ArchiveLink::epoch).orElse(0L)),
                        before.map(ArchiveLink::token).orElse(null),
                        before.map(ArchiveLink::next).orElseGet(UUID::randomUUID),
                        newest.get().token())
                .withGapOf(before.orElse(null)));
        return true;
    }

    /**
     * Finds a partition that a new queue may continue, in place of the queue that was shipped until now. Changes
     * nothing yet.
     *
     * @param partition the partition's number
     * @param host the name of this host
     * @param store the directory of the new queue
     * @throws ArchiveException if there is no such partition, or the newest run is damaged
     */
    public PartitionAdoption adoption(int partition, String host, LinkStore store) throws IOException {
        PartitionEntry entry = registry.list().stream()
                .filter(each -> each.id() == partition)
                .findFirst()
                .orElseThrow(() -> new ArchiveException(files.uri() + " has no partition " + partition));
        return new PartitionAdoption(this, entry, ownership(entry.queue(), host, store), store);
    }

    /** A partition, and the right to ship it. */
    record Owned(Ownership owner, PartitionEntry partition) {}

    /** For a queue without a directory. */
    private static final class MemoryLink implements LinkStore {
        private @Nullable ArchiveLink link;

        @Override
        public Optional<ArchiveLink> readLink() {
            return Optional.ofNullable(link);
        }

        @Override
        public void writeLink(ArchiveLink now) {
            link = now;
        }
    }

    /** The list of a partition's runs, not loaded yet. */
    public RunList runs(int partition) {
        return new RunList(files, partition, false);
    }

    /** The list of a partition's runs with the times at which they were stored, not loaded yet. */
    RunList timedRuns(int partition) {
        return new RunList(files, partition, true);
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
                GapName name = new GapName(gap.first(), gap.end(), runs.epoch(), GapName.Reason.LOST);
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
        String runs = TemporaryNames.beginning(RunName.directory(partition) + "/");
        String claims = TemporaryNames.beginning(ClaimFiles.directory(partition) + "/");
        int deleted = 0;
        for (ArchiveFiles.Entry each : files.list(ArchiveFiles.TEMPORARY)) {
            if ((each.name().startsWith(runs) || each.name().startsWith(claims))
                    && files.delete(ArchiveFiles.TEMPORARY + "/" + each.name())) {
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
