package org.mmapqueue.registry;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import org.mmapqueue.ProducerStats;
import org.mmapqueue.errors.CorruptException;
import org.mmapqueue.errors.MmapQueueException;
import org.mmapqueue.io.FileMode;
import org.mmapqueue.io.Listing;
import org.mmapqueue.io.ProcessLock;
import org.mmapqueue.io.Storage;
import org.mmapqueue.io.Threads;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.MetaImage.Word;
import org.mmapqueue.meta.MetaPage;
import org.mmapqueue.recovery.QueueDirectory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All consumers of the queue, of any process. Safe for any number of threads.
 *
 * <p>Consumers and the writer share no lock (decision 011). To create, open or move back a consumer, a thread stores
 * the position, increments the count of changes in meta.dat, and only then loads the reclaiming position: if that is
 * higher, it waits for the outcome. The writer stores the reclaiming position, and only then loads the count and the
 * consumers' positions: if one is lower, it withdraws. So at least one of the two sees the other.
 */
public final class Registry implements Closeable {
    /** The name of the consumer of a queue's own read calls, and of the only consumer of version 1. */
    public static final String DEFAULT = "default";

    /** The name of the consumer that has passed the records which are in the archive. */
    public static final String SHIPPER = "ship";

    private static final Logger LOG = LoggerFactory.getLogger(Registry.class);
    private static final long ROUND_NANOS = 50_000;
    private static final int ROUNDS_TO_ASK = 1_000;
    private static final int MOST_ROUNDS = 200_000;

    /** A consumer with its name. */
    public record Named(String name, ConsumerCursors cursors) {}

    /**
     * The consumers that exist, as of a count of changes.
     *
     * @param all the consumers
     * @param cursors the cursors of the consumers, and those of the queue without a consumer
     */
    private record Known(long changes, List<Named> all, List<ConsumerCursors> cursors) {}

    private final Storage storage;
    private final Path directory;
    private final MetaPage meta;
    private final NoConsumer noConsumer;
    private final ConsumerPages pages;
    private volatile Known known = new Known(-1, List.of(), List.of());

    /** Opens the pages of all consumers that the queue directory has. */
    public Registry(Storage storage, Path queueDirectory, MetaPage meta) throws IOException {
        this.storage = storage;
        this.directory = queueDirectory.resolve(ConsumerPage.DIRECTORY);
        this.meta = meta;
        this.pages = new ConsumerPages(storage, directory, meta);
        this.noConsumer = new NoConsumer(meta, () -> slowestConsumer() == null);
        try {
            refresh();
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    /**
     * The last batches of the idempotent producers, whichever process is the writer.
     *
     * @param nextOffset the offset of the next record
     */
    public List<ProducerStats> producerStats(LongSupplier nextOffset) throws IOException {
        return ProducerFiles.read(storage, directory.getParent(), meta.fields(), nextOffset);
    }

    /** The directory of the consumers' files. */
    public Path directory() {
        return directory;
    }

    /**
     * Reads which consumers were created or deleted since the last call.
     *
     * @return the count of changes, loaded before the directory is read
     * @throws org.mmapqueue.errors.CorruptException when a page is damaged
     */
    public long refresh() throws IOException {
        if (isStale()) {
            look();
        }
        return known.changes;
    }

    /** Whether the consumers may have changed since {@link #refresh}. */
    public boolean isStale() {
        return known.changes != meta.consumerChanges();
    }

    private synchronized void look() throws IOException {
        long changes = meta.consumerChanges();
        List<Named> all = new ArrayList<>();
        if (meta.consumer() != null) {
            all.add(new Named(DEFAULT, meta.consumer()));
        }
        Set<String> stored = pages.stored();
        for (String name : stored) {
            try {
                ConsumerPage page = pages.get(name);
                if (!page.isDeleted()) {
                    all.add(new Named(name, page));
                }
            } catch (NoSuchFileException e) {
                // The consumer was deleted since the directory was read.
                pages.forget(name);
            }
        }
        pages.retain(stored);
        List<ConsumerCursors> cursors = new ArrayList<>();
        all.forEach(each -> cursors.add(each.cursors));
        cursors.add(noConsumer);
        known = new Known(changes, List.copyOf(all), List.copyOf(cursors));
    }

    /** The path of the file with a consumer's cursors. */
    public Path path(String name) {
        return meta.consumer() == null ? pages.path(name) : directory.resolveSibling(MetaPage.FILE_NAME);
    }

    /** All consumers, in alphabetical order. */
    public List<Named> all() {
        return known.all;
    }

    /** The names of all consumers, in that order; without those that were deleted since the last {@link #refresh}. */
    public List<String> names() {
        return known.all.stream().filter(Registry::isThere).map(Named::name).toList();
    }

    // A process that is killed while it deletes a consumer may have marked the page, and not counted that.
    private static boolean isThere(Named consumer) {
        return consumer.cursors.needed() != Long.MAX_VALUE;
    }

    /** The cursors of all consumers, and {@link #noConsumer}: the queue retains what any of them needs. */
    public List<ConsumerCursors> cursors() {
        return known.cursors;
    }

    /** The cursors that retain records while the queue has no consumer. */
    public NoConsumer noConsumer() {
        return noConsumer;
    }

    /** The slowest consumer, which retains the ring; null when the queue has no consumer. */
    public Named slowestConsumer() {
        Named lowWatermark = null;
        long least = Long.MAX_VALUE;
        for (Named each : known.all) {
            long needed = each.cursors.needed();
            if (needed < least) {
                least = needed;
                lowWatermark = each;
            }
        }
        return lowWatermark;
    }

    /** The cursors of a consumer, or null when no consumer has this name. */
    public ConsumerCursors find(String name) {
        return known.all.stream()
                .filter(each -> each.name.equals(name) && isThere(each))
                .map(Named::cursors)
                .findFirst()
                .orElse(null);
    }

    /** The low watermark: no consumer needs anything before this position. */
    public long lowWatermark() {
        long reclaimed = meta.reclaimed();
        long lowWatermark = noConsumer.needed();
        for (Named each : known.all) {
            lowWatermark = Math.min(lowWatermark, each.cursors.needed());
        }
        // A consumer below the reclaimed position is being created or moved, or was when its process died. If all
        // consumers were deleted since, deleting the last one has stored its position as heldFrom.
        return Math.max(lowWatermark == Long.MAX_VALUE ? meta.heldFrom() : lowWatermark, reclaimed);
    }

    /**
     * Creates a consumer. The caller holds the consumer's lock.
     *
     * @param target the position; called again if the writer has reclaimed that position
     */
    public ConsumerCursors create(String name, LongSupplier target) throws IOException {
        long position = target.getAsLong();
        try {
            ConsumerCursors made = make(name, position);
            while (!announce(position)) {
                position = target.getAsLong();
                made.reading(position);
                made.committed(position);
            }
            made.force();
            refresh();
            return made;
        } catch (Throwable e) {
            undo(name);
            throw e;
        }
    }

    /**
     * Returns the cursors of an existing consumer, and announces it to the writer: the process that created it may have
     * died before announcing it. The caller holds the consumer's lock.
     *
     * @param oldest the target for a consumer that was never announced, if its position has been reclaimed
     * @return null if no consumer has this name
     */
    public ConsumerCursors takeUp(String name, LongSupplier oldest) throws IOException {
        look();
        ConsumerCursors there = find(name);
        if (there instanceof ConsumerPage) {
            storage.syncDirectory(directory); // the process that created the page may have died before its fsync
        }
        while (there != null && !announce(there.needed())) {
            if (there.needed() < meta.reclaimed()) {
                long position = oldest.getAsLong();
                if (position < meta.reclaimed()) {
                    throw new CorruptException(
                            directory.resolveSibling(MetaPage.FILE_NAME).toString(),
                            Word.RECLAIMED.at(),
                            "reclaimed is " + meta.reclaimed() + ", but the records end at " + position);
                }
                LOG.warn(
                        "consumer {} was at position {}, which has been reclaimed; it continues at {}",
                        name,
                        there.needed(),
                        position);
                there.reading(position);
                there.unackedOffset(-1);
                there.committed(position);
            }
        }
        return there;
    }

    private void undo(String name) {
        try {
            remove(name);
        } catch (IOException | RuntimeException e) {
            LOG.warn("consumer {} could not be created, and its page could not be deleted: {}", name, e.toString());
        }
    }

    private synchronized ConsumerCursors make(String name, long position) throws IOException {
        ConsumerPage.create(
                storage, path(name), meta.fields(), ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()), position);
        return pages.get(name);
    }

    // Announces a stored position. True: the writer retains everything from it on. False: the position was
    // reclaimed. Waits for a writer that is about to decide.
    private boolean announce(long position) throws IOException {
        meta.countConsumerChange();
        for (int round = 1; meta.reclaiming() > position; round++) {
            if (meta.reclaimed() > position) {
                return false;
            }
            // The writer decides in a moment, unless it is stopped or has died.
            Threads.pause(ROUND_NANOS);
            if (round % ROUNDS_TO_ASK == 0) {
                withdrawForDeadWriter();
            }
            if (round == MOST_ROUNDS) {
                throw new MmapQueueException("the writing process announced " + MOST_ROUNDS * ROUND_NANOS / 1_000_000
                        + " ms ago that it reclaims position " + position
                        + ", and has neither done nor withdrawn that; is it stopped?");
            }
        }
        return true;
    }

    private void withdrawForDeadWriter() throws IOException {
        storage.checkPlace();
        try (ProcessLock lock =
                ProcessLock.tryForAMoment(directory.resolveSibling(QueueDirectory.LOCK_FILE), FileMode.PRIVATE)) {
            if (lock != null) { // null: the writer is alive
                meta.reclaiming(meta.reclaimed());
            }
        }
    }

    /**
     * Moves the committed and the reading position of a consumer. Only its owner calls this.
     *
     * @return false if the position was reclaimed; nothing has moved then
     */
    public boolean move(ConsumerCursors cursors, long position) throws IOException {
        long before = cursors.committed();
        if (position >= before) {
            cursors.reading(position);
            cursors.committed(position);
            return true;
        }
        boolean moved = false;
        cursors.committed(position);
        try {
            moved = announce(position);
        } finally {
            if (!moved) {
                cursors.committed(before);
            }
        }
        if (moved) {
            cursors.reading(position);
        }
        return moved;
    }

    /**
     * Moves a consumer to a record that only the archive has. Only its owner calls this.
     *
     * @param ring the position after which the ring's oldest record begins, more than 0
     * @return false if that position was reclaimed; nothing has moved then
     */
    public boolean moveBehind(ConsumerCursors cursors, long ring, long offset) throws IOException {
        if (!move(cursors, ring)) {
            return false;
        }
        cursors.leaveBefore(ring, offset);
        return true;
    }

    /** Deletes a consumer. The caller holds the consumer's lock and the deletion lock. */
    public void delete(String name) throws IOException {
        look();
        ConsumerCursors cursors = find(name);
        if (cursors != null && isLast(name)) {
            // Made durable before the consumer's page is deleted: slots before heldFrom's old value may have been
            // reused since.
            noConsumer.committed(Math.max(cursors.needed(), meta.reclaimed()));
            meta.force();
        }
        remove(name);
        refresh();
    }

    private boolean isLast(String name) {
        return known.all.stream().allMatch(each -> each.name.equals(name) || each.cursors.needed() == Long.MAX_VALUE);
    }

    private synchronized void remove(String name) throws IOException {
        try {
            // Marks the mapped page as deleted first, so that the writer learns of it without reading the directory.
            pages.get(name).delete();
        } catch (NoSuchFileException e) {
            return;
        }
        try {
            storage.delete(path(name));
            storage.syncDirectory(directory);
        } finally {
            meta.countConsumerChange(); // deleted, if not durably
            pages.forget(name);
        }
    }

    @Override
    public synchronized void close() throws IOException {
        pages.close();
    }

    /** Throws when the directory of consumers is a symbolic link. */
    public void refuseLink() throws IOException {
        Listing.refuseLink(directory);
    }
}
