package org.mmapqueue.archive;

import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.mmapqueue.archive.owner.Claim;
import org.mmapqueue.archive.owner.LinkStore;
import org.mmapqueue.archive.owner.Ownership;
import org.mmapqueue.archive.run.RunFile;
import org.mmapqueue.archive.run.RunName;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.meta.ArchiveLink;

/**
 * The change of a partition from the queue that was shipped until now to a new, empty one with its UUID. Of several
 * adoptions at once one alone succeeds. Not thread-safe.
 */
public final class PartitionAdoption {
    private final Archive archive;
    private final PartitionEntry entry;
    private final Ownership owner;
    private final LinkStore store;
    private final RunList runs;
    /** As it was at the beginning: a later claim is that of another process. */
    private final Optional<Claim> former;

    PartitionAdoption(Archive archive, PartitionEntry entry, Ownership owner, LinkStore store) throws IOException {
        this.archive = archive;
        this.entry = entry;
        this.owner = owner;
        this.store = store;
        this.former = archive.owner(entry);
        this.runs = archive.runs(entry.id());
        runs.refresh();
        checkNewestRun();
    }

    // The offsets follow from the name of the newest run, so its content must agree with its name.
    private void checkNewestRun() throws IOException {
        try {
            openNewestRun();
        } catch (NoSuchFileException e) {
            runs.relist(); // it was replaced since it was listed
            openNewestRun();
        } catch (CorruptException e) {
            throw new ArchiveException(
                    "partition " + entry.id() + " of " + archive.files().uri()
                            + " cannot be adopted, since its newest run is damaged: " + e.getMessage()
                            + ". Restore the file; or create a queue, which becomes a new partition",
                    e);
        }
    }

    private void openNewestRun() throws IOException {
        List<RunName> newest = runs.cover(runs.endOffset() - 1, runs.endOffset()); // none, if a gap follows it
        for (RunName each : newest) {
            RunFile.open(archive.files(), entry.id(), each, entry.queue()).close();
        }
    }

    /** The UUID of both queues. */
    public UUID queueId() {
        return entry.queue();
    }

    /**
     * Claims the partition: from now on the former shipper acks nothing.
     *
     * @throws ArchiveException if another process has claimed it since this object was made
     */
    public void claim() throws IOException {
        store.writeLink(new ArchiveLink(
                entry.queue(),
                archive.id(),
                entry.id(),
                true,
                former.map(Claim::epoch).orElse(runs.epoch()),
                null,
                UUID.randomUUID(),
                former.map(Claim::token).orElse(null)));
        owner.adopt(entry.id());
        runs.relist(); // the former shipper may have stored and acked runs up to the claim
        checkNewestRun();
        owner.begin(runs.endOffset());
    }

    /** The offset of the new queue's first record: the one after the last record of the archive. */
    public long nextOffset() {
        return runs.endOffset();
    }

    /** The newest timestamp of the archive, in µs since 1970; 0 if no record has one. */
    public long newestMicros() throws IOException {
        return runs.longest().stream().mapToLong(RunName::maxMicros).max().orElse(0);
    }

    /**
     * Checks that the partition is still claimed by this adoption.
     *
     * @throws ArchiveException if another process has claimed it
     */
    public void check() throws IOException {
        owner.check();
    }
}
