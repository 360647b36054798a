package org.mmapqueue.core;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.mmapqueue.ConsumerStats;
import org.mmapqueue.ShipStats;
import org.mmapqueue.StartAt;
import org.mmapqueue.archive.Archive;
import org.mmapqueue.archive.ShipOptions;
import org.mmapqueue.archive.ShipSource;
import org.mmapqueue.archive.Shipper;
import org.mmapqueue.archive.files.ArchiveFiles;
import org.mmapqueue.archive.files.Archives;
import org.mmapqueue.archive.owner.LinkStore;
import org.mmapqueue.archive.run.ArchiveCodec;
import org.mmapqueue.archive.run.RunWriter;
import org.mmapqueue.concurrent.Signal;
import org.mmapqueue.config.ConfigKey;
import org.mmapqueue.config.ConfigValues;
import org.mmapqueue.config.HostName;
import org.mmapqueue.config.Locations;
import org.mmapqueue.config.Settings;
import org.mmapqueue.consume.ConsumerCore;
import org.mmapqueue.errors.ClosedException;
import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.errors.DroppedException;
import org.mmapqueue.errors.LockedException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.errors.OutOfRangeException;
import org.mmapqueue.io.CauseText;
import org.mmapqueue.io.DiskStorage;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.io.GuardedLog;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ArchiveLink;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.meta.OverflowFile;
import org.mmapqueue.registry.Registry;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ships an open queue into its archive, in this process, or waits for another process that does. Safe for any number of
 * threads.
 */
public final class Shipping {
    /** The consumer that retains the records which are not shipped yet. */
    public static final String CONSUMER = Registry.SHIPPER;

    private static final Logger LOG = LoggerFactory.getLogger(Shipping.class);
    private static final Duration MOST_AT_CLOSE = Duration.ofSeconds(5);

    private final QueueCore core;
    private final Registry registry;
    private final Settings.Archiving settings;
    /** Polled as well: other processes may ship, too. */
    private final Signal shipped;

    private volatile @Nullable Shipper shipper;
    private volatile @Nullable ConsumerCore shipping;

    Shipping(QueueCore core, Registry registry) {
        this.core = core;
        this.registry = registry;
        this.settings = core.settings().archiving();
        this.shipped = Signal.forProcesses(core.settings().waiting());
    }

    /** Starts shipping, if the configuration asks for it. */
    void start() {
        if (!settings.isOn()) {
            checkMayDrop();
            return;
        }
        ShipOptions options = options(settings);
        URI archive = location(settings);
        ShipSource source = source(archive);
        FileMode mode = fileMode();
        Shipper started =
                new Shipper(core.directory().toString(), source, archive, () -> Archives.files(archive, mode), options);
        shipper = started;
        started.start();
        if (settings.overflows()) {
            core.writer().whenShort(() -> started.demand(core.writer().endOffset()));
        }
    }

    private ShipOptions options(Settings.Archiving given) {
        ArchiveCodec codec = ArchiveCodec.valueOf(given.codec().toUpperCase(Locale.ROOT));
        new RunWriter(core.id(), 1, codec); // throws early if the codec's library is missing
        return new ShipOptions(
                HostName.of(given.host()),
                Duration.ofMillis(given.periodMillis()),
                given.bytes(),
                codec,
                Duration.ofMillis(given.retainMillis()),
                Duration.ofMillis(core.settings().maxAgeMillis()));
    }

    private static URI location(Settings.Archiving given) {
        return Locations.of(ConfigKey.ARCHIVE_URI.keyName(), given.uri());
    }

    /**
     * Prepares the queue for its shipper: opens the shipper's consumer, and stores where the ring overflows to.
     *
     * @return the queue as the source of the shipper
     */
    public ShipSource source(URI archive) {
        ConsumerCore consumer = core.consumer(CONSUMER, StartAt.EARLIEST);
        begin(archive, consumer);
        shipping = consumer;
        return new QueueShipSource(
                core,
                core.log().storedReader(),
                consumer,
                before -> {
                    consumer.commit(core.log().locate(StartAt.offset(before)), registry);
                    core.signalRoom();
                    shipped.signalAll();
                },
                link());
    }

    // Before the ring gives up anything: consumers of all processes look for the file then, and the archive must have
    // what they need.
    private void begin(URI archive, ConsumerCore consumer) {
        try {
            if (link().undamaged().isEmpty()) {
                shipWholeRing(consumer);
            }
            if (settings.overflows()) {
                OverflowFile.write(storage(), core.directory(), archive);
            }
        } catch (IOException e) {
            throw new MmapQueueException(
                    "the queue in " + core.directory() + " could not begin to fill its archive " + archive + ": "
                            + CauseText.of(e),
                    e);
        }
    }

    /**
     * Moves the shipper's consumer back to the first record of the ring. What it has acked may be in another archive, or
     * in none, and other consumers may need it: they read it in this archive once the ring has given it up.
     */
    private void shipWholeRing(ConsumerCore consumer) throws IOException {
        boolean isMoved = false;
        while (consumer.neededOffset() > core.log().firstOffset() && !isMoved) {
            try {
                core.seek(consumer, StartAt.EARLIEST);
                isMoved = true;
            } catch (DroppedException e) {
                LOG.debug("records were dropped before they were shipped: {}", e.getMessage()); // thrown once
            }
        }
        ConsumerCursors cursors = registry.find(CONSUMER);
        if (isMoved && cursors != null) {
            cursors.force(); // before the archive is another one
        }
    }

    // Consumers take what is dropped for what the archive has.
    private void checkMayDrop() {
        Settings all = core.settings();
        if (all.readOnly() || all.maxConsumerLag() == 0 && all.maxAgeMillis() == 0) {
            return;
        }
        try {
            Optional<URI> archive = OverflowFile.read(storage(), core.directory());
            if (archive.isPresent()) {
                ConfigKey key = all.maxAgeMillis() > 0 ? ConfigKey.MAX_AGE : ConfigKey.MAX_CONSUMER_LAG;
                throw new ConfigException(
                        key.keyName(),
                        all.given().text(key),
                        "0: consumers of this queue read on in the archive " + archive.get()
                                + ", so nothing is dropped for them. Let the queue leave its archive first");
            }
        } catch (IOException e) {
            throw new MmapQueueException("the queue in " + core.directory() + " could not be read: " + e, e);
        }
    }

    /** Why the ring is full though it overflows. */
    String whyFull() {
        return "the archive in " + settings.uri() + " does not have them yet"
                + troubleOf(CONSUMER).map(text -> "; " + text).orElse("");
    }

    /**
     * Lets this directory replace the directory or host that ships the queue now, at the next start of a shipper.
     *
     * @param archive the archive's directory
     * @return false if nobody ships the queue there
     * @throws org.mmapqueue.errors.LockedException if a process ships this directory, or this one writes the queue
     */
    public boolean takeOver(URI archive) {
        ownConsumer();
        ArchiveFiles files = Archives.files(archive, fileMode());
        try {
            if (!Archive.isArchive(files)) {
                return false;
            }
            return Archive.open(files).takeOver(core.id(), link());
        } catch (IOException e) {
            throw new MmapQueueException("the archive in " + files.uri() + " could not be used: " + e, e);
        } finally {
            files.close();
        }
    }

    /**
     * Claims the queue's partition in another archive, and then makes that one the archive into which this directory is
     * shipped, in one durable step. Until then it is the former one.
     *
     * @param config with archive_uri, the archive
     * @param takesOver whether this directory replaces the directory or host that ships the queue there
     * @return false if this directory is shipped into that archive already
     * @throws org.mmapqueue.errors.LockedException if a process ships this directory
     * @throws MmapQueueException if a consumer needs records that only the former archive has, or the archive cannot be
     *     used
     */
    public boolean changeArchive(ConfigValues config, boolean takesOver) {
        Settings.Archiving given = core.settings().archivingOf(config);
        if (!given.isOn()) {
            throw new ConfigException(
                    ConfigKey.ARCHIVE_URI.keyName(), given.uri(), "the archive into which the queue shall be shipped");
        }
        ShipOptions options = options(given);
        try (ArchiveFiles files = Archives.files(location(given), fileMode())) {
            return changeArchive(files, storage(), options, takesOver);
        } catch (IOException | UncheckedIOException e) {
            throw new MmapQueueException(
                    "the queue in " + core.directory() + " could not change to the archive in " + given.uri() + ": "
                            + CauseText.of(e),
                    e);
        }
    }

    /** As above, on other files, for tests. */
    boolean changeArchive(ArchiveFiles files, Storage storage, ShipOptions options, boolean takesOver)
            throws IOException {
        ownConsumer();
        LinkStore link = LinkFile.in(storage, core.directory());
        if (Archive.isArchive(files)) {
            Archive there = Archive.open(files);
            if (isOf(there, link.undamaged())) {
                if (takesOver) {
                    there.takeOver(core.id(), link);
                }
                return false;
            }
        }
        checkNobodyBehind();
        Archive archive = Archive.create(files);
        // Kept by a crash after the claim: the repeated call knows it for its own.
        Path file = core.directory().resolve(ArchiveLink.NEXT_NAME);
        LinkStore next = new LinkFile(storage, file);
        if (!isOf(archive, next.undamaged())) {
            storage.delete(file);
        }
        if (takesOver) {
            archive.takeOver(core.id(), next);
        }
        claim(archive, next, options);
        OverflowFile.delete(storage, core.directory());
        ArchiveLink.change(storage, core.directory());
        return true;
    }

    // A queue that was never shipped keeps no consumer of a failed claim, which would retain all records.
    private void claim(Archive archive, LinkStore next, ShipOptions options) throws IOException {
        boolean isNew = !core.consumerNames().contains(CONSUMER);
        ConsumerCore consumer = core.consumer(CONSUMER, StartAt.EARLIEST);
        boolean isClaimed = false;
        try {
            shipWholeRing(consumer);
            // Nothing is acked yet: the former archive does not have what this one has.
            archive.claim(new QueueShipSource(core, core.log().storedReader(), consumer, before -> {}, next), options);
            isClaimed = true;
        } finally {
            if (isNew && !isClaimed) {
                core.deleteConsumer(CONSUMER);
            }
        }
    }

    private boolean isOf(Archive archive, Optional<ArchiveLink> link) {
        return link.isPresent()
                && link.get().archive().equals(archive.id())
                && link.get().queue().equals(core.id());
    }

    /**
     * Forgets the archive into which this directory was shipped.
     *
     * @return false if it was never shipped
     * @throws org.mmapqueue.errors.LockedException if a process ships this directory
     * @throws MmapQueueException if a consumer needs records that only the archive has
     */
    public boolean leaveArchive() {
        ownConsumer();
        checkNobodyBehind();
        try {
            OverflowFile.delete(storage(), core.directory());
            return ArchiveLink.delete(storage(), core.directory());
        } catch (IOException e) {
            throw new MmapQueueException("the queue in " + core.directory() + " could not leave its archive: " + e, e);
        }
    }

    private void checkNobodyBehind() {
        for (ConsumerStats each : core.consumerStats()) {
            if (each.archivedRecords() > 0) {
                throw new MmapQueueException("the queue in " + core.directory() + " cannot leave its archive: consumer "
                        + each.name() + " needs " + each.archivedRecords()
                        + " records that only the archive has. Let it read them, or seek it into the ring, or"
                        + " delete it");
            }
        }
    }

    // Throws LockedException if another process ships. The consumer's lock is held until the queue is closed. A queue
    // that was never shipped has no such consumer, and gets none: it would retain all records.
    private void ownConsumer() {
        if (shipper != null || !core.settings().readOnly()) {
            throw new LockedException(
                    "the queue in " + core.directory() + " is open in this process: close it first",
                    ProcessHandle.current().pid());
        }
        if (core.consumerNames().contains(CONSUMER)) {
            core.consumer(CONSUMER, StartAt.EARLIEST);
        }
    }

    private LinkStore link() {
        return LinkFile.in(storage(), core.directory());
    }

    private Storage storage() {
        return core.settings().readOnly() ? new DiskStorage(fileMode()) : core.storage();
    }

    // A process beside the writer may not know its file_mode.
    private FileMode fileMode() {
        try {
            return FileMode.like(core.directory().resolve(MetaPage.FILE_NAME));
        } catch (IOException e) {
            throw new MmapQueueException("the queue in " + core.directory() + " could not be read: " + e, e);
        }
    }

    /** What this process has shipped; empty if this process does not ship. */
    public Optional<ShipStats> stats() {
        return Optional.ofNullable(shipper).map(Shipper::stats);
    }

    /** Why a consumer does not ack records: this process ships for it, and fails. Else empty. */
    Optional<String> troubleOf(String consumer) {
        return consumer.equals(CONSUMER) ? Optional.ofNullable(shipper).flatMap(Shipper::trouble) : Optional.empty();
    }

    /**
     * Throws ConfigException if this process ships, since a purge would ack records that the archive would then miss.
     */
    void checkMayPurge() {
        if (settings.isOn()) {
            throw new ConfigException(
                    ConfigKey.ARCHIVE_URI.keyName(),
                    settings.uri(),
                    "none for a purge, which would ack records that are not shipped yet");
        }
    }

    /**
     * Ends the shipping of this process before its consumer is closed or deleted: from then on another process may ship
     * the queue.
     *
     * @throws MmapQueueException if a call of the archive's file system does not return
     */
    void endBefore(String closedConsumer) {
        Shipper own = shipper;
        if (own != null
                && closedConsumer.equals(CONSUMER)
                && !own.end(new ClosedException("consumer " + CONSUMER + " was closed or deleted"), MOST_AT_CLOSE)) {
            throw new MmapQueueException("consumer " + CONSUMER + " of the queue in " + core.directory()
                    + " cannot be closed: a call of the archive's file system does not return");
        }
    }

    /** The offset of the first record that is not in the archive yet. */
    private long shippedOffset() {
        return core.passedOffset(CONSUMER)
                .orElseThrow(() -> new ConfigException(
                        "consumer",
                        CONSUMER,
                        "one of " + core.consumerNames() + ": no process has shipped the queue in " + core.directory()
                                + " (archive_uri, or the command ship)"));
    }

    /**
     * Waits until a record and all records before it are in the archive.
     *
     * @param timeoutNanos the maximum wait
     * @return whether they are
     * @throws DroppedException if the queue has dropped the record before it was shipped
     */
    public boolean await(long offset, long timeoutNanos) throws InterruptedException {
        core.log().randomAccess(); // throws in version 1
        long end = core.endOffset();
        if (offset < 0 || offset >= end) {
            throw new OutOfRangeException("waiting for a shipped record", offset, 0, end - 1);
        }
        long deadline = System.nanoTime() + timeoutNanos;
        if (shippedOffset() <= offset
                && !core.settings().readOnly()
                && core.log().durableOffset() <= offset) {
            core.writer().awaitDurable();
        }
        while (shippedOffset() <= offset) {
            Shipper own = shipper;
            RuntimeException failure = own == null ? null : own.failure();
            if (failure != null) {
                throw new MmapQueueException(
                        "the queue in " + core.directory() + " is not shipped any more: " + failure.getMessage(),
                        failure);
            }
            checkRetained(offset);
            if (deadline - System.nanoTime() <= 0) {
                return false;
            }
            if (own != null) {
                own.demand(offset + 1);
            }
            shipped.await(deadline, () -> shippedOffset() > offset || core.log().firstOffset() > offset);
        }
        checkNoGap(offset);
        return true;
    }

    // The log start alone does not tell: it moves before the committed offset does. A drop that consumer ship has
    // passed is a gap by then.
    private void checkRetained(long offset) {
        long first = core.log().firstOffset();
        OptionalLong dropped = core.droppedFirst(CONSUMER);
        if (dropped.isPresent() && dropped.getAsLong() <= offset && offset < first) {
            throw new DroppedException(CONSUMER, dropped.getAsLong(), first - 1);
        }
    }

    private void checkNoGap(long offset) {
        try {
            Optional<ArchiveLink> known = link().readLink();
            if (known.isPresent()
                    && known.get().gapFirst() <= offset
                    && offset < known.get().gapEnd()) {
                throw new DroppedException(
                        CONSUMER, known.get().gapFirst(), known.get().gapEnd() - 1);
            }
        } catch (IOException e) {
            throw new MmapQueueException("the queue in " + core.directory() + " could not be read: " + e, e);
        }
    }

    private void makeDurable() {
        try {
            if (!core.settings().readOnly()) {
                core.writer().flush();
            }
        } catch (MmapQueueException e) {
            LOG.warn("the queue in {} could not be flushed before its close: {}", core.directory(), e.getMessage());
        }
    }

    /** Ships the remaining records, for at most some seconds, and ends; then closes the queue, also after a failure. */
    void closeThen(Runnable queue) {
        try {
            close();
        } finally {
            queue.run();
        }
    }

    private void close() {
        Shipper own = shipper;
        if (own != null) {
            try {
                makeDurable();
            } finally {
                if (!own.close(MOST_AT_CLOSE)) {
                    keepLocked(own);
                }
            }
        }
    }

    // Another process must not ship while this one can still change the archive.
    private void keepLocked(Shipper own) {
        ConsumerCore consumer = shipping;
        if (consumer == null) {
            return;
        }
        Closeable lock = consumer.keepOwnership();
        GuardedLog.log(() -> LOG.warn(
                "the queue in {} is closed, but consumer {} stays locked: a call of the archive's file system does not"
                        + " return",
                core.directory(),
                CONSUMER));
        own.whenEnded(() -> {
            try {
                lock.close();
            } catch (IOException e) {
                LOG.warn("consumer {} of {} could not be unlocked: {}", CONSUMER, core.directory(), e.toString());
            }
        });
    }
}
