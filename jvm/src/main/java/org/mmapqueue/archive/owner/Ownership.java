package org.mmapqueue.archive.owner;

import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.errors.ArchiveException;
import org.mmapqueue.meta.ArchiveLink;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The right of one shipper to store runs of a partition, from its claim until another shipper claims. Each start of a
 * shipper claims the next epoch, under a new token, which the queue's directory keeps. So a copy of the directory that
 * claims next replaces this shipper, and cannot be replaced by it again: one of two copies ends with an error.
 *
 * <p>{@link #check} is for one thread at a time besides the shipper's.
 */
public final class Ownership {
    private static final Logger LOG = LoggerFactory.getLogger(Ownership.class);

    private final ArchiveFiles files;
    private final Identity identity;
    private final UUID archive;
    private final UUID queue;
    private final String host;
    private final LinkStore store;

    // Set by the claim.
    private ClaimFiles claims;
    private int partition;
    private @Nullable Claim claim;
    /** The file of the claim, as listed. A file of the same name in another archive differs. */
    private ArchiveFiles.@Nullable Entry file;

    /** When a new queue in this directory has continued the partition; null if none has. */
    private @Nullable Instant adopted;

    /** Whether an archive is the one that it was. */
    @FunctionalInterface
    public interface Identity {
        /** Throws IOException if the archive is missing, or a different one is in its place. */
        void check() throws IOException;
    }

    /**
     * Makes an ownership that is not claimed yet.
     *
     * @param archive the archive's UUID
     * @param identity reads the archive's UUID again
     * @param queue the queue's UUID
     * @param host the name of this host
     * @param store the queue's directory
     */
    public Ownership(ArchiveFiles files, UUID archive, Identity identity, UUID queue, String host, LinkStore store) {
        this.files = files;
        this.archive = archive;
        this.identity = identity;
        this.queue = queue;
        this.host = host;
        this.store = store;
        this.claims = new ClaimFiles(files, 0);
    }

    /** Whether this directory has made the first claim of a partition that it may not have registered yet. */
    public boolean hasReserved(ArchiveLink link) throws IOException {
        return new ClaimFiles(files, link.partition())
                .newest()
                .filter(each -> link.isOwn(each.token()))
                .isPresent();
    }

    /** Makes the first claim of a partition; returns false if another process has made it. */
    public boolean reserve(int number) throws IOException {
        ArchiveLink link = new ArchiveLink(queue, archive, number, false, 1, null, UUID.randomUUID(), null);
        store.writeLink(link);
        return take(link);
    }

    /**
     * Throws if the newest claim of a partition is that of another directory or host, and may not be replaced.
     *
     * @throws ArchiveException if it is
     */
    public void refuseOthers(int number) throws IOException {
        Optional<Claim> newest = new ClaimFiles(files, number).newest();
        if (newest.isPresent()) {
            refuseOther(number, newest.get(), store.readLink());
        }
    }

    private void refuseOther(int number, Claim newest, Optional<ArchiveLink> link) throws IOException {
        if (link.isPresent() && newest.token().equals(link.get().taken())) {
            return;
        }
        String where = "queue " + queue + " is partition " + number + " of " + files.uri();
        boolean isOther = link.isEmpty() || !link.get().isOwn(newest.token());
        if (isOther && newest.adopted() != null) {
            throw new ArchiveException(where
                    + adoption(
                            newest,
                            new ClaimFiles(files, number),
                            link.map(ArchiveLink::epoch).orElse(0L)));
        }
        if (isOther) {
            throw new ArchiveException(where + ", and another directory with this queue has shipped it last: host "
                    + newest.host() + ", since " + newest.claimed() + ", epoch " + newest.epoch() + "; this directory "
                    + (link.isEmpty()
                            ? "never, or not since it has left this archive"
                            : "at epoch " + link.get().epoch())
                    + ". Of two copies of a directory, or a directory and its backup, only one can be shipped. If this"
                    + " one shall be shipped from now on, take the partition over");
        }
        if (!newest.host().equals(host)) {
            throw new ArchiveException(where + ", which host " + newest.host() + " ships; this host is " + host
                    + ". Two hosts with the same queue are two copies of one directory: only one of them can be"
                    + " shipped. If the disk has moved here, take the partition over");
        }
    }

    // What has happened to the shipper of an epoch whose partition was adopted, and what to do. Epoch 0 is that of a
    // directory that knows no claim: the archive may have any of its records.
    private static String adoption(Claim newest, ClaimFiles claims, long epoch) throws IOException {
        OptionalLong from = epoch == 0 ? OptionalLong.empty() : claims.fences().endOf(epoch);
        String offset = from.isPresent() ? Long.toString(from.getAsLong()) : "OFFSET";
        return ", which host " + newest.host() + " has adopted at " + newest.adopted()
                + ": a new queue in another directory continues the partition"
                + (from.isPresent() ? " from offset " + offset + " on" : "")
                + ". This directory is not shipped any more, and its records "
                + (from.isPresent() ? "from this offset on" : "after those of the archive")
                + " are not in the archive. To ship them too: mmapqueue export DIR rest.jsonl --from " + offset
                + ", then mmapqueue import NEW-DIR rest.jsonl";
    }

    /**
     * Claims a partition for a new queue in this directory, which continues it. Later starts of a shipper of this
     * directory pass that on.
     *
     * @throws ArchiveException if another directory or host has claimed it since the link was stored
     */
    public void adopt(int number) throws IOException {
        adopted = Instant.now().truncatedTo(ChronoUnit.MILLIS);
        claim(number);
    }

    /**
     * Claims a partition: from now on its former shipper acks nothing.
     *
     * @throws ArchiveException if another directory or host has claimed it
     */
    public void claim(int number) throws IOException {
        boolean isTaken = claim != null && partition == number; // by the reservation
        while (!isTaken) {
            ClaimFiles found = new ClaimFiles(files, number);
            Optional<Claim> newest = found.newest();
            Optional<ArchiveLink> link = store.readLink();
            if (newest.isPresent()) {
                refuseOther(number, newest.get(), link);
                if (adopted == null
                        && link.isPresent()
                        && link.get().isOwn(newest.get().token())) {
                    adopted = newest.get().adopted();
                }
            }
            UUID former = newest.map(Claim::token).orElse(null);
            UUID taken = link.map(ArchiveLink::taken).orElse(null);
            long epoch = 1
                    + Math.max(
                            newest.map(Claim::epoch).orElse(0L),
                            link.map(ArchiveLink::epoch).orElse(0L));
            ArchiveLink next = new ArchiveLink(
                            queue,
                            archive,
                            number,
                            true,
                            epoch,
                            taken != null && taken.equals(former) ? null : former,
                            link.isEmpty() ? UUID.randomUUID() : link.get().tokenAfter(former),
                            taken != null && taken.equals(former) ? taken : null)
                    .withGapOf(link.orElse(null));
            store.writeLink(next);
            isTaken = take(next); // else another process has claimed: refused, if it is not of this directory
        }
    }

    private boolean take(ArchiveLink link) throws IOException {
        ClaimFiles of = new ClaimFiles(files, link.partition());
        Claim mine = new Claim(
                link.epoch(), queue, link.next(), host, Instant.now().truncatedTo(ChronoUnit.MILLIS), adopted, null);
        if (!of.create(mine)) {
            // A store may have executed the request that it was sent twice.
            Optional<Claim> newest = of.newest();
            if (newest.isEmpty() || !newest.get().token().equals(link.next())) {
                return false;
            }
        }
        claims = of;
        partition = link.partition();
        claim = mine;
        return true;
    }

    /** The queue is registered as the partition: later starts claim it, and register nothing. */
    public void confirm() throws IOException {
        ArchiveLink link = store.readLink().orElseThrow();
        store.writeLink(new ArchiveLink(
                        queue, archive, link.partition(), true, link.epoch(), link.token(), link.next(), link.taken())
                .withGapOf(link));
    }

    /**
     * Tells readers where this shipper begins: they leave out the runs of former shippers beyond it.
     *
     * @param from the end of the runs, as listed after the claim
     */
    public void begin(long from) throws IOException {
        Claim mine = claimed();
        Claim complete = mine.beginning(claims.fences().with(mine.epoch(), from));
        claims.replace(complete);
        claim = complete;
        for (ClaimFiles.Listed each : claims.list()) {
            if (each.epoch() == complete.epoch()) {
                file = each.file();
            }
        }
        try {
            claims.deleteBefore(complete.epoch());
        } catch (IOException e) {
            LOG.debug("former claims of partition {} of {} are left: {}", partition, files.uri(), e.toString());
        }
    }

    private Claim claimed() {
        if (claim == null) {
            throw new IllegalStateException("partition " + partition + " is not claimed");
        }
        return claim;
    }

    /** The epoch of this shipper. */
    public long epoch() {
        return claimed().epoch();
    }

    /**
     * Checks that this shipper still owns the partition, and that the archive is still the same: mostly one listing. A
     * run that was stored before this call, and after the claim, is read by readers.
     *
     * @throws ArchiveException if another shipper has claimed the partition
     * @throws IOException if the archive is missing, or a different one is in its place, as below the mount point of a file
     *     system that is not mounted
     */
    public void check() throws IOException {
        Claim mine = claimed();
        List<ClaimFiles.Listed> listed = claims.list();
        if (!listed.isEmpty() && listed.get(0).file().equals(file)) {
            return;
        }
        identity.check();
        Claim newest = claims.newest()
                .orElseThrow(() -> new IOException(files.uri() + " has no claim of partition " + partition
                        + ": files below " + ClaimFiles.directory(partition) + " are missing"));
        if (!newest.token().equals(mine.token())) {
            if (newest.adopted() != null && !newest.adopted().equals(adopted)) {
                throw new ArchiveException("queue " + queue + " is partition " + partition + " of " + files.uri()
                        + adoption(newest, claims, mine.epoch()));
            }
            throw new ArchiveException("partition " + partition + " of " + files.uri() + " is shipped by host "
                    + newest.host() + " since " + newest.claimed() + ", epoch " + newest.epoch()
                    + "; this shipper has epoch " + mine.epoch()
                    + ", and acks nothing any more. Two directories with one"
                    + " queue are copies: only one of them can be shipped");
        }
        for (ClaimFiles.Listed each : claims.list()) {
            if (each.epoch() == mine.epoch()) {
                file = each.file();
            }
        }
    }
}
