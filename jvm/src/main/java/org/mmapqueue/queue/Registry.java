package org.mmapqueue.queue;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

import org.mmapqueue.errors.ConfigException;
import org.mmapqueue.io.Closing;
import org.mmapqueue.io.Storage;
import org.mmapqueue.meta.ConsumerCursors;
import org.mmapqueue.meta.ConsumerPage;
import org.mmapqueue.meta.MetaPage;

/**
 * The consumers that the queue has, whichever process has made them or owns them. Any number of threads.
 *
 * <p>Consumer and writer meet without a lock (decision 011). Who makes a consumer or moves one back stores its place,
 * counts the change in meta.dat, and only then looks at the reclaimed position: when that has passed its own, it must
 * go on from there. The writer moves the reclaimed position, and only then looks at the count and the consumers: when
 * one is behind, it moves it back and does not use the space. One of the two always sees the other.
 */
final class Registry implements Closeable {
    /** The consumer whose cursors are in meta.dat. */
    static final String DEFAULT = "default";

    /** Where a consumer is to stand; asked again when the writer has taken the space meanwhile. */
    interface Place {
        long position();
    }

    /** A consumer. */
    record Named(String name, ConsumerCursors cursors) {
    }

    /** What was found when the changes were counted so far. */
    private record Known(long changes, List<Named> all) {
    }

    private final Storage storage;
    private final Path directory;
    private final MetaPage meta;
    private final Map<String, ConsumerPage> pages = new HashMap<>();
    private volatile Known known = new Known(-1, List.of());

    /** Opens the pages of all consumers that the queue directory has. */
    Registry(Storage storage, Path queueDirectory, MetaPage meta) throws IOException {
        this.storage = storage;
        this.directory = queueDirectory.resolve(ConsumerPage.DIRECTORY);
        this.meta = meta;
        try {
            refresh();
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    /** Where the consumers' files lie. */
    Path directory() {
        return directory;
    }

    /**
     * Looks for consumers that have been made or deleted since the last time.
     *
     * @return the changes that have been counted before the look
     * @throws org.mmapqueue.errors.CorruptException when a page is damaged
     */
    long refresh() throws IOException {
        if (isStale()) {
            look();
        }
        return known.changes;
    }

    /** Whether {@link #refresh} would find something else. */
    boolean isStale() {
        return known.changes != meta.consumerChanges();
    }

    private synchronized void look() throws IOException {
        long changes = meta.consumerChanges();
        List<Named> all = new ArrayList<>();
        if (meta.hasDefault()) {
            all.add(new Named(DEFAULT, meta));
        }
        TreeSet<String> stored = stored();
        for (String name : stored) {
            try {
                all.add(new Named(name, page(name)));
            } catch (NoSuchFileException e) {
                // Deleted since the directory was read.
                forget(name);
            }
        }
        for (String name : List.copyOf(pages.keySet())) {
            if (!stored.contains(name)) {
                forget(name);
            }
        }
        known = new Known(changes, List.copyOf(all));
    }

    private TreeSet<String> stored() throws IOException {
        TreeSet<String> names = new TreeSet<>();
        if (Files.isDirectory(directory)) {
            try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "*" + ConsumerPage.SUFFIX)) {
                for (Path file : files) {
                    String name = file.getFileName().toString();
                    names.add(name.substring(0, name.length() - ConsumerPage.SUFFIX.length()));
                }
            }
        }
        return names;
    }

    private ConsumerPage page(String name) throws IOException {
        ConsumerPage page = pages.get(name);
        if (page == null || !page.isStillAt(storage, path(name))) {
            forget(name);
            page = ConsumerPage.open(storage, path(name), meta.fields());
            pages.put(name, page);
        }
        return page;
    }

    private void forget(String name) throws IOException {
        ConsumerPage page = pages.remove(name);
        if (page != null) {
            page.close();
        }
    }

    private Path path(String name) {
        return directory.resolve(name + ConsumerPage.SUFFIX);
    }

    /** All consumers, the default one first, the others in alphabetical order. */
    List<Named> all() {
        return known.all;
    }

    /** Their names. */
    List<String> names() {
        return known.all.stream().map(Named::name).toList();
    }

    /** Their cursors. */
    List<ConsumerCursors> cursors() {
        return known.all.stream().map(Named::cursors).toList();
    }

    /** The cursors of a consumer, or null when there is none of that name. */
    ConsumerCursors find(String name) {
        for (Named each : known.all) {
            if (each.name.equals(name)) {
                return each.cursors;
            }
        }
        return null;
    }

    /** Everything before this position is of no use to any consumer any more. */
    long slowest() {
        long reclaimed = meta.reclaimed();
        long slowest = Long.MAX_VALUE;
        for (Named each : known.all) {
            slowest = Math.min(slowest, each.cursors.needed());
        }
        // A consumer behind what is reclaimed is just being made or moved, or was when its process died.
        return slowest == Long.MAX_VALUE ? reclaimed : Math.max(slowest, reclaimed);
    }

    /** Makes a consumer. For whoever holds its lock. */
    ConsumerCursors create(String name, Place place) throws IOException {
        boolean done = false;
        ConsumerCursors made = null;
        try {
            long position = place.position();
            made = make(name, position);
            while (!announced(position)) {
                position = place.position();
                made.reading(position);
                made.committed(position);
            }
            made.force();
            done = true;
        } finally {
            if (!done && made != null) {
                remove(name);
            }
        }
        refresh();
        return made;
    }

    private synchronized ConsumerCursors make(String name, long position) throws IOException {
        if (name.equals(DEFAULT)) {
            meta.drop(0, 0);
            meta.reading(position);
            meta.committed(position);
            meta.hasDefault(true);
            return meta;
        }
        ConsumerPage.create(storage, path(name), meta.fields(), ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()),
                position);
        return page(name);
    }

    private boolean announced(long position) {
        meta.countConsumerChange();
        return meta.reclaimed() <= position;
    }

    /**
     * Moves a consumer, committed and reading position both. For its owner.
     *
     * @return false when the space there has been reclaimed meanwhile; nothing has moved then
     */
    boolean move(ConsumerCursors cursors, long position) {
        long before = cursors.committed();
        if (position >= before) {
            cursors.reading(position);
            cursors.committed(position);
            return true;
        }
        cursors.committed(position);
        if (!announced(position)) {
            cursors.committed(before);
            return false;
        }
        cursors.reading(position);
        return true;
    }

    /** Raises ConfigException when a consumer is the only one. */
    void checkDeletable(String name) throws IOException {
        refresh();
        if (known.all.size() == 1) {
            throw new ConfigException("consumer", name, "any but the last one: a queue keeps what its consumers have"
                    + " not acked, and needs one for that");
        }
    }

    /** Deletes a consumer. For whoever holds its lock. */
    void delete(String name) throws IOException {
        checkDeletable(name);
        remove(name);
        refresh();
    }

    private synchronized void remove(String name) throws IOException {
        if (name.equals(DEFAULT)) {
            meta.hasDefault(false);
            meta.force();
        } else {
            storage.delete(path(name));
            storage.forceDirectory(directory);
            forget(name);
        }
        meta.countConsumerChange();
    }

    @Override
    public synchronized void close() throws IOException {
        Closing.all(pages.values().toArray(new Closeable[0]));
        pages.clear();
    }
}
